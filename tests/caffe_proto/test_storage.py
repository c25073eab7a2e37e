"""Atomic writes: a file is complete or absent, whatever happens while it is written."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from caffe_proto.errors import FileError
from caffe_proto.storage import (
    PRIVATE,
    atomic_path,
    create_folder,
    remove_leftovers,
    temporary_folder,
    write_pieces,
)


def names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


@pytest.mark.parametrize(
    "sizes",
    [[], [0], [1, 0, 2], [5] * 100_000, [1 << 19], [(1 << 19) - 1, 2, (1 << 20) + 3], [3_000_000], [1, 1 << 19, 1]],
    ids=["none", "empty", "small", "many", "a block", "across blocks", "big", "mixed"],
)
def test_pieces_of_all_sizes_are_written_one_after_the_other(sizes: list[int], tmp_path: Path) -> None:
    whole = np.random.default_rng(5).bytes(sum(sizes))
    ends = np.cumsum([0, *sizes])
    pieces = [memoryview(whole)[start:end] for start, end in pairwise(ends)]
    write_pieces(tmp_path / "file", (each if index % 2 else bytes(each) for index, each in enumerate(pieces)))
    assert (tmp_path / "file").read_bytes() == whole
    assert names_in(tmp_path) == {"file"}


@pytest.mark.parametrize("problem", [RuntimeError("ours"), KeyboardInterrupt(), OSError(5, "Input/output error")])
@pytest.mark.parametrize("exists", [True, False])
def test_a_failure_in_the_middle_leaves_the_old_file(problem: BaseException, exists: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    if exists:
        path.write_bytes(b"old")

    def pieces() -> Iterator[bytes]:
        yield bytes(1 << 20)
        raise problem

    expected = FileError if isinstance(problem, OSError) else type(problem)
    with pytest.raises(expected):
        write_pieces(path, pieces())
    assert names_in(tmp_path) == ({"file"} if exists else set())
    assert not exists or path.read_bytes() == b"old"


def test_the_new_file_is_invisible_until_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    seen = []

    def pieces() -> Iterator[bytes]:
        for _ in range(4):
            yield bytes(1 << 19)
            seen.append(path.read_bytes())

    write_pieces(path, pieces())
    assert seen == [b"old"] * 4
    assert path.stat().st_size == 4 << 19


KILLED = """
import os, signal, sys
from caffe_proto.storage import write_pieces

def pieces():
    yield bytes(1 << 21)
    os.kill(os.getpid(), int(sys.argv[2]))
    yield b"never"

write_pieces(sys.argv[1], pieces())
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_writer_leaves_the_old_file_and_nothing_else(how: signal.Signals, tmp_path: Path) -> None:
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_WRONLY))
    except (AttributeError, OSError):
        pytest.skip("this system has no files without a name")
    path = tmp_path / "file"
    path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(int(how))], check=False)
    assert done.returncode == -how
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == {"file"}


KILLED_WITH_A_NAME = """
import os, signal, sys
from pathlib import Path
from caffe_proto.storage import atomic_path, temporary_folder

with temporary_folder(Path(sys.argv[1]).parent, "export") as folder, atomic_path(sys.argv[1]) as temporary:
    temporary.write_bytes(b"half")
    (folder / "part").write_bytes(b"half")
    if len(sys.argv) > 2:
        print(flush=True)
        sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_writers_leftover_is_removed_by_the_next_write(tmp_path: Path) -> None:
    path = tmp_path / "file"
    subprocess.run([sys.executable, "-c", KILLED_WITH_A_NAME, str(path)], check=False)
    assert len(names_in(tmp_path)) == 2
    (tmp_path / ".file.of-the-user").touch()
    (tmp_path / ".other.0123456789abcdef").touch()
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"whole")
    with temporary_folder(tmp_path, "export"):
        pass
    assert names_in(tmp_path) == {"file", ".file.of-the-user", ".other.0123456789abcdef"}
    remove_leftovers(tmp_path)
    assert names_in(tmp_path) == {"file", ".file.of-the-user"}


def test_where_users_share_a_folder_only_own_leftovers_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, user = tmp_path / ".export.0123456789abcdef", os.geteuid()
    left.mkdir()
    tmp_path.chmod(0o1777)
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    with temporary_folder(tmp_path, "export"):
        assert left.exists()
    monkeypatch.undo()
    with temporary_folder(tmp_path, "export"):
        assert not left.exists()


def test_a_temporary_folder_has_an_earlier_name_again_unless_that_is_used(tmp_path: Path) -> None:
    with temporary_folder(tmp_path, "export") as first:
        pass
    with temporary_folder(tmp_path, "export", first) as second, temporary_folder(tmp_path, "export", first) as third:
        assert second == first != third
    assert not list(tmp_path.iterdir())


KILLED_BEFORE_ITS_NAME = """
import os, signal, sys
from pathlib import Path
from caffe_proto import storage

Path.replace = lambda hidden, target: os.kill(os.getpid(), signal.SIGKILL)
storage.write_pieces(sys.argv[1], [b"half"], durable=sys.argv[2] == "True")
"""


@pytest.mark.parametrize("durable", [False, True])
def test_what_a_write_left_that_was_killed_at_its_end_is_removed_by_the_next_one(durable: bool, tmp_path: Path) -> None:
    path = tmp_path / "lm"
    subprocess.run([sys.executable, "-c", KILLED_BEFORE_ITS_NAME, str(path), str(durable)], check=False)
    assert len(names_in(tmp_path)) == 1 and not path.exists()
    others = {".lm2.0123456789abcdef", ".lm.0123", ".lm.0123456789ABCDEF", "lm.0123456789abcdef"}
    for name in others:
        (tmp_path / name).touch()
    write_pieces(path, [b"whole"], durable=durable)
    assert names_in(tmp_path) == {"lm", *others}


def test_writers_that_end_at_the_same_time_do_not_remove_each_others_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, replace = tmp_path / "file", Path.replace

    def let_another_end_first(hidden: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        write_pieces(target, [b"other"])
        assert hidden.exists() and path.read_bytes() == b"other"
        return replace(hidden, target)

    monkeypatch.setattr(Path, "replace", let_another_end_first)
    write_pieces(path, [b"whole"])
    assert path.read_bytes() == b"whole" and names_in(tmp_path) == {"file"}


def test_a_file_that_is_about_to_get_its_name_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caffe_proto.storage.sync", lambda path: remove_leftovers(tmp_path))
    write_pieces(tmp_path / "file", [b"whole"], durable=True)
    assert names_in(tmp_path) == {"file"}


def test_a_running_writers_temporary_file_stays(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED_WITH_A_NAME, str(tmp_path / "file"), "wait"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdin is not None and writer.stdout is not None
        writer.stdout.readline()
        before = names_in(tmp_path)
        remove_leftovers(tmp_path)
        assert names_in(tmp_path) == before and len(before) == 2
        writer.stdin.close()
    remove_leftovers(tmp_path)
    assert names_in(tmp_path) == set()


@pytest.mark.parametrize("nameless", [True, False])
def test_a_file_can_be_private_from_its_first_byte(nameless: bool, tmp_path: Path) -> None:
    with atomic_path(tmp_path / "file", mode=0o600, nameless=nameless) as temporary:
        temporary.write_text("secret")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


@pytest.mark.parametrize("nameless", [True, False])
def test_a_durable_file_is_synced_before_it_is_renamed(
    nameless: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced = []

    def note(handle: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), (tmp_path / "file").exists()))

    monkeypatch.setattr(os, "fsync", note)
    with atomic_path(tmp_path / "file", durable=True, nameless=nameless) as temporary:
        temporary.write_bytes(b"x")
    assert synced == [(False, False), (True, True)]


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    code = f"""
import resource
from caffe_proto.errors import FileError
from caffe_proto.storage import write_pieces
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    write_pieces({str(path)!r}, [bytes(3 << 20)])
except FileError as problem:
    print(problem)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        done.stdout
        == f"{path}: can't be written: File too large; choose a folder that you can write to, or free space there\n"
    )
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == {"file"}


def test_a_device_without_space_is_a_file_error(tmp_path: Path) -> None:
    device = Path("/dev/full")
    if os.geteuid() == 0:  # root could damage the system's own devices
        device = tmp_path / "full"
        try:
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 7))
            device.open("rb").close()
        except OSError:
            pytest.skip("devices can't be made here")
    if not device.exists():
        pytest.skip("this system has no disk that is always full")
    (tmp_path / "link").symlink_to(device)
    with pytest.raises(FileError, match=r"link: can't be written: No space left on device"):
        write_pieces(tmp_path / "link", [b"x"])
    assert (tmp_path / "link").is_symlink()


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "file").write_bytes(b"old")
    (tmp_path / "link").symlink_to("there/file")
    write_pieces(tmp_path / "link", [b"new"])
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "file").read_bytes() == b"new"
    assert names_in(tmp_path / "there") == {"file"}


def test_writing_to_a_dangling_link_creates_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_pieces(tmp_path / "link", [b"new"])
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_pieces(tmp_path / "pipe", [b"a", b"b"])
    assert os.read(reader, 10) == b"ab"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()


def test_a_file_keeps_its_permissions_and_a_new_file_gets_the_default_ones(tmp_path: Path) -> None:
    path = tmp_path / "file"
    before = os.umask(0o027)
    try:
        write_pieces(path, [b"1"])
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    write_pieces(path, [b"2"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    with atomic_path(path) as temporary:
        temporary.write_bytes(b"3")
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127, "with space", ".hidden", "\udcff"])
def test_every_valid_file_name_can_be_written(name: str, tmp_path: Path) -> None:
    write_pieces(tmp_path / name, [b"x"])
    assert names_in(tmp_path) == {name}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("missing/file", "can't be written: No such file or directory"),
        ("file/below", "can't be written: Not a directory"),
        ("folder", "is a directory; name a file in it"),
        ("loop", "is a link that leads to itself"),
        ("n" * 256, "can't be written: File name too long"),
        ("a\0b", "a file can't have this name"),
        ("\ud800", "a file can't have this name"),
    ],
)
def test_an_unwritable_path_is_a_file_error(name: str, what: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileError, match=what):
        write_pieces(tmp_path / name, [b"x"])
    assert names_in(tmp_path) == {"folder", "file", "loop"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission_is_a_file_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileError, match="can't be written: Permission denied"):
            write_pieces(tmp_path / "file", [b"x"])
    finally:
        tmp_path.chmod(0o700)


def test_a_named_temporary_file_is_removed(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.delattr(os, "O_TMPFILE")
    (tmp_path / "file").write_bytes(b"old")
    seen = []

    def pieces() -> Iterator[bytes]:
        yield bytes(1 << 20)
        seen.append(names_in(tmp_path))
        yield b"end"

    write_pieces(tmp_path / "file", pieces())
    assert len(seen[0]) == 2
    assert names_in(tmp_path) == {"file"}
    assert (tmp_path / "file").read_bytes() == bytes(1 << 20) + b"end"


def test_a_library_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), atomic_path(tmp_path / "file") as temporary:
        temporary.write_bytes(b"half")
        raise RuntimeError
    assert not names_in(tmp_path)


def test_two_simultaneous_writers_leave_one_complete_file(tmp_path: Path) -> None:
    def inner() -> Iterator[bytes]:
        yield b"first " * 200_000
        write_pieces(tmp_path / "file", [b"second"])
        assert (tmp_path / "file").read_bytes() == b"second"

    write_pieces(tmp_path / "file", inner())
    assert (tmp_path / "file").read_bytes() == b"first " * 200_000
    assert names_in(tmp_path) == {"file"}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o177])
def test_a_private_folder_is_only_for_its_owner(umask: int, tmp_path: Path) -> None:
    """The mode doesn't depend on the umask. An existing folder, as of a group, keeps its own."""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    before = os.umask(umask)
    try:
        create_folder(shared / "runs" / "first", PRIVATE)
        create_folder(shared, PRIVATE)
    finally:
        os.umask(before)
    modes = [stat.S_IMODE(path.stat().st_mode) & 0o777 for path in (shared / "runs" / "first", shared / "runs", shared)]
    assert modes == [0o700, 0o700, 0o770]


@pytest.mark.parametrize(("name", "wanted"), [("a", ""), ("a/b/c", ", so {} can't be created")])
def test_a_file_in_the_way_of_a_folder_is_named(tmp_path: Path, name: str, wanted: str) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(FileError) as error:
        create_folder(tmp_path / name)
    problem = f"this isn't a folder{wanted.format(tmp_path / name)}"
    assert str(error.value) == f"{tmp_path}/a: {problem}; choose another folder, or move the file away"


def test_the_umask_decides_about_other_folders(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        create_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")] == [0o750, 0o750]

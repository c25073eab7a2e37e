"""Headers of tar files that Python's own library wrote, and damage to them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from caffe_proto.errors import LimitError
from caffe_proto.limits import VARIABLE
from netdsl.data.sources.tar import TarHeaders
from netdsl.errors import DataError
from tests.small_data import write_tar

FORMS = [tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT, tarfile.GNU_FORMAT]
FILES = {"a/0.jpg": b"x" * 700, "a/0.cls": b"3", "empty": b"", "b": bytes(512)}


def files_in(path: Path) -> dict[str, bytes]:
    data = path.read_bytes()
    with path.open("rb") as file:
        members = list(TarHeaders().files(file, path))
    return {member.name: data[member.offset : member.offset + member.size] for member in members}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_tar(tmp_path / "x.tar", FILES)


@pytest.mark.parametrize("form", FORMS)
def test_files_are_found_in_all_forms(tmp_path: Path, form: int) -> None:
    assert files_in(write_tar(tmp_path / "x.tar", FILES, form)) == FILES


@pytest.mark.parametrize("form", FORMS)
def test_long_names_are_read(tmp_path: Path, form: int) -> None:
    deep = 230 if form == tarfile.USTAR_FORMAT else 3000
    files = {f"{'y/' * (deep // 2)}ö{number}": b"%d" % number for number in range(3)}
    assert files_in(write_tar(tmp_path / "x.tar", files, form)) == files


def test_folders_and_comments_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    (tmp_path / "f/a").write_bytes(b"1")
    with tarfile.open(tmp_path / "x.tar", "w", pax_headers={"comment": "z" * 2000}) as tar:
        tar.add(tmp_path / "f", "f")
    assert files_in(tmp_path / "x.tar") == {"f/a": b"1"}


@pytest.mark.parametrize("form", FORMS[1:])
def test_a_size_with_many_digits_is_read(tmp_path: Path, form: int) -> None:
    with (tmp_path / "x.tar").open("wb") as file:
        member = tarfile.TarInfo("a")
        member.size = 9 << 30
        file.write(member.tobuf(form))
        file.truncate((9 << 30) + 10240)
        with (tmp_path / "x.tar").open("rb") as read:
            (found,) = TarHeaders().files(read, tmp_path)
    assert found.size == 9 << 30


def special(kind: bytes) -> Callable[[Path], object]:
    def write(path: Path) -> None:
        with tarfile.open(path, "w") as tar:
            member = tarfile.TarInfo("a.jpg")
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member)

    return write


def sparse_of_pax(path: Path) -> None:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        member = tarfile.TarInfo("a.jpg")
        member.pax_headers = {"GNU.sparse.major": "1"}
        tar.addfile(member)


@pytest.mark.parametrize(
    ("write", "what"),
    [
        (
            special(tarfile.SYMTYPE),
            r"x.tar: 'a.jpg' is a link, which isn't followed; write the tar with `tar",
        ),
        (special(tarfile.LNKTYPE), "is a link"),
        (special(tarfile.CHRTYPE), "is a device or a pipe"),
        (special(tarfile.FIFOTYPE), "is a device or a pipe"),
        (special(tarfile.GNUTYPE_SPARSE), "'a.jpg' is stored as sparse; write the tar again without `--sparse`"),
        (special(b"?"), r"'a.jpg' is of the unknown type b'\?'"),
        (sparse_of_pax, "the header at byte 0: the next file is stored as sparse"),
    ],
)
def test_members_that_are_not_plain_files_are_refused(
    tmp_path: Path, write: Callable[[Path], object], what: str
) -> None:
    write(tmp_path / "x.tar")
    with pytest.raises(DataError, match=what):
        files_in(tmp_path / "x.tar")


@pytest.mark.parametrize(
    ("pack", "program"),
    [(gzip.compress, "gunzip"), (bz2.compress, "bunzip2"), (lzma.compress, "unxz")],
)
def test_a_compressed_tar_names_the_program_that_unpacks_it(
    path: Path, pack: Callable[[bytes], bytes], program: str
) -> None:
    path.write_bytes(pack(path.read_bytes()))
    with pytest.raises(DataError, match=rf"x\.tar: the tar is compressed, .* unpack it with `{program}`"):
        files_in(path)


def with_number(header: bytes, field: slice, value: bytes) -> bytes:
    """Return a header with other bytes in a field, and the right checksum."""
    changed = bytearray(header)
    changed[field] = value.ljust(field.stop - field.start, b"\0")
    changed[148:156] = b" " * 8
    changed[148:156] = b"%06o\0 " % sum(changed)
    return bytes(changed)


SIZE, KIND = slice(124, 136), slice(156, 157)


def test_a_folder_without_a_slash_has_no_content(path: Path) -> None:
    folder = with_number(path.read_bytes()[:512], KIND, b"5")
    path.write_bytes(folder + path.read_bytes())
    assert files_in(path) == FILES


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda data: b"", "the header at byte 0: the file ends without the tar's end"),
        (lambda data: data[:400], "the file ends without the tar's end"),
        (lambda data: data[:900], "content ends at byte 1,212, but the file has only 900, so it is cut short"),
        (lambda data: data[:1536], "the header at byte 1,536: the file ends without the tar's end"),
        (lambda data: data[:1536] + b"z" + data[1537:], "the header at byte 1,536: its checksum is wrong"),
        (lambda data: b"not a tar" * 200, "number in it isn't octal, so the file isn't a tar or is damaged"),
        (lambda data: data + data, "more data follow the tar's end at byte"),
        (lambda data: data + bytes(2 << 20), "more data follow the tar's end"),
        (lambda data: with_number(data[:512], SIZE, b"9") + data[512:], "a number in it isn't octal"),
        (lambda data: with_number(data[:512], SIZE, b"\xff" * 12) + data[512:], "a number in it isn't octal"),
        (lambda data: with_number(data[:512], SIZE, b"\x80" + b"\xff" * 11) + data[512:], "so it is cut short"),
        (lambda data: with_number(data[:512], KIND, b"x") + data[512:], "a record in it has a wrong length"),
        (lambda data: with_number(data[:512], KIND, b"L") + bytes(10240), "^(?!.*byte 0:).*no file follows"),
    ],
)
def test_damage_is_reported(path: Path, damage: Callable[[bytes], bytes], what: str) -> None:
    data = damage(path.read_bytes())
    if what.startswith("^"):  # a long name without a file
        data = data[:512] + b"name".ljust(1024, b"\0") + bytes(10240)
    path.write_bytes(data)
    with pytest.raises(DataError, match=what) as caught:
        files_in(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("records", "what"),
    [
        (b"12 path=a/b\n9 size=x\n", "the size in it isn't a whole number"),
        (b"99 path=a\n", "a record in it has a wrong length"),
        (b"-5 path=a\n", "a record in it has a wrong length"),
        (b"9" * 600, "a record in it has a wrong length"),
    ],
)
def test_damaged_records_are_reported(path: Path, records: bytes, what: str) -> None:
    header = with_number(path.read_bytes()[:512], KIND, b"x")
    header = with_number(header, SIZE, b"%011o" % len(records))
    path.write_bytes(header + records.ljust(1024, b"\0") + path.read_bytes())
    with pytest.raises(DataError, match=what):
        files_in(path)


def test_a_name_that_no_path_can_have_is_refused(tmp_path: Path) -> None:
    for form in FORMS[1:]:
        path = write_tar(tmp_path / "x.tar", {"n" * 5000: b""}, form)
        with pytest.raises(DataError, match=r"a name has 5,00. characters, more than the 4,096 of a path"):
            files_in(path)


@pytest.mark.parametrize("setting", ["shard-members=3", "archive-headers=10"])
def test_members_and_headers_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    path = write_tar(tmp_path / "x.tar", FILES | {"ö" * 90: b""}, tarfile.PAX_FORMAT)
    monkeypatch.setenv(VARIABLE, setting)
    with pytest.raises(LimitError, match=rf"x\.tar: .* the limit '{setting.partition('=')[0]}' allows"):
        files_in(path)

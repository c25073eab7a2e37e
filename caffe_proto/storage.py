"""Checks files on a disk, and writes them atomically: a file appears whole or not at all."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path, PurePosixPath
from secrets import token_hex

from caffe_proto.addresses import local_path
from caffe_proto.errors import FileError
from caffe_proto.wire import Buffer

PRIVATE = 0o700  # the mode of folders that only their owner may open
MAX_DEFLATION = 1032  # the factor by which deflate can shrink bytes; a file that claims more is an attack on memory

_LONGEST = 40  # letters of a file's name in the name of its temporary file
_HIDDEN = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}", re.DOTALL)  # the names of temporary files and folders


def path_below(folder: Path, name: str) -> Path | None:
    """Return the path of a file below a folder, or `None` if a name from a stranger leads elsewhere."""
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or ".." in parts or not name.isprintable():
        return None
    return folder.joinpath(*parts)


def check_regular(path: Path, *, may_be_empty: bool = False) -> None:
    """Raise a `FileError` unless a path is that of a regular file with some content. Other kinds could be read
    forever."""
    local_path(path)
    try:
        if path.is_dir():
            raise FileError(f"{path}: this is a directory; name a file in it")
        if path.exists() and not path.is_file():
            raise FileError(
                f"{path}: this is not a regular file; copy its data to a file first, as in cat {path} > FILE"
            )
        if not path.stat().st_size and not may_be_empty:
            raise FileError(f"{path}: the file is empty; download or copy it again")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise FileError(f"{path}: can't be opened: {reason}; check the path and its permissions") from None


def is_utf8(path: Path) -> bool:
    """Return whether a path is text in UTF-8. Linux allows any bytes."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return False
    return True


def write_pieces(path: str | Path, pieces: Iterable[Buffer], *, durable: bool = False) -> None:
    """Write pieces one after the other. Readers never see an incomplete file."""
    with atomic_path(path, nameless=True, durable=durable) as temporary, _open_without_truncating(temporary) as file:
        for block in _blocks(pieces):
            rest = block
            while rest:  # a single call may write only a part
                rest = rest[file.write(rest) :]


def _open_without_truncating(path: Path) -> FileIO:
    """Open a file without truncating it, because ext4 waits for the disk when a truncated file is closed."""
    return FileIO(os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), "wb")


@contextmanager
def atomic_path(
    path: str | Path, *, nameless: bool = False, durable: bool = False, mode: int = 0o666
) -> Iterator[Path]:
    """Provide a temporary path to write to. It replaces `path` on success and is removed on an error.

    With `nameless`, the temporary file vanishes even if the process is killed; not every library can write to such a
    file. With `durable`, the file is on the disk before it gets its name, and the name is on the disk afterwards, even
    if the machine crashes.
    """
    path = local_path(path)
    try:
        target = target_of(path)
        if target.exists() and not target.is_file():  # a pipe or /dev/stdout can't be replaced
            yield target
            return
        handle, hidden = _open_nameless(target.parent, mode) if nameless else None, _hidden_path(target)
        try:
            if handle is None:
                _remove_matching(target.parent, _shortened(target.name).__eq__)
                handle = _create_locked(hidden, mode)
                yield hidden
            else:
                yield Path(f"/proc/self/fd/{handle}")
                hidden = _link_hidden(handle, target)
            if durable:
                sync(hidden)
            if target.exists():
                hidden.chmod(target.stat().st_mode)
            hidden.replace(target)
        except BaseException:
            hidden.unlink(missing_ok=True)
            raise
        else:
            if durable:
                sync(target.parent)
        finally:
            if handle is not None:
                os.close(handle)
    except OSError as problem:
        raise FileError(
            f"{path}: can't be written: {problem.strerror or problem}; choose a folder that you can write to, "
            "or free space there"
        ) from None


def create_folder(folder: Path, mode: int | None = None) -> None:
    """Create a folder, and the folders that contain it. Existing folders stay as they are.

    New folders have the mode, whatever the umask is. By default, the umask decides.
    """
    local_path(folder, "a folder")
    try:
        for path in (*reversed(folder.parents), folder):
            if not path.is_dir():
                path.mkdir(0o777 if mode is None else mode)
                if mode is not None:
                    path.chmod(mode)  # the umask may have taken more away
    except OSError as problem:
        if isinstance(problem, FileExistsError):
            if path.is_dir():  # another process was faster
                create_folder(folder, mode)
                return
            wanted = "" if path == folder else f", so {folder} can't be created"
            raise FileError(
                f"{path}: this isn't a folder{wanted}; choose another folder, or move the file away"
            ) from None
        raise FileError(
            f"{folder}: the folder can't be created: {problem.strerror}; choose a folder that you can write to, or "
            "free space there"
        ) from None


@contextmanager
def temporary_folder(folder: Path, name: str, again: Path | None = None) -> Iterator[Path]:
    """Provide a hidden folder inside another one, which is `again` an earlier one if that is removed by now.

    The folder is removed afterwards. Folders that killed processes left are removed first.
    """
    _remove_matching(folder, _shortened(name).__eq__)
    hidden = _hidden_path(folder / name) if again is None or again.exists() else again
    handle = _create_locked(hidden, 0o700, folder=True)
    try:
        yield hidden
    finally:
        shutil.rmtree(hidden, ignore_errors=True)
        os.close(handle)


def remove_leftovers(folder: Path, name: str = "") -> None:
    """Remove temporary files and folders that killed processes left and whose names begin with `name`.

    Running processes lock theirs, so those stay.
    """
    _remove_matching(folder, lambda found: found.startswith(_shortened(name)))


def _remove_matching(folder: Path, matches: Callable[[str], bool]) -> None:
    """Remove what killed processes left and whose target's shortened name matches.

    In a folder like /tmp, in which users can't remove each other's files, this is only what belongs to this user.
    """
    try:
        only_own = bool(folder.stat().st_mode & stat.S_ISVTX)
        names = [entry.name for entry in os.scandir(folder) if entry.name.startswith(".")]
    except OSError:
        return
    for hidden in names:
        match = _HIDDEN.fullmatch(hidden)
        if match is not None and matches(match["name"]):
            _remove_unlocked(folder / hidden, only_own=only_own)


def _remove_unlocked(path: Path, *, only_own: bool = False) -> None:
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            found = os.fstat(handle)
            if only_own and found.st_uid != os.geteuid():
                return
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(found, path.lstat()):  # another process removed it, and a third wrote it
                return
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        finally:
            os.close(handle)


def _create_locked(path: Path, mode: int, *, folder: bool = False) -> int:
    """Create a file or folder and return its descriptor. It is locked until the descriptor is closed."""
    while True:
        if folder:
            path.mkdir(mode)
        handle = os.open(path, os.O_RDONLY if folder else os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        _lock(handle)
        if path.exists():
            return handle
        os.close(handle)  # another process removed it before it was locked


def _lock(handle: int) -> None:
    with suppress(OSError):  # some file systems don't have locks; there, nothing is removed either
        fcntl.flock(handle, fcntl.LOCK_EX)


def _link_hidden(handle: int, target: Path) -> Path:
    """Link a nameless file at its target's usual hidden path, in place of what a killed process left there, or at
    another one if a running process uses that one. Other places aren't searched, since that would slow small files
    down."""
    _lock(handle)
    usual = _hidden_path(target, "0" * 16)
    _remove_unlocked(usual)
    try:
        return _linked(handle, usual)
    except FileExistsError:
        return _linked(handle, _hidden_path(target))


def _linked(handle: int, path: Path) -> Path:
    os.link(f"/proc/self/fd/{handle}", path, src_dir_fd=handle)  # without src_dir_fd, this would link the link
    return path


def _shortened(name: str) -> str:
    return name[:_LONGEST]


def _hidden_path(target: Path, token: str = "") -> Path:
    return target.with_name(f".{_shortened(target.name)}.{token or token_hex(8)}")


def file_hash(path: Path) -> str | None:
    """Return the SHA-256 of a file's bytes, or `None` if the file can't be read."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, FileError):
        return None


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as problem:
        if problem.errno != errno.EINVAL:  # some file systems can't do this for folders
            raise
    finally:
        os.close(handle)


def target_of(path: Path) -> Path:
    """Return the path with links followed. Raises a `FileError` if it can't be written to."""
    try:
        target = Path(os.path.realpath(path))
    except ValueError:
        raise FileError(f"{path}: a file can't have this name; remove the null characters from it") from None
    if target.is_dir():
        raise FileError(f"{path}: this is a directory; name a file in it")
    if target.is_symlink():
        raise FileError(f"{path}: this is a link that leads to itself; remove it with `rm {path}`")
    return target


def _open_nameless(folder: Path, mode: int) -> int | None:
    """Return the descriptor of a file without a name, or `None` if the system doesn't support such files."""
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY, mode)
    except (AttributeError, OSError):
        return None


def _blocks(pieces: Iterable[Buffer], size: int = 1 << 19) -> Iterator[memoryview]:
    """Yield the pieces in blocks of one size. Small pieces cost few calls, and large ones start on page boundaries.

    The kernel takes twice as long for bytes off a page boundary. A block is valid until the next one is requested.
    """
    block, filled = memoryview(bytearray(size)), 0
    for piece in pieces:
        rest = memoryview(piece)
        while rest:
            chunk = rest[: size - filled]
            block[filled : filled + len(chunk)] = chunk
            filled, rest = filled + len(chunk), rest[len(chunk) :]
            if filled == size:
                yield block
                filled = 0
    yield block[:filled]

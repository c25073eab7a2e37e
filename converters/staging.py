"""Files that are written into a hidden folder first, and take their places together, or not at all on an error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from caffe_proto import storage
from caffe_proto.errors import FileError

_PIECE = 1 << 20  # bytes


@contextmanager
def staged_file(path: str | Path) -> Iterator[Path]:
    """The path of a file in a hidden folder, which takes its place when it is complete, with what is written beside it.

    A pipe, which can't be replaced, gets the file's bytes.
    """
    path = Path(path)
    target = storage.target_of(path)  # looked up there, since a rank of several has files of its own
    if target.exists() and not target.is_file():
        with TemporaryDirectory() as folder:
            yield Path(folder) / path.name
            storage.write_pieces(path, _pieces(Path(folder) / path.name))
        return
    with _staging(target.parent, target.name, str(path).removesuffix(path.name), path) as staging:
        yield staging / target.name


@contextmanager
def staged_files(folder: Path) -> Iterator[Path]:
    """A hidden folder, whose files take their places in `folder` when all are complete. Missing folders are made."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]  # innermost first
    try:
        _make(folder)
        with _staging(folder, "export", f"{folder}/", folder) as staging:
            yield staging
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()  # which fails if the folder isn't empty


@contextmanager
def _staging(folder: Path, name: str, named: str, wanted: Path) -> Iterator[Path]:
    """A hidden folder in another one, whose files are moved there. Errors name the folder as the caller does."""
    staging: Path | None = None
    try:
        with storage.temporary_folder(folder, name) as staging:
            yield staging
            _move(sorted(staging.iterdir(), reverse=True), folder)  # a model after `<name>.data`
    except FileError as problem:
        raise FileError(str(problem).replace(f"{staging}/", named)) from None
    except OSError as problem:
        raise FileError(f"{wanted}: can't be written: {problem.strerror or problem}") from None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(f"{folder}: can't be written: {problem.strerror or problem}") from None


def _move(paths: Sequence[Path], folder: Path) -> None:
    """Move all files, or none if one can't be moved."""
    for path in paths:
        if (folder / path.name).is_dir():
            raise FileError(f"{folder / path.name}: is a directory; name another folder")
    for path in paths:
        if (folder / path.name).exists():
            path.chmod((folder / path.name).stat().st_mode)
        path.replace(folder / path.name)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece

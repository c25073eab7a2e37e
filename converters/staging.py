"""Writes files to a hidden folder first, and moves them into place together. After an error, none are moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from caffe_proto import storage
from caffe_proto.errors import FileError
from netdsl.storage.outgoing import published_path

_PIECE = 1 << 20  # the size of a piece in bytes


@contextmanager
def staged_file(path: str | Path) -> Iterator[Path]:
    """Provide the path of a file in a hidden folder.

    When the file is complete, it moves into place with everything that was written next to it, or is published with it
    under an address. A pipe can't be replaced, so it receives the file's bytes.
    """
    with published_path(path) as local, _staged_here(local) as staged:
        yield staged


@contextmanager
def _staged_here(path: Path) -> Iterator[Path]:
    target = storage.target_of(path)  # followed here because several ranks can have links to different files
    if target.exists() and not target.is_file():
        with TemporaryDirectory() as folder:
            yield Path(folder) / path.name
            storage.write_pieces(path, _pieces(Path(folder) / path.name))
        return
    with _staging(target.parent, target.name, str(path).removesuffix(path.name), path) as staging:
        yield staging / target.name


@contextmanager
def staged_files(folder: Path) -> Iterator[Path]:
    """Provide a hidden folder. Its files move to `folder` when all are complete. Missing folders are created."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]  # innermost folder first
    try:
        _make(folder)
        with _staging(folder, "export", f"{folder}/", folder) as staging:
            yield staging
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()  # fails if the folder isn't empty


@contextmanager
def _staging(folder: Path, name: str, named: str, wanted: Path) -> Iterator[Path]:
    """Provide a hidden folder inside another one, and move its files there. Errors name the folder as the caller
    does."""
    staging: Path | None = None
    try:
        with storage.temporary_folder(folder, name) as staging:
            yield staging
            _move(sorted(staging.iterdir(), reverse=True), folder)  # moves the model after `<name>.data`
    except FileError as problem:
        raise FileError(str(problem).replace(f"{staging}/", named)) from None
    except OSError as problem:
        raise FileError(
            f"{wanted}: can't be written: {problem.strerror or problem}; choose a folder that you can write to, "
            "or free space there"
        ) from None


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FileError(
            f"{folder}: can't be written: {problem.strerror or problem}; choose a folder that you can write to, "
            "or free space there"
        ) from None


def _move(paths: Sequence[Path], folder: Path) -> None:
    """Move all files, or none if one of them can't be moved."""
    for path in paths:
        if (folder / path.name).is_dir():
            raise FileError(
                f"{folder / path.name}: this is a directory, but a file with this name must be written; remove it, "
                "or choose another folder with -o"
            )
    for path in paths:
        if (folder / path.name).exists():
            path.chmod((folder / path.name).stat().st_mode)
        path.replace(folder / path.name)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece

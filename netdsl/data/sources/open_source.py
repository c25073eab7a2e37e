"""A source by its name: `kind:PATH`, or a path that shows by itself what it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl

from netdsl.data.sources.arrow_file import ArrowSource
from netdsl.data.sources.cifar import HUNDRED, TEN, Cifar10Source, Cifar100Source
from netdsl.data.sources.csv import CsvSource
from netdsl.data.sources.digits import DigitsSource
from netdsl.data.sources.file_errors import file_errors
from netdsl.data.sources.folder import FolderSource, class_folders
from netdsl.data.sources.hdf5 import Hdf5Source
from netdsl.data.sources.images import ImageSource
from netdsl.data.sources.leveldb import LevelDbSource
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.sources.mnist import MnistSource, split_of
from netdsl.data.sources.netcdf import NetcdfSource
from netdsl.data.sources.parquet import ParquetSource
from netdsl.data.sources.source import Source
from netdsl.data.sources.split import DataSplit
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError
from netdsl.tables.binding import BlobColumn

_SPLITS = {split.value: split for split in DataSplit}


@dataclass(frozen=True)
class SourceSpec:
    """What a source's name says, whether its images are wanted without colours, and the blobs that it is for."""

    path: str
    split: DataSplit | None
    options: Mapping[str, str]
    gray: bool
    blobs: tuple[BlobColumn, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The columns of the blobs."""
        return [blob.column for blob in self.blobs]

    def listed(self, option: str) -> list[str]:
        """The names that an option lists."""
        return [name for name in self.options.get(option, "").split(",") if name]

    @property
    def color(self) -> Color:
        """What becomes of encoded images."""
        return Color.GRAY if self.gray else Color.COLOR


@dataclass(frozen=True)
class SourceKind:
    """How one kind of source is named and opened, and which paths are taken for it."""

    form: str
    open: Callable[[SourceSpec], Source]
    fits: Callable[[Path], bool]
    options: tuple[str, ...] | None = ()  # None for any
    splits: bool = False
    named: bool = False  # whether an item's arrays are columns, of which those can be had that are asked for


def open_source(name: str, *, gray: bool = False, blobs: Sequence[BlobColumn] = ()) -> Source:
    """The source of a name such as `lmdb:PATH`, `mnist:FOLDER:test` or `table.csv?label=price`.

    `gray` is for encoded images, which are then decoded without colours. What isn't encoded stays as it is. `blobs` are
    what an item's arrays are for: their columns are those of the source, if `chooses_columns` says so, and a table
    reads each for its blob.
    """
    kind, rest = _kind(name)
    place = _place(kind, rest, gray)
    source = KINDS[kind].open(replace(place, blobs=tuple(blobs)))
    if not len(source):
        source.close()
        raise DataError(f"{name}: has no items")
    return source


def chooses_columns(name: str) -> bool:
    """Whether a source has columns by name, and its own name doesn't say already which."""
    kind, rest = _kind(name)
    return KINDS[kind].named and not _place(kind, rest, gray=False).options


def is_named(name: str) -> bool:
    """Whether a name says its kind, and is no path of something that is there."""
    return not Path(name).exists() and name.partition(":")[0] in KINDS


def part_of(name: str, split: DataSplit) -> str:
    """The full name of a source, and of its part for training or testing if it has parts and the name says none."""
    kind, rest = _kind(name)
    path, query, options = rest.partition("?")
    if not KINDS[kind].splits or path.rpartition(":")[2] in _SPLITS:
        return f"{kind}:{rest}"
    part = f"{path}:{split.value}" if path else split.value
    return f"{kind}:{part}{query}{options}"


def _kind(name: str) -> tuple[str, str]:
    """The kind of a source, and what else its name says."""
    start, colon, rest = name.partition(":")
    path = Path(name.partition("?")[0])
    if start in KINDS and (colon or not path.exists()):
        return start, rest
    for kind, known in KINDS.items():
        if path.exists() and known.fits(path):
            return kind, name
    what = "it doesn't show what it holds" if path.exists() else "there is no such file or folder"
    forms = ", ".join(known.form for known in KINDS.values())
    raise DataError(f"{name}: {what}; a source is one of {forms}, or a path that shows its kind by itself")


def _place(kind: str, rest: str, gray: bool) -> SourceSpec:
    known = KINDS[kind]
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        if known.options is not None and option not in known.options:
            raise DataError(f"{kind}:{rest}: has no option '{option}'; the form is {known.form}")
    folder, colon, last = path.rpartition(":")
    if known.splits and colon and last in _SPLITS:
        return SourceSpec(folder, _SPLITS[last], options, gray)
    return SourceSpec(path, None, options, gray)


def _lmdb(place: SourceSpec) -> Source:
    return LmdbSource(place.path, Color.GRAY if place.gray else Color.AS_STORED)


def _leveldb(place: SourceSpec) -> Source:
    return LevelDbSource(place.path, Color.GRAY if place.gray else Color.AS_STORED)


def _parquet(place: SourceSpec) -> Source:
    columns = place.listed("columns") or place.columns
    return ParquetSource(place.path, columns=columns, color=place.color, blobs=place.blobs)


def _arrow(place: SourceSpec) -> Source:
    columns = place.listed("columns") or place.columns
    return ArrowSource(place.path, columns=columns, color=place.color, blobs=place.blobs)


def _netcdf(place: SourceSpec) -> Source:
    return NetcdfSource(place.path, list(place.options.values()) or place.columns)


def _mnist(place: SourceSpec) -> Source:
    path = Path(place.path)
    if path.is_file():
        return MnistSource(path.parent, split_of(path))
    return MnistSource(path, place.split or DataSplit.TRAIN)


def _digits(place: SourceSpec) -> Source:
    if place.path and place.path not in _SPLITS:
        raise DataError(
            f"digits:{place.path}: there are {', '.join(f'digits:{split}' for split in _SPLITS)} and digits"
        )
    return DigitsSource(_SPLITS.get(place.path))


def _csv(place: SourceSpec) -> Source:
    return CsvSource(place.path, columns=place.listed("columns"), label=place.options.get("label", "label"))


def _hdf5(place: SourceSpec) -> Source:
    return Hdf5Source(place.path, place.listed("names") or place.columns or ("data", "label"))


def _images(place: SourceSpec) -> Source:
    root = place.options.get("root", "")
    return ImageSource(place.path, root_folder=root and f"{root.rstrip('/')}/", color=not place.gray)


def _folder(place: SourceSpec) -> Source:
    return FolderSource(place.path, place.color)


def _has(path: Path, *patterns: str) -> bool:
    return path.is_dir() and any(any(path.glob(pattern)) for pattern in patterns)


def _ends(path: Path, *endings: str) -> bool:
    return path.is_file() and path.suffix.lower() in endings


def _first_line(path: Path) -> str:
    """The first line of a text file that isn't blank, or nothing."""
    if not path.is_file():
        return ""
    with file_errors(path), path.open("rb") as file:
        start = file.read(4096)
    return "" if b"\0" in start else next(iter(start.decode("utf-8", "replace").strip().splitlines()), "").strip()


def _nothing(path: Path) -> bool:
    """What no path shows."""
    return False


# In the order in which a path is tried: what shows its kind most clearly comes first.
KINDS = {
    "lmdb": SourceKind("lmdb:PATH", _lmdb, lambda path: _has(path, "data.mdb")),
    "leveldb": SourceKind("leveldb:PATH", _leveldb, lambda path: _has(path, "CURRENT")),
    "mnist": SourceKind(
        "mnist:FOLDER[:train|:test]",
        _mnist,
        lambda path: _has(path, "*-ubyte*") or "-ubyte" in path.name,
        splits=True,
    ),
    "cifar10": SourceKind(
        "cifar10:FOLDER[:train|:test]",
        lambda place: Cifar10Source(place.path, place.split or DataSplit.TRAIN),
        lambda path: _has(path, *TEN[DataSplit.TRAIN], *TEN[DataSplit.TEST]),
        splits=True,
    ),
    "cifar100": SourceKind(
        "cifar100:FOLDER[:train|:test]",
        lambda place: Cifar100Source(place.path, place.split or DataSplit.TRAIN),
        lambda path: _has(path, *HUNDRED[DataSplit.TRAIN], *HUNDRED[DataSplit.TEST]),
        splits=True,
    ),
    "csv": SourceKind("csv:PATH?columns=A,B&label=C", _csv, lambda path: _ends(path, ".csv"), ("columns", "label")),
    "netcdf": SourceKind(
        "netcdf:PATH?x=VARIABLE&y=VARIABLE",
        _netcdf,
        lambda path: _ends(path, ".nc", ".nc4", ".cdf"),
        options=None,
        named=True,
    ),
    "parquet": SourceKind(
        "parquet:PATH?columns=A,B",
        _parquet,
        lambda path: _ends(path, ".parquet") or _has(path, "*.parquet"),
        ("columns",),
        named=True,
    ),
    "arrow": SourceKind(
        "arrow:PATH?columns=A,B",
        _arrow,
        lambda path: _ends(path, ".arrow") or _has(path, "*.arrow"),
        ("columns",),
        named=True,
    ),
    "hdf5": SourceKind(
        "hdf5:LIST?names=A,B",
        _hdf5,
        lambda path: _first_line(path).endswith((".h5", ".hdf5")),
        ("names",),
        named=True,
    ),
    "images": SourceKind(
        "images:LIST?root=FOLDER",
        _images,
        lambda path: _first_line(path).rpartition(" ")[2].lstrip("-").isdigit(),
        ("root",),
    ),
    "folder": SourceKind("folder:PATH", _folder, lambda path: path.is_dir() and bool(class_folders(path))),
    "digits": SourceKind("digits[:train|:test]", _digits, _nothing, splits=True),
}

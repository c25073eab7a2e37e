"""Sources by name: `kind:PATH`, or a path whose files show the kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from netdsl.data.sources.arrow_file import ArrowSource
from netdsl.data.sources.cifar import HUNDRED, TEN, Cifar10Source, Cifar100Source
from netdsl.data.sources.class_names import read_class_names
from netdsl.data.sources.color_view import ColorView
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
from netdsl.data.sources.shapes import CLASSES, ShapesSource
from netdsl.data.sources.source import DataSplit, Source
from netdsl.data.sources.video import VIDEO_ENDINGS, VideoSource
from netdsl.data.sources.view import read_items, view_of
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError
from netdsl.tables.binding import BlobColumn

_SPLITS = {split.value: split for split in DataSplit}
_PART, _ITEMS, _CLASSES = "part", "items", "classes"  # the options that names of all kinds may have


@dataclass(frozen=True)
class SourceSpec:
    """The parts of a source's name, the channels that images shall have, and the blobs that it is for.

    `options` are those of the kind. Three are for all kinds: the part of the items, a file with the numbers of those
    that count, and a file with names of classes.
    With `in_parallel` all processes of an MPI job open the source together.
    """

    path: str
    split: DataSplit | None
    options: Mapping[str, str]
    color: Color
    blobs: tuple[BlobColumn, ...] = ()
    part: DataSplit | None = None
    items: str | None = None
    class_names: str | None = None
    in_parallel: bool = False

    @property
    def columns(self) -> list[str]:
        """The columns of the blobs."""
        return [blob.column for blob in self.blobs]

    def names(self, option: str) -> list[str]:
        """The comma-separated names of an option."""
        return [name for name in self.options.get(option, "").split(",") if name]

    @property
    def file_color(self) -> Color:
        """The channels that image files are decoded to, which have colours unless they shall be gray."""
        return Color.GRAY if self.color is Color.GRAY else Color.COLOR


@dataclass(frozen=True)
class SourceKind:
    """One kind of source: the form of its name, how it is opened, and how its paths are recognised."""

    form: str
    open: Callable[[SourceSpec], Source]
    recognises: Callable[[Path], bool]
    options: tuple[str, ...] | None = ()  # that a name may have; None for any
    has_splits: bool = False
    has_columns: bool = False  # whether an item's arrays are columns, which can be chosen by name


def open_source(
    name: str, *, color: Color = Color.AS_STORED, blobs: Sequence[BlobColumn] = (), in_parallel: bool = False
) -> Source:
    """Open the source of a name such as `lmdb:PATH`, `mnist:FOLDER:test` or `table.csv?label=price`.

    Any name may end with `?part=train` or `?part=test`, which leave out every tenth item, or all others, with
    `?items=FILE`, which has the numbers of the items that count, and with `?classes=FILE`, which names the classes.
    With a `color`, all images are gray, or blue, green, red, whatever is stored; otherwise databases have them as they
    are stored, and files have colours. `blobs` are what an item's arrays are for: their columns are those of a source
    for which `chooses_columns` is true, and a table reads each column for its blob; if there are several, only files
    are decoded to the color. With `in_parallel` all processes of an MPI job call this together, and libraries that can
    open a file together do.
    """
    kind, rest = _kind(name)
    spec = _spec(kind, rest, color)
    classes = () if spec.class_names is None else read_class_names(spec.class_names)
    source = KINDS[kind].open(replace(spec, blobs=tuple(blobs), in_parallel=in_parallel))
    if color is not Color.AS_STORED and len(blobs) < 2:
        source = ColorView(source, color)
    if spec.items is not None:
        source = view_of(source, items=read_items(Path(spec.items), len(source)))
    if spec.part is not None or classes:
        source = view_of(source, part=spec.part, classes=classes)
    if not len(source):
        source.close()
        raise DataError(f"{name}: has no items")
    return source


def chooses_columns(name: str) -> bool:
    """Whether a source has columns, and its own name doesn't choose them."""
    kind, rest = _kind(name)
    return KINDS[kind].has_columns and not _spec(kind, rest).options


def has_kind_prefix(name: str) -> bool:
    """Whether a name begins with a kind, and isn't the path of an existing file or folder."""
    return not Path(name).exists() and name.partition(":")[0] in KINDS


def with_split(name: str, split: DataSplit) -> str:
    """The full name of a source, with a split if its kind has splits and the name doesn't choose one."""
    kind, rest = _kind(name)
    path, query, options = rest.partition("?")
    if not KINDS[kind].has_splits or path.rpartition(":")[2] in _SPLITS:
        return f"{kind}:{rest}"
    path_and_split = f"{path}:{split.value}" if path else split.value
    return f"{kind}:{path_and_split}{query}{options}"


def train_and_test(name: str) -> tuple[str, str]:
    """The full names of two parts of a source, to train and to test on.

    A name that chooses a part is for training, and the other part for testing. Else it is the data set's own two parts
    or, where it has none, its items without every tenth, and these.
    """
    kind, rest = _kind(name)
    part = _spec(kind, rest).part
    if part is not None:
        other = DataSplit.TEST if part is DataSplit.TRAIN else DataSplit.TRAIN
        return f"{kind}:{rest}", f"{kind}:{_with_part(rest, other)}"
    train, test = (with_split(name, split) for split in DataSplit)
    return (train, test) if train != test else (_with_part(train, DataSplit.TRAIN), _with_part(test, DataSplit.TEST))


def is_part(name: str) -> bool:
    """Whether a name chooses some of the items of a source, by a rule that isn't the data set's own."""
    return _spec(*_kind(name)).part is not None


def with_items(name: str, items: Path) -> str:
    """The full name of a source whose items are those with the numbers in a file."""
    kind, rest = _kind(name)
    return f"{kind}:{_with_option(rest, _ITEMS, str(items))}"


def _with_part(name: str, part: DataSplit) -> str:
    return _with_option(name, _PART, part.value)


def _with_option(name: str, option: str, value: str) -> str:
    path, _, query = name.partition("?")
    others = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != option]
    return f"{path}?{urlencode([*others, (option, value)], safe='/,:')}"


def _kind(name: str) -> tuple[str, str]:
    """The kind of a source, and its name without the kind."""
    start, colon, rest = name.partition(":")
    path = Path(name.partition("?")[0])
    if start in KINDS and (colon or not path.exists()):
        return start, rest
    if path.name in KINDS and not path.exists():  # a kind without a path, but with options
        return path.name, name.removeprefix(path.name)
    for kind, description in KINDS.items():
        if path.exists() and description.recognises(path):
            return kind, name
    problem = "its kind can't be recognised" if path.exists() else "there is no such file or folder"
    near = get_close_matches(start, KINDS, 1) if colon and not path.exists() else []
    hint = f"did you mean {near[0]}:{rest}?" if near else f"name it KIND:PATH, where KIND is one of {', '.join(KINDS)}"
    raise DataError(f"{name}: {problem}; {hint}")


def _spec(kind: str, rest: str, color: Color = Color.AS_STORED) -> SourceSpec:
    description = KINDS[kind]
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    part, items, class_names = (options.pop(option, None) for option in (_PART, _ITEMS, _CLASSES))
    if part is not None and part not in _SPLITS:
        raise DataError(f"{kind}:{rest}: there is no part '{part}'; write {_PART}=train or {_PART}=test")
    split = None if part is None else _SPLITS[part]
    spec = SourceSpec(path, None, options, color, part=split, items=items, class_names=class_names)
    for option in options:
        if description.options is not None and option not in description.options:
            raise DataError(f"{kind}:{rest}: has no option '{option}'; the form is {description.form}")
    folder, colon, last = path.rpartition(":")
    if description.has_splits and colon and last in _SPLITS:
        return replace(spec, path=folder, split=_SPLITS[last])
    return spec


def _lmdb(spec: SourceSpec) -> Source:
    return LmdbSource(spec.path, spec.color)


def _leveldb(spec: SourceSpec) -> Source:
    return LevelDbSource(spec.path, spec.color)


def _parquet(spec: SourceSpec) -> Source:
    columns = spec.names("columns") or spec.columns
    return ParquetSource(spec.path, columns=columns, color=spec.file_color, blobs=spec.blobs)


def _arrow(spec: SourceSpec) -> Source:
    columns = spec.names("columns") or spec.columns
    return ArrowSource(spec.path, columns=columns, color=spec.file_color, blobs=spec.blobs)


def _netcdf(spec: SourceSpec) -> Source:
    return NetcdfSource(spec.path, list(spec.options.values()) or spec.columns, in_parallel=spec.in_parallel)


def _mnist(spec: SourceSpec) -> Source:
    path = Path(spec.path)
    if path.is_file():
        return MnistSource(path.parent, split_of(path))
    return MnistSource(path, spec.split or DataSplit.TRAIN)


def _digits(spec: SourceSpec) -> Source:
    if spec.path and spec.path not in _SPLITS:
        raise DataError(
            f"digits:{spec.path}: is no source; there are digits, {', '.join(f'digits:{split}' for split in _SPLITS)}"
        )
    return DigitsSource(_SPLITS.get(spec.path))


def _shapes(spec: SourceSpec) -> Source:
    if spec.path and spec.path not in _SPLITS:
        raise DataError(
            f"shapes:{spec.path}: is no source; there are shapes, {', '.join(f'shapes:{split}' for split in _SPLITS)}"
        )
    return ShapesSource(_SPLITS.get(spec.path, DataSplit.TRAIN), spec.names("kinds") or CLASSES)


def _csv(spec: SourceSpec) -> Source:
    return CsvSource(spec.path, columns=spec.names("columns"), label=spec.options.get("label", "label"))


def _hdf5(spec: SourceSpec) -> Source:
    return Hdf5Source(spec.path, spec.names("names") or spec.columns or ("data", "label"))


def _images(spec: SourceSpec) -> Source:
    root = spec.options.get("root", "")
    return ImageSource(spec.path, root_folder=root and f"{root.rstrip('/')}/", color=spec.color is not Color.GRAY)


def _folder(spec: SourceSpec) -> Source:
    return FolderSource(spec.path, spec.file_color)


def _has(path: Path, *patterns: str) -> bool:
    return path.is_dir() and any(any(path.glob(pattern)) for pattern in patterns)


def _ends(path: Path, *endings: str) -> bool:
    return path.is_file() and path.suffix.lower() in endings


def _first_line(path: Path) -> str:
    """The first line of a text file that isn't blank; empty if there is none, or if the file isn't text."""
    if not path.is_file():
        return ""
    with file_errors(path), path.open("rb") as file:
        start = file.read(4096)
    return "" if b"\0" in start else next(iter(start.decode("utf-8", "replace").strip().splitlines()), "").strip()


def _never(path: Path) -> bool:
    """Recognise no path."""
    return False


# In the order in which they are tried on a path: the kinds that are recognised most reliably come first.
KINDS = {
    "lmdb": SourceKind("lmdb:PATH", _lmdb, lambda path: _has(path, "data.mdb")),
    "leveldb": SourceKind("leveldb:PATH", _leveldb, lambda path: _has(path, "CURRENT")),
    "mnist": SourceKind(
        "mnist:FOLDER[:train|:test]",
        _mnist,
        lambda path: _has(path, "*-ubyte*") or "-ubyte" in path.name,
        has_splits=True,
    ),
    "cifar10": SourceKind(
        "cifar10:FOLDER[:train|:test]",
        lambda spec: Cifar10Source(spec.path, spec.split or DataSplit.TRAIN),
        lambda path: _has(path, *TEN[DataSplit.TRAIN], *TEN[DataSplit.TEST]),
        has_splits=True,
    ),
    "cifar100": SourceKind(
        "cifar100:FOLDER[:train|:test]",
        lambda spec: Cifar100Source(spec.path, spec.split or DataSplit.TRAIN),
        lambda path: _has(path, *HUNDRED[DataSplit.TRAIN], *HUNDRED[DataSplit.TEST]),
        has_splits=True,
    ),
    "csv": SourceKind("csv:PATH?columns=A,B&label=C", _csv, lambda path: _ends(path, ".csv"), ("columns", "label")),
    "netcdf": SourceKind(
        "netcdf:PATH?x=VARIABLE&y=VARIABLE",
        _netcdf,
        lambda path: _ends(path, ".nc", ".nc4", ".cdf"),
        options=None,
        has_columns=True,
    ),
    "parquet": SourceKind(
        "parquet:PATH?columns=A,B",
        _parquet,
        lambda path: _ends(path, ".parquet") or _has(path, "*.parquet"),
        ("columns",),
        has_columns=True,
    ),
    "arrow": SourceKind(
        "arrow:PATH?columns=A,B",
        _arrow,
        lambda path: _ends(path, ".arrow") or _has(path, "*.arrow"),
        ("columns",),
        has_columns=True,
    ),
    "hdf5": SourceKind(
        "hdf5:LIST?names=A,B",
        _hdf5,
        lambda path: _first_line(path).endswith((".h5", ".hdf5")),
        ("names",),
        has_columns=True,
    ),
    "images": SourceKind(
        "images:LIST?root=FOLDER",
        _images,
        lambda path: _first_line(path).rpartition(" ")[2].lstrip("-").isdigit(),
        ("root",),
    ),
    "folder": SourceKind("folder:PATH", _folder, lambda path: path.is_dir() and bool(class_folders(path))),
    "video": SourceKind("video:PATH", lambda spec: VideoSource(spec.path), lambda path: _ends(path, *VIDEO_ENDINGS)),
    "digits": SourceKind("digits[:train|:test]", _digits, _never, has_splits=True),
    "shapes": SourceKind("shapes[:train|:test]?kinds=A,B", _shapes, _never, ("kinds",), has_splits=True),
}

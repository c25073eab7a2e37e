"""The kinds of data that netdsl knows, and data opened by their names: `kind:PATH`, or a path that shows its kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from netdsl.data.sources.annotations.annotated_image import AnnotatedSet
from netdsl.data.sources.annotations.drawn import DrawnObjects, DrawnPeople, DrawnPictures
from netdsl.data.sources.annotations.map_folder import LIST, MAPS, MapFolder
from netdsl.data.sources.annotations.records import AnnotatedRecords, has_annotated_records
from netdsl.data.sources.annotations.voc import ANNOTATIONS, VocFolder
from netdsl.data.sources.class_names import read_class_list
from netdsl.data.sources.csv import CsvSource
from netdsl.data.sources.files import file_errors, read_text
from netdsl.data.sources.hdf5 import Hdf5Source
from netdsl.data.sources.images import FolderSource, ImageSource, class_folders
from netdsl.data.sources.known_sets import (
    HUNDRED,
    TEN,
    Cifar10Source,
    Cifar100Source,
    DigitsSource,
    MnistSource,
    split_of,
)
from netdsl.data.sources.leveldb import LevelDbSource
from netdsl.data.sources.lmdb import LmdbSource
from netdsl.data.sources.netcdf import NetcdfSource
from netdsl.data.sources.poses import JOINTS, POSES, PoseSet, has_poses
from netdsl.data.sources.shapes import CLASSES, ShapesSource
from netdsl.data.sources.source import DataSplit, Source
from netdsl.data.sources.source_name import (
    KINDS,
    Content,
    SourceKind,
    SourceName,
    SourceSpec,
    names_that_give,
    register_source,
)
from netdsl.data.sources.tables import ArrowSource, ParquetSource
from netdsl.data.sources.video import VIDEO_ENDINGS, VideoSource
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError
from netdsl.tables.table import BlobColumn

if TYPE_CHECKING:
    from netdsl.data.sources.annotations.coco import CaptionedImage

_FIRST_PIXEL = "first_pixel"
_LONGEST_TEXT = 1 << 26  # characters; in HDF5 each takes twelve bytes


def open_source(
    name: str, *, color: Color = Color.AS_STORED, blobs: Sequence[BlobColumn] = (), in_parallel: bool = False
) -> Source:
    """Open the items of a name such as `lmdb:PATH`, `mnist:FOLDER:test` or `table.csv?label=price`.

    Any name may end with `?part=train` or `?part=test`, which leave out every tenth item, or all others, with
    `?items=FILE`, which has the numbers of the items that count, and with `?classes=FILE`, which names the classes.
    With a `color`, all images are gray, or blue, green, red, whatever is stored; otherwise databases have them as they
    are stored, and files have colours. `blobs` are what an item's arrays are for: their columns are those of a source
    whose name doesn't choose them, and a table reads each column for its blob; if there are several, only files are
    decoded to the color. With `in_parallel` all processes of an MPI job call this together, and libraries that can
    open a file together do.
    """
    return parse_source(name, Content.ITEMS).open(color=color, blobs=blobs, in_parallel=in_parallel)


def open_annotated_set(name: str, *, first_pixel: int = 0) -> AnnotatedSet:
    """Open the images with marked objects of a name such as `voc:FOLDER?set=trainval`, or of a path.

    Any name may end with `part=train` or `part=test`, which leave out every tenth image, or all others, and with
    `items=FILE`. Databases don't say what the coordinate of their first pixel is: it is `first_pixel` unless the name
    says it.
    """
    return parse_source(name, Content.MARKED_IMAGES).open_marked(first_pixel=first_pixel)


def class_names_of(name: str) -> tuple[str, ...]:
    """The names of the classes of marked objects, or those of a file; the background is the first."""
    source = find_source(name, Content.MARKED_IMAGES)
    if source is not None and source.content is Content.MARKED_IMAGES:
        return tuple(source.open_marked().classes)
    return read_class_list(Path(name)).names


def parse_source(text: str, content: Content | None = None, *, extra_options: Iterable[str] = ()) -> SourceName:
    """Parse the name of data. With a `content`, a path is of the first kind that gives such.

    The caller may read options of its own from the name, `extra_options`.
    """
    name = find_source(text, content, extra_options=extra_options)
    if name is not None:
        return name
    if content not in (None, Content.ITEMS):
        raise DataError(f"{text}: isn't the name of {content.value}; {names_that_give(content)}")
    start, colon, rest = text.partition(":")
    exists = Path(text.partition("?")[0]).exists()
    kinds = [kind for kind, form in KINDS.items() if content is None or content in form.contents]
    problem = "its kind can't be recognised" if exists else "there is no such file or folder"
    near = get_close_matches(start, kinds, 1) if colon and not exists else []
    hint = f"did you mean {near[0]}:{rest}?" if near else f"name it KIND:PATH, where KIND is one of {', '.join(kinds)}"
    raise DataError(f"{text}: {problem}; {hint}")


def find_source(text: str, content: Content | None = None, *, extra_options: Iterable[str] = ()) -> SourceName | None:
    """Parse the name of data; None if the text neither begins with a kind nor is a path that shows one."""
    address, _, query = text.partition("?")
    if has_kind_prefix(text):
        said, _, path = address.partition(":")
        return SourceName.of(said, path, query, extra_options)
    kinds = KINDS.items() if Path(address).exists() else ()
    shown = (kind for kind, form in kinds if content in (None, *form.contents) and form.recognises(Path(address)))
    kind = next(shown, None)
    return None if kind is None else SourceName.of(kind, address, query, extra_options)


def has_kind_prefix(text: str) -> bool:
    """Whether a text begins with a kind, or is one, and isn't the path of an existing file or folder."""
    address = text.partition("?")[0]
    kind, colon, _ = address.partition(":")
    return kind in KINDS and (bool(colon) or not Path(address).exists())


def _lmdb(spec: SourceSpec) -> Source:
    _check_no_first_pixel(spec)
    return LmdbSource(spec.path, spec.color)


def _leveldb(spec: SourceSpec) -> Source:
    _check_no_first_pixel(spec)
    return LevelDbSource(spec.path, spec.color)


def _check_no_first_pixel(spec: SourceSpec) -> None:
    if _FIRST_PIXEL in spec.options:
        raise DataError(f"{spec}: {_FIRST_PIXEL} is about marked objects, of which items have none; leave it out")


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


def _shapes(spec: SourceSpec) -> Source:
    return ShapesSource(spec.split or DataSplit.TRAIN, spec.names("kinds") or CLASSES)


def _csv(spec: SourceSpec) -> Source:
    return CsvSource(spec.path, columns=spec.names("columns"), label=spec.options.get("label", "label"))


def _hdf5(spec: SourceSpec) -> Source:
    return Hdf5Source(spec.path, spec.names("names") or spec.columns or ("data", "label"))


def _images(spec: SourceSpec) -> Source:
    root = spec.options.get("root", "")
    return ImageSource(spec.path, root_folder=root and f"{root.rstrip('/')}/", color=spec.color is not Color.GRAY)


def _folder(spec: SourceSpec) -> Source:
    return FolderSource(spec.path, spec.file_color)


def _records(spec: SourceSpec) -> AnnotatedSet:
    first_pixel = spec.number(_FIRST_PIXEL, spec.first_pixel)
    return AnnotatedRecords(spec.path, first_pixel=first_pixel, classes=spec.class_names)


def _voc(spec: SourceSpec) -> AnnotatedSet:
    return VocFolder(spec.path, image_set=spec.options.get("set"), classes=spec.class_names)


def _coco(spec: SourceSpec) -> AnnotatedSet:
    from netdsl.data.sources.annotations.coco import CocoInstances

    return CocoInstances(spec.path, images=spec.options.get("images"), classes=spec.class_names)


def _captions(spec: SourceSpec) -> list[CaptionedImage]:
    from netdsl.data.sources.annotations.coco import read_captions

    return read_captions(Path(spec.path), Path(spec.options["images"]) if "images" in spec.options else None)


def _labelme(spec: SourceSpec) -> AnnotatedSet:
    from netdsl.data.sources.annotations.labelme import LabelmeFolder

    return LabelmeFolder(spec.path, classes=spec.class_names)


def _yolo(spec: SourceSpec) -> AnnotatedSet:
    from netdsl.data.sources.annotations.yolo import YoloFolder

    return YoloFolder(spec.path, image_set=spec.options.get("set"), classes=spec.class_names)


def _objects(spec: SourceSpec) -> AnnotatedSet:
    kinds = spec.names("kinds") or CLASSES
    return DrawnObjects(spec.split or DataSplit.TRAIN, kinds=kinds, side=_side(spec, DrawnObjects), count=_count(spec))


def _people(spec: SourceSpec) -> AnnotatedSet:
    return DrawnPeople(spec.split or DataSplit.TRAIN, side=_side(spec, DrawnPeople), count=_count(spec))


def _side(spec: SourceSpec, pictures: type[DrawnPictures]) -> int:
    return spec.number("side", pictures.side)


def _count(spec: SourceSpec) -> int | None:
    return spec.number("count", 0) if "count" in spec.options else None


def _looks_like_yolo(path: Path) -> bool:
    from netdsl.data.sources.annotations.yolo import IMAGE_FOLDER, NAMES, SETTINGS

    has_names = any((path / name).is_file() for name in (SETTINGS, *NAMES))
    return has_names and ((path / IMAGE_FOLDER).is_dir() or any(path.glob(f"*/{IMAGE_FOLDER}")))


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


# In the order in which they are tried on a path: the kinds that are recognised most reliably come first.
_BUILT_IN = {
    POSES: SourceKind(
        f"{POSES}:PATH?joints=N",
        recognises=has_poses,
        options=("joints",),
        is_database=True,
        open_marked=lambda spec: PoseSet(spec.path, joints=spec.number("joints", JOINTS)),
    ),
    "lmdb": SourceKind(
        "lmdb:PATH?first_pixel=N&classes=FILE",
        _lmdb,
        lambda path: _has(path, "data.mdb"),
        (_FIRST_PIXEL,),
        is_database=True,
        open_marked=_records,
        has_marks=has_annotated_records,
    ),
    "leveldb": SourceKind(
        "leveldb:PATH?first_pixel=N&classes=FILE",
        _leveldb,
        lambda path: _has(path, "CURRENT"),
        (_FIRST_PIXEL,),
        is_database=True,
        open_marked=_records,
        has_marks=has_annotated_records,
    ),
    "voc": SourceKind(
        "voc:FOLDER?set=NAME&classes=FILE",
        recognises=lambda path: (path / ANNOTATIONS).is_dir() or any(path.glob(f"*/{ANNOTATIONS}")),
        options=("set", "classes"),
        open_marked=_voc,
    ),
    "coco": SourceKind(
        "coco:FILE.json?images=FOLDER&classes=FILE",
        recognises=lambda path: path.is_file() and path.suffix == ".json",
        options=("images", "classes"),
        open_marked=_coco,
    ),
    "yolo": SourceKind(
        "yolo:FOLDER?set=NAME&classes=FILE",
        recognises=_looks_like_yolo,
        options=("set", "classes"),
        open_marked=_yolo,
    ),
    "labelme": SourceKind(  # isn't recognised, since files of other kinds of data have JSON beside them, too
        "labelme:FOLDER?classes=FILE", options=("classes",), open_marked=_labelme
    ),
    "maps": SourceKind(
        "maps:FOLDER?classes=FILE",
        recognises=lambda path: (path / LIST).is_file() and (path / MAPS).is_dir(),
        options=("classes",),
        open_marked=lambda spec: MapFolder(spec.path, classes=spec.class_names),
    ),
    "objects": SourceKind(
        "objects:[train|test]?side=N&count=N&kinds=A,B",
        options=("side", "count", "kinds"),
        has_splits=True,
        has_path=False,
        open_marked=_objects,
    ),
    "people": SourceKind(
        "people:[train|test]?side=N&count=N",
        options=("side", "count"),
        has_splits=True,
        has_path=False,
        open_marked=_people,
    ),
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
    "digits": SourceKind(
        "digits[:train|:test]", lambda spec: DigitsSource(spec.split), has_splits=True, has_path=False
    ),
    "shapes": SourceKind(
        "shapes[:train|:test]?kinds=A,B", _shapes, options=("kinds",), has_splits=True, has_path=False
    ),
    "captions": SourceKind(
        "captions:FILE.json?images=FOLDER&streams=N&steps=N&least=N&classes=LABELS",
        options=("images", "streams", "steps", "least", "classes"),
        open_captions=_captions,
    ),
    "text": SourceKind(
        "text:FILE?streams=N&classes=LABELS",
        options=("streams", "classes"),
        read_text=lambda spec: read_text(Path(spec.path), _LONGEST_TEXT),
    ),
}
for _name, _kind in _BUILT_IN.items():
    register_source(_name, _kind)

"""The built-in kinds of data: their names, how they are opened, and how their paths are recognized."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from netdsl.data.sources.annotations.annotated_image import AnnotatedSet
from netdsl.data.sources.annotations.drawn import DrawnObjects, DrawnPeople, DrawnPictures
from netdsl.data.sources.annotations.map_folder import LIST, MAPS, MapFolder
from netdsl.data.sources.annotations.records import AnnotatedRecords, has_annotated_records
from netdsl.data.sources.annotations.voc import ANNOTATIONS, VocFolder
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
from netdsl.data.sources.shards import ShardSource, looks_like_shards
from netdsl.data.sources.source import DataSplit, Source
from netdsl.data.sources.source_name import SourceKind, SourceSpec
from netdsl.data.sources.tables import ArrowSource, ParquetSource
from netdsl.data.sources.video import VIDEO_ENDINGS, VideoSource
from netdsl.data.transforms.decode import Color
from netdsl.errors import DataError

if TYPE_CHECKING:
    from netdsl.data.sources.annotations.coco import CaptionedImage  # building nets doesn't need msgspec

_FIRST_PIXEL = "first_pixel"


def _lmdb(spec: SourceSpec) -> Source:
    _check_no_first_pixel(spec)
    return LmdbSource(spec.path, spec.color)


def _leveldb(spec: SourceSpec) -> Source:
    _check_no_first_pixel(spec)
    return LevelDbSource(spec.path, spec.color)


def _check_no_first_pixel(spec: SourceSpec) -> None:
    if _FIRST_PIXEL in spec.options:
        raise DataError(f"{spec}: {_FIRST_PIXEL} only applies to marked objects; leave ?first_pixel out")


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


def _shards(spec: SourceSpec) -> Source:
    images, label = spec.names("image"), spec.options.get("label", "")
    return ShardSource(spec.path, images=images, label=label, color=spec.file_color)


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
    """Return the first line of a text file that isn't blank. The result is empty if there is none, or if the file isn't
    text."""
    if not path.is_file():
        return ""
    with file_errors(path), path.open("rb") as file:
        start = file.read(4096)
    return "" if b"\0" in start else next(iter(start.decode("utf-8", "replace").strip().splitlines()), "").strip()


# Paths are tested in this order. The kinds that are recognized most reliably come first.
BUILT_IN = {
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
    "labelme": SourceKind(  # not recognized, because other kinds of data also have JSON files
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
    "shards": SourceKind("shards:PATH?image=EXTENSION&label=EXTENSION", _shards, looks_like_shards, ("image", "label")),
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
        read_text=lambda spec: read_text(Path(spec.path)),
    ),
}

"""Sets of images with marked objects by name: `kind:PATH`, such as `voc:VOCdevkit/VOC2007?set=trainval`, or a path."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl

from netdsl.data.sources.annotations.annotated_image import AnnotatedSet
from netdsl.data.sources.annotations.class_list import read_class_list
from netdsl.data.sources.annotations.drawn_objects import SIDE, DrawnObjects
from netdsl.data.sources.annotations.map_folder import LIST, MAPS, MapFolder
from netdsl.data.sources.annotations.part_of_set import PartOfSet
from netdsl.data.sources.annotations.records import AnnotatedRecords, has_annotated_records
from netdsl.data.sources.annotations.voc import ANNOTATIONS, VocFolder
from netdsl.data.sources.shapes import CLASSES
from netdsl.data.sources.source import DataSplit
from netdsl.errors import DataError

_SET, _IMAGES, _CLASSES, _FIRST_PIXEL = "set", "images", "classes", "first_pixel"
_PART = "part"  # which names of all kinds may have
_SIDE, _COUNT, _KINDS = "side", "count", "kinds"
_SPLITS = {split.value: split for split in DataSplit}

Options = Mapping[str, str]


@dataclass(frozen=True)
class AnnotatedKind:
    """One kind of set: the form of its name, its options, how it is opened by path and options, and recognised."""

    form: str
    options: tuple[str, ...]
    open: Callable[[str, Options], AnnotatedSet]
    recognises: Callable[[Path], bool]


def _voc(path: str, options: Options) -> AnnotatedSet:
    return VocFolder(path, image_set=options.get(_SET), classes=options.get(_CLASSES))


def _coco(path: str, options: Options) -> AnnotatedSet:
    from netdsl.data.sources.annotations.coco import CocoInstances  # nets are built without msgspec

    return CocoInstances(path, images=options.get(_IMAGES), classes=options.get(_CLASSES))


def _labelme(path: str, options: Options) -> AnnotatedSet:
    from netdsl.data.sources.annotations.labelme import LabelmeFolder

    return LabelmeFolder(path, classes=options.get(_CLASSES))


def _yolo(path: str, options: Options) -> AnnotatedSet:
    from netdsl.data.sources.annotations.yolo import YoloFolder

    return YoloFolder(path, image_set=options.get(_SET), classes=options.get(_CLASSES))


def _records(path: str, options: Options) -> AnnotatedSet:
    return AnnotatedRecords(path, first_pixel=_whole(options, _FIRST_PIXEL, 0), classes=options.get(_CLASSES))


def _objects(path: str, options: Options) -> AnnotatedSet:
    if path and path not in _SPLITS:
        raise DataError(f"objects:{path}: is no set; there are {', '.join(f'objects:{split}' for split in _SPLITS)}")
    kinds = [kind for kind in options.get(_KINDS, "").split(",") if kind] or CLASSES
    count = _whole(options, _COUNT, 0) if _COUNT in options else None
    return DrawnObjects(_SPLITS.get(path, DataSplit.TRAIN), kinds=kinds, side=_whole(options, _SIDE, SIDE), count=count)


def _looks_like_yolo(path: Path) -> bool:
    from netdsl.data.sources.annotations.yolo import IMAGES, NAMES, SETTINGS

    has_names = any((path / name).is_file() for name in (SETTINGS, *NAMES))
    return has_names and ((path / IMAGES).is_dir() or any(path.glob(f"*/{IMAGES}")))


def _whole(options: Options, option: str, default: int) -> int:
    text = options.get(option, str(default))
    if not text.isdecimal() or len(text) > 9:
        raise DataError(f"{option}={text[:40]}: must be a whole number")
    return int(text)


# In the order in which they are tried on a path.
ANNOTATED_KINDS = {
    "lmdb": AnnotatedKind(
        "lmdb:PATH?first_pixel=N&classes=FILE", (_FIRST_PIXEL, _CLASSES), _records, has_annotated_records
    ),
    "leveldb": AnnotatedKind(
        "leveldb:PATH?first_pixel=N&classes=FILE", (_FIRST_PIXEL, _CLASSES), _records, has_annotated_records
    ),
    "voc": AnnotatedKind(
        "voc:FOLDER?set=NAME&classes=FILE",
        (_SET, _CLASSES),
        _voc,
        lambda path: (path / ANNOTATIONS).is_dir() or any(path.glob(f"*/{ANNOTATIONS}")),
    ),
    "coco": AnnotatedKind(
        "coco:FILE.json?images=FOLDER&classes=FILE",
        (_IMAGES, _CLASSES),
        _coco,
        lambda path: path.is_file() and path.suffix == ".json",
    ),
    "yolo": AnnotatedKind(
        "yolo:FOLDER?set=NAME&classes=FILE",
        (_SET, _CLASSES),
        _yolo,
        _looks_like_yolo,
    ),
    "labelme": AnnotatedKind(
        "labelme:FOLDER?classes=FILE",
        (_CLASSES,),
        _labelme,
        lambda path: False,  # files of other kinds of data have JSON beside them, too
    ),
    "maps": AnnotatedKind(
        "maps:FOLDER?classes=FILE",
        (_CLASSES,),
        lambda path, options: MapFolder(path, classes=options.get(_CLASSES)),
        lambda path: (path / LIST).is_file() and (path / MAPS).is_dir(),
    ),
    "objects": AnnotatedKind(
        "objects:[train|test]?side=N&count=N&kinds=A,B", (_SIDE, _COUNT, _KINDS), _objects, lambda path: False
    ),
}
_DATABASES = ("lmdb", "leveldb")  # whose records needn't have objects


@dataclass(frozen=True)
class AnnotatedName:
    """The parts of a name: its kind and path, its options, and whether the kind was said rather than recognised."""

    kind: str
    path: str
    options: dict[str, str]
    is_said: bool


def names_annotated_set(name: str) -> bool:
    """Whether a name or a path is that of images with marked objects, and no other kind of data."""
    parts = _parts(name)
    return parts is not None and not (
        parts.kind in _DATABASES and parts.is_said and not has_annotated_records(Path(parts.path))
    )


def names_annotated_files(name: str) -> bool:
    """Whether a name or a path is that of images with marked objects which are in no database."""
    parts = _parts(name)
    return parts is not None and parts.kind not in _DATABASES


def open_annotated_set(name: str, *, first_pixel: int = 0) -> AnnotatedSet:
    """Open the set of a name such as `voc:FOLDER?set=trainval` or `coco:FILE?images=FOLDER`, or of a path.

    Any name may end with `part=train` or `part=test`, which leave out every tenth image, or all others. Databases don't
    say what the coordinate of their first pixel is: it is `first_pixel` unless the name says it.
    """
    parts = _parts(name)
    if parts is None:
        forms = ", ".join(known.form for known in ANNOTATED_KINDS.values())
        raise DataError(f"{name}: isn't the name of images with marked objects; such names are {forms}")
    description, options = ANNOTATED_KINDS[parts.kind], parts.options
    part = options.pop(_PART, None)
    if part is not None and part not in _SPLITS:
        raise DataError(f"{name}: there is no part '{part}'; write {_PART}=train or {_PART}=test")
    for option in options:
        if option not in description.options:
            raise DataError(f"{name}: has no option '{option}'; the form is {description.form}")
    if parts.kind in _DATABASES:
        options = {_FIRST_PIXEL: str(first_pixel)} | options
    opened = description.open(parts.path, options)
    return opened if part is None else PartOfSet(opened, _SPLITS[part])


def _parts(name: str) -> AnnotatedName | None:
    """The parts of a name that begins with a kind, or whose path shows one."""
    start, _, query = name.partition("?")
    prefix, colon, rest = start.partition(":")
    options, path = dict(parse_qsl(query, keep_blank_values=True)), Path(start)
    if prefix in ANNOTATED_KINDS and (colon or not path.exists()):
        return AnnotatedName(prefix, rest, options, is_said=True)
    if not path.exists():
        return None
    kinds = (kind for kind, known in ANNOTATED_KINDS.items() if known.recognises(path))
    kind = next(kinds, None)
    return None if kind is None else AnnotatedName(kind, start, options, is_said=False)


def class_names_of(name: str) -> tuple[str, ...]:
    """The names of the classes of a set, or those of a file; the background is the first."""
    return tuple(open_annotated_set(name).classes) if names_annotated_set(name) else read_class_list(Path(name)).names

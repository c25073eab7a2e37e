"""Sets of images with marked objects by name: `kind:PATH`, such as `voc:VOCdevkit/VOC2007?set=trainval`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl

from netdsl.data.sources.annotations.annotated_image import AnnotatedSet
from netdsl.data.sources.annotations.coco import CocoInstances
from netdsl.data.sources.annotations.labelme import LabelmeFolder
from netdsl.data.sources.annotations.voc import VocFolder
from netdsl.data.sources.annotations.yolo import YoloFolder
from netdsl.errors import DataError

_SET, _IMAGES, _CLASSES = "set", "images", "classes"


@dataclass(frozen=True)
class AnnotatedKind:
    """One kind of set: the form of its name, the options that it may have, and how it is opened by path and options."""

    form: str
    options: tuple[str, ...]
    open: Callable[[str, dict[str, str]], AnnotatedSet]


ANNOTATED_KINDS = {
    "voc": AnnotatedKind(
        "voc:FOLDER?set=NAME&classes=FILE",
        (_SET, _CLASSES),
        lambda path, options: VocFolder(path, image_set=options.get(_SET), classes=options.get(_CLASSES)),
    ),
    "coco": AnnotatedKind(
        "coco:FILE.json?images=FOLDER&classes=FILE",
        (_IMAGES, _CLASSES),
        lambda path, options: CocoInstances(path, images=options.get(_IMAGES), classes=options.get(_CLASSES)),
    ),
    "labelme": AnnotatedKind(
        "labelme:FOLDER?classes=FILE",
        (_CLASSES,),
        lambda path, options: LabelmeFolder(path, classes=options.get(_CLASSES)),
    ),
    "yolo": AnnotatedKind(
        "yolo:FOLDER?set=NAME&classes=FILE",
        (_SET, _CLASSES),
        lambda path, options: YoloFolder(path, image_set=options.get(_SET), classes=options.get(_CLASSES)),
    ),
}


def names_annotated_set(name: str) -> bool:
    """Whether a name begins with a kind of these sets."""
    kind, colon, _ = name.partition(":")
    return bool(colon) and kind in ANNOTATED_KINDS


def open_annotated_set(name: str) -> AnnotatedSet:
    """Open the set of a name such as `voc:FOLDER?set=trainval` or `coco:FILE?images=FOLDER`."""
    kind, _, rest = name.partition(":")
    if not names_annotated_set(name):
        forms = ", ".join(known.form for known in ANNOTATED_KINDS.values())
        raise DataError(f"{name}: isn't the name of images with marked objects; such names are {forms}")
    path, _, query = rest.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        if option not in ANNOTATED_KINDS[kind].options:
            raise DataError(f"{name}: has no option '{option}'; the form is {ANNOTATED_KINDS[kind].form}")
    return ANNOTATED_KINDS[kind].open(path, options)

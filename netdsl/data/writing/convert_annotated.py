"""Converts sets of images with marked objects to another form. On an error, nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

import numpy as np

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, MarkedObject, SetImages
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.poses import POSES
from netdsl.data.transforms.decode import Color, rescale, resize
from netdsl.data.types import Array
from netdsl.data.writing.annotated_sets import (
    DEFAULT_SET,
    AnnotatedExample,
    PutAnnotated,
    annotated_database,
    coco_file,
    map_folder,
    pixels_of,
    voc_folder,
    yolo_folder,
)
from netdsl.data.writing.convert import AS_THEY_ARE, Conversion
from netdsl.data.writing.databases import leveldb_records, lmdb_records
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.data.writing.map_items import good_results, map_items, writing_order
from netdsl.data.writing.target import TargetName, parse_target
from netdsl.errors import DataError

_OF_ITEMS_TOO = ("lmdb", "leveldb")


class Trait(Enum):
    """Information about an object in addition to its class and box, or about an image. Values are phrases for
    messages."""

    DIFFICULT = "marks of difficult objects"
    TRUNCATED = "marks of truncated objects"
    CROWD = "marks of crowds"
    MASK = "masks"
    CLASS_MAP = "maps of classes"
    JOINTS = "joints"


PIXEL_TRAITS = (Trait.MASK.value, Trait.CLASS_MAP.value)  # maps are made from them


@dataclass(frozen=True)
class AnnotatedTarget:
    """A form of sets: the form of its names, its writer, the traits that it keeps, and the first pixel's coordinate."""

    form: str
    writer: Callable[..., AbstractContextManager[PutAnnotated]]
    keeps: frozenset[Trait]
    options: tuple[str, ...] = ()
    first_pixel: int = 0


_ALL = frozenset(Trait)
_OF_VOC = _ALL - {Trait.CROWD, Trait.JOINTS}
TARGETS = {
    "lmdb": AnnotatedTarget("lmdb:PATH", partial(annotated_database, lmdb_records), frozenset({Trait.DIFFICULT})),
    "leveldb": AnnotatedTarget(
        "leveldb:PATH", partial(annotated_database, leveldb_records), frozenset({Trait.DIFFICULT})
    ),
    "voc": AnnotatedTarget(f"voc:FOLDER?set={DEFAULT_SET}", voc_folder, _OF_VOC, ("set",), first_pixel=1),
    "coco": AnnotatedTarget("coco:FILE.json", coco_file, _ALL - {Trait.TRUNCATED, Trait.CLASS_MAP}),
    "yolo": AnnotatedTarget("yolo:FOLDER", yolo_folder, frozenset()),
    # Keeps no objects, but all of their pixels.
    "maps": AnnotatedTarget("maps:FOLDER", map_folder, _ALL - {Trait.JOINTS}),
}


@dataclass
class AnnotatedReport:
    """The numbers of images and objects that were written, the errors of skipped images, and the lost information.

    `left_out` counts the objects or images for each trait that the written form can't contain.
    """

    written: int = 0
    objects: int = 0
    bad: list[str] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)


def is_annotated_target(name: str) -> bool:
    """Return whether a name states a form that is only for sets of images with objects."""
    kind, colon, _ = name.partition(":")
    return bool(colon) and kind in {*TARGETS, POSES} - {*_OF_ITEMS_TOO}


def first_pixel_of(target: str) -> int:
    """Return the coordinate of the first pixel in the files of a target."""
    return TARGETS[_target(target).kind].first_pixel


def convert_annotated(
    source: AnnotatedSet,
    target: str,
    settings: Conversion = AS_THEY_ARE,
    *,
    done: Callable[[], object] = lambda: None,
) -> AnnotatedReport:
    """Write all images to a new target such as `train_lmdb` or `voc:FOLDER`. On an error, nothing is written.

    A bad image is an error unless `skip_bad` is set. As in Caffe, a skipped image uses no number. `done` is called for
    each image.
    """
    name = _target(target)
    form, options = TARGETS[name.kind], name.options.values()
    report, names, lost = AnnotatedReport(), set[str](), Counter[Trait]()
    classes = classes_of(source)
    with form.writer(name.path, classes, *options) as put, closing(_examples(source, settings)) as examples:
        for example in good_results(examples, report.bad if settings.skip_bad else None, done):
            try:
                _put_under_its_name(example, names, put)
            except DataError as problem:
                if not settings.skip_bad:
                    raise
                report.bad.append(str(problem))
                continue
            report.written += 1
            report.objects += len(example.image.objects)
            lost.update(_traits_of(example.image))
        if not report.written:
            raise DataError(
                f"all {len(report.bad)} images are bad; the first problem is: {report.bad[0]}; mend this item "
                "to see whether the others are like it"
            )
    report.left_out = {trait.value: lost[trait] for trait in Trait if lost[trait] and trait not in form.keeps}
    return report


def _put_under_its_name(example: AnnotatedExample, names: set[str], put: PutAnnotated) -> None:
    """Write an image. Raises a `DataError` if another image has the same name."""
    if example.stem in names:
        raise DataError(
            f"{example.image.path}: two images have the name '{example.stem}'; rename one of them and its annotations"
        )
    put(example)
    names.add(example.stem)


def _target(text: str) -> TargetName:
    """Return the parsed name of a target. The values of its options must be file names."""
    name = parse_target(text, {kind: form.form for kind, form in TARGETS.items()} | {POSES: f"{POSES}:PATH"})
    form = TARGETS.get(name.kind)
    if form is None:
        raise DataError(
            f"{text}: the form needs people with joints; name a COCO file of people, as in `zoo data convert "
            "coco:person_keypoints_val2017.json poses:PATH`"
        )
    if any(option not in form.options or not value or "/" in value for option, value in name.options.items()):
        raise DataError(f"{text}: the options are invalid; write the name as {form.form}")
    return name


def _traits_of(image: AnnotatedImage) -> Iterator[Trait]:
    """Yield the traits of an image's objects, and of the image: its class map, unless its objects have one."""
    for marked in image.objects:
        yield from _traits(marked, image)
    if image.class_map is not None and image.object_map is None:
        yield Trait.CLASS_MAP


def _traits(marked: MarkedObject, image: AnnotatedImage) -> list[Trait]:
    has = {
        Trait.DIFFICULT: marked.difficult and not marked.crowd,
        Trait.TRUNCATED: marked.truncated,
        Trait.CROWD: marked.crowd,
        Trait.MASK: bool(marked.outlines or marked.runs or image.object_map),
        Trait.JOINTS: marked.has_joints,
    }
    return [trait for trait, present in has.items() if present]


def _examples(source: AnnotatedSet, settings: Conversion) -> Generator[AnnotatedExample | DataError]:
    def example(position: int, image: AnnotatedImage) -> AnnotatedExample:
        return annotated_example(position, image, source.first_pixel, settings)

    return map_items(SetImages(source), writing_order(len(source), settings.seed).tolist(), example)


def annotated_example(position: int, image: AnnotatedImage, first_pixel: int, settings: Conversion) -> AnnotatedExample:
    """Return an image with its encoded bytes. They are only encoded again if they must be."""
    data, where = image.read(), str(image.path)
    pixels = pixels_of(image, data, Color.GRAY if settings.gray else Color.COLOR)
    resized = _resized(pixels, settings, where)
    stored = next((known for known in ImageFormat if known.matches(data)), None)
    wanted = settings.encoded or stored or ImageFormat.PNG
    must_encode = settings.gray or stored is not wanted or resized is not pixels
    if must_encode:
        data = encode(resized, wanted, where)
    channels, height, width = resized.shape
    return AnnotatedExample(
        position, image, data, wanted.value, channels, height, width, first_pixel, encoded_again=must_encode
    )


def _resized(pixels: Array, settings: Conversion, where: str) -> Array:
    """Return an image in its new size. It is the same array if the size doesn't change."""
    if settings.size and settings.size != pixels.shape[1:]:
        return resize(pixels, *settings.size)
    scale = _scale(pixels.shape[1:], settings)
    if scale * min(pixels.shape[1:]) < 1:
        raise DataError(
            f"{where}: the image has {pixels.shape[1]} x {pixels.shape[2]} pixels, too few to make it smaller; "
            "raise --max-dim"
        )
    return pixels if scale == 1 else rescale(pixels, scale)


def _scale(sides: tuple[int, ...], settings: Conversion) -> float:
    """Return the scale of an image's size, with Caffe-SSD's rule in float32."""
    shorter, longer, scale = min(sides), max(sides), np.float32(1)
    if shorter < settings.min_side:
        scale = np.float32(settings.min_side) / np.float32(shorter)
    if 0 < settings.max_side < int(scale * np.float32(longer)):
        scale = np.float32(settings.max_side) / np.float32(longer)
    return float(scale)

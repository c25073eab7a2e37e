"""Reads COCO's JSON files, which describe the objects in images or contain captions. The images are in a folder."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import msgspec

from netdsl.data.sources.annotations.annotated_image import (
    AnnotatedImage,
    Edges,
    Joint,
    MarkedObject,
    Outline,
    checked_runs,
)
from netdsl.data.sources.annotations.set_files import checked_edges, checked_place, checked_size, path_inside, read_json
from netdsl.data.sources.class_names import ClassList, class_list
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.errors import DataError

LARGEST_FILE = 1 << 32  # bytes of a file
_CORNERS = 3  # corners of a polygon, at least
# Prefixes of published files, followed by the name of the folder with the images.
_PREFIXES = ("instances_", "person_keypoints_", "captions_")
MARKS = {0: Visibility.UNKNOWN, 1: Visibility.HIDDEN, 2: Visibility.SHOWN}  # the marks of joints
_NUMBERS = 3  # numbers of a joint


class CocoImage(msgspec.Struct, frozen=True, gc=False):
    """An image of the file."""

    id: int
    file_name: str
    height: int
    width: int


class CocoCategory(msgspec.Struct, frozen=True, gc=False):
    """A category of the file."""

    id: int
    name: str


class CocoRuns(msgspec.Struct, frozen=True, gc=False):
    """A mask in the file. The runs of its pixels are numbers or text."""

    size: tuple[int, int]
    counts: list[int] | str


class CocoAnnotation(msgspec.Struct, frozen=True, gc=False):
    """An object in the file. Its box is x, y, width, height.

    Its mask and its joints stay text until they are needed. They are most of a file and, once parsed, need much more
    memory than their text.
    """

    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    segmentation: msgspec.Raw = msgspec.Raw(b"null")
    keypoints: msgspec.Raw = msgspec.Raw(b"null")
    area: float | None = None
    iscrowd: int = 0
    ignore: int = 0


class CocoFile(msgspec.Struct, frozen=True, gc=False):
    """The parts of the file that describe objects."""

    images: list[CocoImage]
    categories: list[CocoCategory]
    annotations: list[CocoAnnotation] = []


class CocoInstances:
    """The objects in a file such as instances_val2017.json or person_keypoints_val2017.json.

    The images are in `images`, or else in a folder near the file. Labels number the categories from 1 in the order of
    their ids, which have gaps. A file of classes can set another order. As in Caffe-SSD, a crowd is also difficult.
    """

    first_pixel = 0

    def __init__(
        self, path: str | Path, *, images: str | Path | None = None, classes: str | Path | None = None
    ) -> None:
        self._path = Path(path)
        file = read_json(self._path, CocoFile, LARGEST_FILE)
        self._images = file.images
        if not self._images:
            raise DataError(f"{path}: the file has no images; name a COCO file whose list `images` isn't empty")
        self._folder = image_folder(self._path, file.images[0].file_name) if images is None else Path(images)
        known = class_list(classes, self._path.parent)
        categories = sorted(file.categories, key=lambda category: category.id)
        self._classes = known or ClassList.of((category.name for category in categories), str(path))
        self.classes = self._classes.names
        self._categories = {category.id: category.name for category in categories}
        self._objects: dict[int, list[tuple[int, CocoAnnotation]]] = defaultdict(list)
        for place, annotation in enumerate(file.annotations):
            self._objects[annotation.image_id].append((place, annotation))

    def __len__(self) -> int:
        return len(self._images)

    def image(self, index: int) -> AnnotatedImage:
        """Return one image with its objects."""
        image, where = self._images[index], f"{self._path}: images[{index}]"
        path = path_inside(self._folder, image.file_name, where)
        size = checked_size(image.height, image.width, where)
        objects = tuple(self._object(place, annotation, size) for place, annotation in self._objects.get(image.id, []))
        return AnnotatedImage(path.relative_to(self._folder).with_suffix("").as_posix(), path, *size, objects)

    def _object(self, place: int, annotation: CocoAnnotation, size: tuple[int, int]) -> MarkedObject:
        where = f"{self._path}: annotations[{place}]"
        name = self._categories.get(annotation.category_id)
        if name is None:
            raise DataError(
                f"{where}: category_id {annotation.category_id} isn't the id of a category; add the category to the "
                "list `categories`, or remove the annotation"
            )
        labels = self._classes.labels
        number = str(annotation.category_id)  # SSD's label map uses it in place of the name
        label = labels[number] if number in labels and name not in labels else self._classes.label(name, where)
        x, y, width, height = annotation.bbox
        masks = _masks(annotation.segmentation, where)
        return MarkedObject(
            label,
            checked_edges(Edges(x, y, x + width, y + height), where),
            difficult=bool(annotation.iscrowd or annotation.ignore),
            crowd=bool(annotation.iscrowd),
            outlines=tuple(_outline(polygon, where) for polygon in masks) if isinstance(masks, list) else (),
            runs=checked_runs(masks.size, masks.counts, *size, where) if isinstance(masks, CocoRuns) else None,
            area=annotation.area,
            joints=_joints(annotation.keypoints, where),
        )


def _masks(text: msgspec.Raw, where: str) -> list[list[float]] | CocoRuns | None:
    try:
        return msgspec.json.decode(text, type=list[list[float]] | CocoRuns | None)
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DataError(
            f"{where}: its segmentation is neither polygons nor runs of pixels: {problem}; write it as lists of "
            "x and y, or remove the annotation"
        ) from None


def _joints(text: msgspec.Raw, where: str) -> tuple[Joint, ...]:
    try:
        numbers = msgspec.json.decode(text, type=list[float] | None) or []
    except (ValueError, RecursionError) as problem:
        raise DataError(
            f"{where}: its keypoints aren't numbers: {problem}; write x, y and 0, 1 or 2 for each joint, or remove "
            "the annotation"
        ) from None
    marks = numbers[_NUMBERS - 1 :: _NUMBERS]
    if len(numbers) % _NUMBERS or any(mark not in MARKS for mark in marks):
        raise DataError(
            f"{where}: its keypoints must be x, y and 0, 1 or 2 for each joint; add the missing numbers, or remove "
            "the annotation"
        )
    places = zip(numbers[::_NUMBERS], numbers[1::_NUMBERS], marks, strict=True)
    return tuple(Joint(*checked_place(x, y, where), MARKS[int(mark)]) for x, y, mark in places)


def _outline(numbers: list[float], where: str) -> Outline:
    points = tuple(zip(numbers[::2], numbers[1::2], strict=False))
    if len(numbers) % 2 or len(points) < _CORNERS:
        raise DataError(f"{where}: a polygon has {len(numbers)} numbers; give x and y of {_CORNERS} corners or more")
    return points


def image_folder(path: Path, name: str) -> Path:
    """Return the folder that contains an image: the file's folder, or a folder near it with a usual name."""
    part = path.stem
    for prefix in _PREFIXES:
        part = part.removeprefix(prefix)
    for above in (path.parent, path.parent.parent):
        for folder in (above / part, above / "images" / part, above / "images", above):
            if path_inside(folder, name, str(path)).is_file():
                return folder
    raise DataError(
        f"{path}: its image '{name[:80]}' isn't in a folder near it; name the folder, as in {path}?images=FOLDER"
    )


class CaptionedFileImage(msgspec.Struct, frozen=True, gc=False):
    """An image of the file."""

    id: int
    file_name: str


class CaptionAnnotation(msgspec.Struct, frozen=True, gc=False):
    """A caption of the file."""

    image_id: int
    caption: str


class CaptionsFile(msgspec.Struct, frozen=True, gc=False):
    """The parts of the file that describe the contents of images."""

    images: list[CaptionedFileImage]
    annotations: list[CaptionAnnotation]


@dataclass(frozen=True)
class CaptionedImage:
    """The path of an image, and its captions."""

    path: Path
    captions: tuple[str, ...]


def read_captions(path: Path, images: Path | None = None) -> list[CaptionedImage]:
    """Return the images and captions of a file such as captions_val2017.json.

    The images are in `images`, or else in a folder near the file.
    """
    file = read_json(path, CaptionsFile, LARGEST_FILE)
    if not file.images:
        raise DataError(f"{path}: the file has no images; name a COCO file whose list `images` isn't empty")
    folder = image_folder(path, file.images[0].file_name) if images is None else images
    captions, known = defaultdict[int, list[str]](list), {image.id for image in file.images}
    for place, annotation in enumerate(file.annotations):
        if annotation.image_id not in known:
            raise DataError(
                f"{path}: annotations[{place}]: no image has the image_id {annotation.image_id}; add the image "
                "to the list `images`, or remove the annotation"
            )
        captions[annotation.image_id].append(annotation.caption)
    return [
        CaptionedImage(path_inside(folder, image.file_name, f"{path}: images[{index}]"), tuple(captions[image.id]))
        for index, image in enumerate(file.images)
    ]

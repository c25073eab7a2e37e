"""COCO's instances: one JSON file with the objects of all images, which lie in a folder."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, MarkedObject, Outline
from netdsl.data.sources.annotations.class_list import ClassList, class_list
from netdsl.data.sources.annotations.json_file import read_json
from netdsl.data.sources.annotations.run_lengths import checked_runs
from netdsl.data.sources.annotations.set_files import checked_edges, checked_size, path_inside
from netdsl.errors import DataError

LARGEST_FILE = 1 << 32  # bytes of a file
_CORNERS = 3  # of a polygon, at least
_PREFIXES = ("instances_", "captions_")  # of the published files, before the name of the images' folder


class CocoImage(msgspec.Struct, frozen=True, gc=False):
    """An image of the file."""

    id: int
    file_name: str
    height: int
    width: int


class CocoCategory(msgspec.Struct, frozen=True, gc=False):
    """A class of the file."""

    id: int
    name: str


class CocoRuns(msgspec.Struct, frozen=True, gc=False):
    """A mask of the file: the runs of its pixels as numbers or as text."""

    size: tuple[int, int]
    counts: list[int] | str


class CocoAnnotation(msgspec.Struct, frozen=True, gc=False):
    """An object of the file. Its box is x, y, width, height.

    Its mask stays text until it is asked for, since masks are most of a file and take much more memory than their text.
    """

    image_id: int
    category_id: int
    bbox: tuple[float, float, float, float]
    segmentation: msgspec.Raw = msgspec.Raw(b"null")
    area: float | None = None
    iscrowd: int = 0
    ignore: int = 0


class CocoFile(msgspec.Struct, frozen=True, gc=False):
    """The parts of the file that say where objects are."""

    images: list[CocoImage]
    categories: list[CocoCategory]
    annotations: list[CocoAnnotation] = []


class CocoInstances:
    """The objects of a file such as instances_val2017.json, of images in a folder that it is beside or that is given.

    Labels count the categories from 1 in the order of their ids, which leave numbers out; a file of classes may order
    them otherwise. A crowd is difficult too, as in Caffe-SSD.
    """

    first_pixel = 0

    def __init__(
        self, path: str | Path, *, images: str | Path | None = None, classes: str | Path | None = None
    ) -> None:
        self._path = Path(path)
        file = read_json(self._path, CocoFile, LARGEST_FILE)
        self._images = file.images
        if not self._images:
            raise DataError(f"{path}: has no images")
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
        """One image, with what the file says."""
        image, where = self._images[index], f"{self._path}: images[{index}]"
        path = path_inside(self._folder, image.file_name, where)
        size = checked_size(image.height, image.width, where)
        objects = tuple(self._object(place, annotation, size) for place, annotation in self._objects.get(image.id, []))
        return AnnotatedImage(path.relative_to(self._folder).with_suffix("").as_posix(), path, *size, objects)

    def _object(self, place: int, annotation: CocoAnnotation, size: tuple[int, int]) -> MarkedObject:
        where = f"{self._path}: annotations[{place}]"
        name = self._categories.get(annotation.category_id)
        if name is None:
            raise DataError(f"{where}: has category_id {annotation.category_id}, and no category has this id")
        labels = self._classes.labels
        number = str(annotation.category_id)  # which SSD's label map has in place of the name
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
        )


def _masks(text: msgspec.Raw, where: str) -> list[list[float]] | CocoRuns | None:
    try:
        return msgspec.json.decode(text, type=list[list[float]] | CocoRuns | None)
    except (ValueError, RecursionError) as problem:  # msgspec's own errors are ValueErrors
        raise DataError(f"{where}: its segmentation is neither polygons nor runs of pixels: {problem}") from None


def _outline(numbers: list[float], where: str) -> Outline:
    points = tuple(zip(numbers[::2], numbers[1::2], strict=False))
    if len(numbers) % 2 or len(points) < _CORNERS:
        raise DataError(
            f"{where}: a polygon has {len(numbers)} numbers; it needs x and y of {_CORNERS} corners or more"
        )
    return points


def image_folder(path: Path, name: str) -> Path:
    """The folder that has an image: the file's own, or one where such files usually have them."""
    part = path.stem
    for prefix in _PREFIXES:
        part = part.removeprefix(prefix)
    for above in (path.parent, path.parent.parent):
        for folder in (above / part, above / "images" / part, above / "images", above):
            if path_inside(folder, name, str(path)).is_file():
                return folder
    raise DataError(f"{path}: its image '{name[:80]}' isn't beside it; name the folder, {path}?images=FOLDER")

"""Writes images with marked objects as SSD's databases, COCO's file, and folders in the forms of VOC, YOLO or class
maps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import import_extra
from caffe_proto.storage import write_pieces
from caffe_proto.text.prototxt import text_of
from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, MarkedObject, Outline, RunLengths
from netdsl.data.sources.annotations.map_folder import LIST, MAPS
from netdsl.data.sources.annotations.masks import Mask, PixelMap, class_map, object_map, object_masks
from netdsl.data.sources.annotations.records import normalized_edges
from netdsl.data.sources.annotations.voc import ANNOTATIONS, CLASS_MAPS, IMAGE_SETS, JPEG_IMAGES, MAIN, OBJECT_MAPS
from netdsl.data.sources.class_names import LABEL_MAP, LABELS, write_class_names
from netdsl.data.transforms.decode import Color, Interpolation, decode, resize
from netdsl.data.types import Array
from netdsl.data.writing.databases import PutRecord
from netdsl.data.writing.image_files import ImageFormat, encode
from netdsl.data.writing.target import new_path
from netdsl.errors import DataError

Classes = Sequence[str]  # the first one is the background
NAMES_AND_SIZES = "test_name_size.txt"  # read by DetectionOutput's name_size_file
_BACKGROUND = "none_of_the_above"  # the name in SSD's label maps
_NO_LABEL = -1  # the label of an image whose objects have labels
_LONGEST_KEY = 511  # LMDB's limit
RecordWriter = Callable[[Path], AbstractContextManager[PutRecord]]
DEFAULT_SET = "trainval"
_SEGMENTATION = "Segmentation"  # the folder for lists of images with maps
_DIGITS = 3  # of a pixel; further digits are rounding errors
_IMAGES = "images"  # the folder next to that of the maps


@dataclass(frozen=True)
class AnnotatedExample:
    """An image to write: its objects in the set's own pixels, and its encoded bytes, which can have another size.

    `first_pixel` is the coordinate of the first pixel in the files from which the objects were read.
    """

    position: int
    image: AnnotatedImage
    data: bytes
    ending: str
    channels: int
    height: int
    width: int
    first_pixel: int
    encoded_again: bool

    @property
    def file_name(self) -> str:
        """The name of the image's file, without folders."""
        return f"{self.image.name.rpartition('/')[2]}.{self.ending}"

    @property
    def stem(self) -> str:
        """The name of the image, without folders and suffix."""
        return self.image.name.rpartition("/")[2]

    def objects(self) -> list[MarkedObject]:
        """Return the objects in the pixels of the written image, without information that only masks contain."""
        down, across = self.height / self.image.height, self.width / self.image.width
        return [
            replace(
                marked,
                edges=Edges(*(edge * (down if place % 2 else across) for place, edge in enumerate(marked.edges))),
                outlines=tuple(tuple((x * across, y * down) for x, y in outline) for outline in marked.outlines),
                joints=tuple(joint._replace(x=joint.x * across, y=joint.y * down) for joint in marked.joints),
                runs=None,
                area=None if marked.area is None else marked.area * down * across,
            )
            for marked in self.image.objects
        ]

    def runs(self) -> list[RunLengths | None]:
        """Return the pixels of each object in the written image."""
        return [None if mask is None else RunLengths.of(self._resized_mask(mask)) for mask in object_masks(self.image)]

    def class_map(self) -> PixelMap | None:
        """Return the class of each pixel in the written image, or `None` if no pixels are known."""
        return self._resized(class_map(self.image))

    def object_map(self) -> PixelMap | None:
        """Return the number of the object to which each pixel in the written image belongs, or `None` if no pixels are
        known."""
        return self._resized(object_map(self.image))

    def _resized_mask(self, mask: Mask) -> Mask:
        resized = self._resized(mask.astype(np.uint8))
        assert resized is not None
        return resized.astype(bool)

    def _resized(self, pixels: PixelMap | None) -> PixelMap | None:
        if pixels is None or pixels.shape == (self.height, self.width):
            return pixels
        resized: PixelMap = resize(pixels[None], self.height, self.width, Interpolation.NEAREST)[0]
        return resized


def pixels_of(image: AnnotatedImage, data: bytes, color: Color) -> Array:
    """Return the pixels of an encoded image. Their size must be that of its annotations."""
    pixels = decode(data, color, str(image.path))
    if pixels.shape[1:] != (image.height, image.width):
        raise DataError(
            f"{image.path}: the image has {pixels.shape[1]} x {pixels.shape[2]} pixels, but its annotations are "
            f"for {image.height} x {image.width}; write the image's size into the annotations, and scale their "
            "boxes"
        )
    return pixels


PutAnnotated = Callable[[AnnotatedExample], None]  # adds an image to a set that is being written


@contextmanager
def annotated_database(records: RecordWriter, path: Path, classes: Classes) -> Iterator[PutAnnotated]:
    """Yield a function that adds images to a new database.

    The database's folder also gets a label map, and the names and sizes of images. Boxes are relative to these sizes.
    Spaces in names are replaced, because they would end the names.
    """
    lines: list[str] = []
    with new_path(path) as folder:
        with records(folder) as put_record:

            def put(example: AnnotatedExample) -> None:
                put_record(_record_key(example), annotated_datum(example).SerializeToString())
                image = example.image
                lines.append(f"{'_'.join(example.stem.split())} {image.height} {image.width}\n")

            yield put
        write_pieces(folder / LABEL_MAP, [text_of(label_map(classes)).encode()])
        write_pieces(folder / NAMES_AND_SIZES, ["".join(lines).encode("utf-8", "surrogateescape")])


def annotated_datum(example: AnnotatedExample) -> pb.AnnotatedDatum:
    """Return the record of an image: its bytes, and its objects by class, numbered within each class.

    A crowd is difficult.
    """
    record = pb.AnnotatedDatum(type=pb.AnnotatedDatum.BBOX)
    record.datum.CopyFrom(pb.Datum(data=example.data, label=_NO_LABEL, encoded=True))
    if example.encoded_again:
        record.datum.channels, record.datum.height, record.datum.width = example.channels, example.height, example.width
    groups: dict[int, pb.AnnotationGroup] = {}
    image, first_pixel = example.image, example.first_pixel
    for marked in image.objects:
        group = groups.get(marked.label)
        if group is None:
            group = groups[marked.label] = record.annotation_group.add(group_label=marked.label)
        xmin, ymin, xmax, ymax = normalized_edges(marked, image, first_pixel).tolist()
        difficult = marked.difficult or marked.crowd
        box = pb.NormalizedBBox(xmin=xmin, ymin=ymin, xmax=xmax, ymax=ymax, difficult=difficult)
        group.annotation.add(instance_id=len(group.annotation), bbox=box)
    return record


def label_map(classes: Classes) -> pb.LabelMap:
    """Return the numbers and names of classes in the form of SSD's files."""
    items = [pb.LabelMapItem(name=name, label=label, display_name=name) for label, name in enumerate(classes)]
    items[0].name = _BACKGROUND
    return pb.LabelMap(item=items)


def _record_key(example: AnnotatedExample) -> bytes:
    """Return the key that convert_annoset would write: the position with eight digits, and the image's file."""
    text = f"{example.position:08}_{example.image.name}.{example.ending}"
    return text.encode("utf-8", "surrogateescape")[:_LONGEST_KEY]


@contextmanager
def coco_file(path: Path, classes: Classes) -> Iterator[PutAnnotated]:
    """Yield a function that adds images to a new COCO file and to a new folder next to it."""
    import msgspec  # building nets doesn't need msgspec

    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    with new_path(path.with_suffix("")) as folder, new_path(path) as file:
        folder.mkdir()

        def put(example: AnnotatedExample) -> None:
            number, objects = len(images) + 1, example.objects()
            needs_runs = any(marked.crowd or not marked.outlines for marked in objects)
            runs = example.runs() if needs_runs else [None] * len(objects)
            (folder / example.file_name).write_bytes(example.data)
            images.append(
                {"id": number, "file_name": example.file_name, "height": example.height, "width": example.width}
            )
            for marked, its_runs in zip(objects, runs, strict=True):
                annotations.append(
                    {"id": len(annotations) + 1, "image_id": number, **_coco_annotation(marked, its_runs)}
                )

        yield put
        categories = [{"id": label, "name": name} for label, name in enumerate(classes) if label]
        contents = {"images": images, "annotations": annotations, "categories": categories}
        file.write_bytes(msgspec.json.encode(contents))


def _coco_annotation(marked: MarkedObject, runs: RunLengths | None) -> dict[str, Any]:
    """Return an object in COCO's form.

    Its mask is polygons. If there are none, or for a crowd, its mask is runs of pixels.
    """
    left, top, right, bottom = marked.edges
    width, height = right - left, bottom - top
    segmentation: object = []
    if marked.outlines and not marked.crowd:
        segmentation = [[number for point in outline for number in point] for outline in marked.outlines]
    elif runs is not None:
        segmentation = {"size": [runs.height, runs.width], "counts": runs.counts}
    annotation = {
        "category_id": marked.label,
        "bbox": [left, top, width, height],
        "area": _area_of(marked, runs) if marked.area is None else marked.area,
        "segmentation": segmentation,
        "iscrowd": int(marked.crowd),
    }
    return annotation | _keypoints(marked) | ({"ignore": 1} if marked.difficult and not marked.crowd else {})


def _keypoints(marked: MarkedObject) -> dict[str, Any]:
    """Return the joints of a person, and the number of marked joints, in COCO's form. The result is empty without
    joints."""
    if not marked.joints:
        return {}
    from netdsl.data.sources.annotations.coco import MARKS  # needs msgspec

    marks = {visibility: mark for mark, visibility in MARKS.items()}
    numbers = [number for joint in marked.joints for number in (joint.x, joint.y, marks.get(joint.visibility, 0))]
    return {"keypoints": numbers, "num_keypoints": sum(joint.marked for joint in marked.joints)}


def _area_of(marked: MarkedObject, runs: RunLengths | None) -> float:
    """Return the area of an object's mask or, without one, of its box."""
    if runs is not None:
        return runs.area
    left, top, right, bottom = marked.edges
    return sum(map(_polygon_area, marked.outlines)) if marked.outlines else (right - left) * (bottom - top)


def _polygon_area(outline: Outline) -> float:
    following = (*outline[1:], outline[0])
    return abs(sum(x1 * y2 - x2 * y1 for (x1, y1), (x2, y2) in zip(outline, following, strict=True))) / 2


@contextmanager
def map_folder(path: Path, classes: Classes) -> Iterator[PutAnnotated]:
    """Yield a function that adds images to a new folder, which is the layer's root_folder for the paths in its list.

    The pixels of a map are gray. Their values are classes, or 255 where the class is unknown.
    """
    lines: list[str] = []
    with new_path(path) as folder:
        for part in (_IMAGES, MAPS):
            (folder / part).mkdir(parents=True)
        write_class_names(classes, folder / LABELS)

        def put(example: AnnotatedExample) -> None:
            pixels = example.class_map()
            if pixels is None:
                raise DataError(
                    f"{example.image.path}: the pixels of its objects are unknown; write voc:FOLDER or "
                    "coco:FILE.json instead"
                )
            image, labels = (
                f"{_IMAGES}/{'_'.join(example.file_name.split())}",
                f"{MAPS}/{'_'.join(example.stem.split())}.png",
            )
            (folder / image).write_bytes(example.data)
            (folder / labels).write_bytes(encode(pixels[None], ImageFormat.PNG, str(example.image.path)))
            lines.append(f"{image} {labels}\n")

        yield put
        (folder / LIST).write_text("".join(lines), encoding="utf-8", errors="surrogateescape")


@contextmanager
def yolo_folder(path: Path, classes: Classes) -> Iterator[PutAnnotated]:
    """Yield a function that adds images to a new folder, where classes are numbered without the background."""
    import yaml  # building nets doesn't need PyYAML

    from netdsl.data.sources.annotations.yolo import IMAGE_FOLDER, LABEL_FOLDER, SETTINGS

    with new_path(path) as folder:
        for part in (IMAGE_FOLDER, LABEL_FOLDER):
            (folder / part).mkdir(parents=True)
        settings = {"path": ".", "train": IMAGE_FOLDER, "val": IMAGE_FOLDER, "names": dict(enumerate(classes[1:]))}
        (folder / SETTINGS).write_text(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True), encoding="utf-8")

        def put(example: AnnotatedExample) -> None:
            (folder / IMAGE_FOLDER / example.file_name).write_bytes(example.data)
            (folder / LABEL_FOLDER / f"{example.stem}.txt").write_text("".join(_yolo_lines(example)))

        yield put


def _yolo_lines(example: AnnotatedExample) -> Iterator[str]:
    height, width = example.image.height, example.image.width
    for marked in example.image.objects:
        left, top, right, bottom = marked.edges
        parts = (left + right) / 2 / width, (top + bottom) / 2 / height, (right - left) / width, (bottom - top) / height
        yield f"{marked.label - 1} {' '.join(f'{part:.9g}' for part in parts)}\n"


@contextmanager
def voc_folder(path: Path, classes: Classes, image_set: str = DEFAULT_SET) -> Iterator[PutAnnotated]:
    """Yield a function that adds images to a new folder, and to its list named `image_set`."""
    names: list[str] = []
    segmented: list[str] = []
    with new_path(path) as folder:
        for part in (ANNOTATIONS, JPEG_IMAGES, f"{IMAGE_SETS}/{MAIN}"):
            (folder / part).mkdir(parents=True)
        write_class_names(classes, folder / LABELS)

        def put(example: AnnotatedExample) -> None:
            maps = {CLASS_MAPS: example.class_map(), OBJECT_MAPS: example.object_map()}
            (folder / JPEG_IMAGES / example.file_name).write_bytes(example.data)
            for part, pixels in maps.items():
                if pixels is not None:
                    (folder / part).mkdir(exist_ok=True)
                    (folder / part / f"{example.stem}.png").write_bytes(palette_png(pixels))
            has_maps = maps[CLASS_MAPS] is not None
            text = _voc_annotation(example, path.name, classes, segmented=has_maps)
            (folder / ANNOTATIONS / f"{example.stem}.xml").write_bytes(text)
            names.append(example.stem)
            segmented.extend([example.stem] if has_maps else [])

        yield put
        _write_list(names, folder / IMAGE_SETS / MAIN / f"{image_set}.txt")
        if segmented:
            (folder / IMAGE_SETS / _SEGMENTATION).mkdir()
            _write_list(segmented, folder / IMAGE_SETS / _SEGMENTATION / f"{image_set}.txt")


def _write_list(names: list[str], path: Path) -> None:
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8", errors="surrogateescape")


def _voc_annotation(example: AnnotatedExample, folder: str, classes: Classes, *, segmented: bool) -> bytes:
    annotation = ElementTree.Element("annotation")
    _add_element(annotation, "folder", folder)
    _add_element(annotation, "filename", example.file_name)
    size = ElementTree.SubElement(annotation, "size")
    for name, number in (("width", example.width), ("height", example.height), ("depth", example.channels)):
        _add_element(size, name, number)
    _add_element(annotation, "segmented", int(segmented))
    for marked in example.objects():
        element = ElementTree.SubElement(annotation, "object")
        _add_element(element, "name", classes[marked.label])
        _add_element(element, "pose", "Unspecified")
        _add_element(element, "truncated", int(marked.truncated))
        _add_element(element, "difficult", int(marked.difficult or marked.crowd))
        box = ElementTree.SubElement(element, "bndbox")
        for name, number in zip(("xmin", "ymin", "xmax", "ymax"), whole_pixels(marked), strict=True):
            _add_element(box, name, number)
    ElementTree.indent(annotation, "\t")
    text: bytes = ElementTree.tostring(annotation, encoding="utf-8")
    return text + b"\n"


def _add_element(parent: Any, name: str, value: str | int) -> None:
    text = str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    ElementTree.SubElement(parent, name).text = text


def whole_pixels(marked: MarkedObject) -> tuple[int, int, int, int]:
    """Return the first and last column and row of all pixels that a box touches, counted from 1.

    Programs for Pascal VOC's files only read whole numbers.
    """
    left, top, right, bottom = (round(edge, _DIGITS) for edge in marked.edges)
    return math.floor(left) + 1, math.floor(top) + 1, math.ceil(right), math.ceil(bottom)


def palette_png(pixels: PixelMap) -> bytes:
    """Return a map as a PNG whose palette has Pascal VOC's colors."""
    library = import_extra("PIL.Image", "data", "maps of pixels need Pillow")
    file = BytesIO()
    image = library.fromarray(np.ascontiguousarray(pixels))
    image.putpalette(voc_palette().ravel().tolist())
    image.save(file, "PNG")
    return file.getvalue()


def voc_palette() -> PixelMap:
    """Return Pascal VOC's 256 colors.

    The bits of a number go to red, green and blue in turn, from the highest bit of each color downwards.
    """
    numbers, colors = np.arange(256), np.zeros((256, 3), np.uint8)
    for bit in range(8):
        colors[:, bit % 3] |= ((numbers >> bit & 1) << (7 - bit // 3)).astype(np.uint8)
    return colors

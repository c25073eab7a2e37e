"""Folders as Pascal VOC's: Annotations, JPEGImages, ImageSets and, where masks are known, the two kinds of maps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from caffe_proto.errors import import_extra
from netdsl.data.sources.annotations.annotated_image import MarkedObject
from netdsl.data.sources.annotations.masks import PixelMap
from netdsl.data.sources.annotations.voc import ANNOTATIONS, CLASS_MAPS, IMAGE_SETS, IMAGES, MAIN, OBJECT_MAPS
from netdsl.data.sources.class_names import LABELS, write_class_names
from netdsl.data.writing.annotated.annotated_example import AnnotatedExample, Classes, PutAnnotated
from netdsl.data.writing.new_path import new_path

DEFAULT_SET = "trainval"
_SEGMENTATION = "Segmentation"  # the folder for lists of images with maps
_DIGITS = 3  # of a pixel, that are more than rounding


@contextmanager
def voc_folder(path: Path, classes: Classes, image_set: str = DEFAULT_SET) -> Iterator[PutAnnotated]:
    """A function that adds images to a new folder, and to the list of a name in it."""
    names: list[str] = []
    segmented: list[str] = []
    with new_path(path) as folder:
        for part in (ANNOTATIONS, IMAGES, f"{IMAGE_SETS}/{MAIN}"):
            (folder / part).mkdir(parents=True)
        write_class_names(classes, folder / LABELS)

        def put(example: AnnotatedExample) -> None:
            maps = {CLASS_MAPS: example.class_map(), OBJECT_MAPS: example.object_map()}
            (folder / IMAGES / example.file_name).write_bytes(example.data)
            for part, pixels in maps.items():
                if pixels is not None:
                    (folder / part).mkdir(exist_ok=True)
                    (folder / part / f"{example.stem}.png").write_bytes(palette_png(pixels))
            has_maps = maps[CLASS_MAPS] is not None
            text = _annotation(example, path.name, classes, segmented=has_maps)
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


def _annotation(example: AnnotatedExample, folder: str, classes: Classes, *, segmented: bool) -> bytes:
    annotation = ElementTree.Element("annotation")
    _add(annotation, "folder", folder)
    _add(annotation, "filename", example.file_name)
    size = ElementTree.SubElement(annotation, "size")
    for name, number in (("width", example.width), ("height", example.height), ("depth", example.channels)):
        _add(size, name, number)
    _add(annotation, "segmented", int(segmented))
    for marked in example.objects():
        element = ElementTree.SubElement(annotation, "object")
        _add(element, "name", classes[marked.label])
        _add(element, "pose", "Unspecified")
        _add(element, "truncated", int(marked.truncated))
        _add(element, "difficult", int(marked.difficult or marked.crowd))
        box = ElementTree.SubElement(element, "bndbox")
        for name, number in zip(("xmin", "ymin", "xmax", "ymax"), whole_pixels(marked), strict=True):
            _add(box, name, number)
    ElementTree.indent(annotation, "\t")
    text: bytes = ElementTree.tostring(annotation, encoding="utf-8")
    return text + b"\n"


def _add(parent: Any, name: str, value: str | int) -> None:
    text = str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    ElementTree.SubElement(parent, name).text = text


def whole_pixels(marked: MarkedObject) -> tuple[int, int, int, int]:
    """The first and the last pixels of a box across and down, from 1, of all pixels that it touches.

    Programs for Pascal VOC's files read whole numbers only.
    """
    left, top, right, bottom = (round(edge, _DIGITS) for edge in marked.edges)
    return math.floor(left) + 1, math.floor(top) + 1, math.ceil(right), math.ceil(bottom)


def palette_png(pixels: PixelMap) -> bytes:
    """A map as a PNG whose palette has Pascal VOC's colours."""
    library = import_extra("PIL.Image", "data", "maps of pixels need Pillow")
    file = BytesIO()
    image = library.fromarray(np.ascontiguousarray(pixels))
    image.putpalette(voc_palette().ravel().tolist())
    image.save(file, "PNG")
    return file.getvalue()


def voc_palette() -> PixelMap:
    """Pascal VOC's 256 colours: a number's bits go in turns to red, green and blue, the first to their highest bits."""
    numbers, colors = np.arange(256), np.zeros((256, 3), np.uint8)
    for bit in range(8):
        colors[:, bit % 3] |= ((numbers >> bit & 1) << (7 - bit // 3)).astype(np.uint8)
    return colors

"""Pictures of answers: images with boxes and the names of their classes, or with colored masks."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import FileError, import_extra
from caffe_proto.storage import write_pieces
from netdsl.errors import NetError
from zoo.answers.answer import Box, Boxes, ImageAnswer, Numbers, Segments
from zoo.answers.readers import DetectionReader, OutputReader, RegionReader, SegmentReader

_OPACITY = 0.5  # the opacity of masks
_LINE = 300  # image pixels, along the longer side, per pixel of line width
_TEXT = 32  # image pixels, along the longer side, per pixel of letter height
_SMALLEST = 11  # minimum height of letters, in pixels
_UNSAFE = re.compile(r"[^\w.-]+")
_COLORS = 256


class Pictures:
    """A folder for pictures of answers. Each is named after its image, and no two names are the same."""

    def __init__(self, folder: Path, reads: type[OutputReader]) -> None:
        if not issubclass(reads, (DetectionReader, RegionReader, SegmentReader)):
            raise NetError("the model predicts neither boxes nor segments, so there is nothing to draw; remove --draw")
        self._folder, self._names = folder, Counter[str]()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise FileError(
                f"{folder}: the folder can't be created: {problem.strerror}; choose another folder"
            ) from None

    def add(self, answer: ImageAnswer) -> Path | None:
        """Draw an answer with boxes or segments, if its image was kept. Returns the picture's path, or `None`."""
        if answer.pixels is None or not isinstance(answer.answer, (Boxes, Segments)):
            return None
        path = self._folder / f"{self._free_name(answer.image)}.png"
        write_pieces(path, [picture(answer)])
        return path

    def _free_name(self, image: str) -> str:
        name = _UNSAFE.sub("_", Path(image).stem).strip("._") or "image"
        self._names[name] += 1
        return name if self._names[name] == 1 else self._free_name(f"{name}-{self._names[name]}")


def picture(answer: ImageAnswer) -> bytes:
    """Return a PNG of an answer's image, with the boxes or segments that were found in it."""
    assert answer.pixels is not None and answer.placement is not None
    found, pixels = answer.answer, _rgb_pixels(answer.pixels)
    if isinstance(found, Segments):
        pixels = _with_mask(pixels, answer.placement.on_image(found.labels))
    image = _pillow().Image.fromarray(pixels)
    if isinstance(found, Boxes):
        for box in reversed(found.found):  # the highest score on top
            _draw_box(image, box)
    return _png_bytes(image)


def mask_png(labels: Numbers) -> bytes:
    """Return a PNG with a palette, in which each pixel's index is its class. It can be viewed and also read by
    programs."""
    image = _pillow().Image.fromarray(labels.astype(np.uint8), "P")
    image.putpalette(palette().ravel().tolist())
    return _png_bytes(image)


def palette() -> Numbers:
    """Return a color of red, green, blue for each label, as in PASCAL VOC. Label 0 is black."""
    labels, colors = np.arange(_COLORS), np.zeros((_COLORS, 3), np.uint8)
    for bit in range(8):
        for channel in range(3):
            colors[:, channel] |= ((labels >> (3 * bit + channel) & 1) << (7 - bit)).astype(np.uint8)
    return colors


def _with_mask(pixels: Numbers, labels: Numbers) -> Numbers:
    colors = palette()[labels % _COLORS]
    mixed = pixels * (1 - _OPACITY) + colors * _OPACITY
    return np.where((labels >= 0)[..., None], mixed, pixels).round().astype(np.uint8)


def _draw_box(image: Any, box: Box) -> None:
    draw, side = _pillow().ImageDraw.Draw(image), max(image.size)
    color = tuple(palette()[box.label % (_COLORS - 1) + 1].tolist())
    draw.rectangle(tuple(box.corners), outline=color, width=max(1, side // _LINE))
    font = _pillow().ImageFont.load_default(max(_SMALLEST, side // _TEXT))
    text = f"{box.name} {box.score:.2f}".encode("latin-1", "replace").decode("latin-1")  # the characters of the font
    *_, right, bottom = draw.textbbox((0, 0), text, font=font)
    place = (max(0, min(box.corners.left, image.width - right)), max(0, box.corners.top - bottom))
    draw.rectangle((place[0], place[1], place[0] + right, place[1] + bottom), fill=color)
    draw.text(place, text, fill="black" if sum(color) > 384 else "white", font=font)


def _rgb_pixels(image: Numbers) -> Numbers:
    """Return an image as rows of red, green, blue pixels."""
    colors = image[:3] if len(image) >= 3 else image[:1].repeat(3, axis=0)
    return np.ascontiguousarray(colors[::-1].transpose(1, 2, 0).clip(0, 255).astype(np.uint8))


def _png_bytes(image: Any) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _pillow() -> Any:
    for module in ("PIL.Image", "PIL.ImageDraw", "PIL.ImageFont"):
        import_extra(module, "data", "pictures need Pillow")
    return import_module("PIL")

"""Pictures of answers: images with boxes, points or colored masks, and pictures that a net computes."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from caffe_proto.errors import import_extra
from caffe_proto.storage import create_folder, write_pieces
from netdsl.errors import NetError
from netdsl.prediction.decoders.decoder import People, Picture, PictureKind, Points
from zoo.answers.answer import Box, Boxes, ImageAnswer, Numbers, Segments, Subjects

_OPACITY = 0.5  # the opacity of masks
_LINE = 300  # image pixels, along the longer side, per pixel of line width
_TEXT = 32  # image pixels, along the longer side, per pixel of letter height
_SMALLEST = 11  # minimum height of letters, in pixels
_UNSAFE = re.compile(r"[^\w.-]+")
_COLORS = 256
_DRAWN = (Boxes, Segments, Subjects, Points, People, Picture)
_SMALLEST_POINT, _POINT = 1, 200  # radius of a point: a minimum, and image pixels per pixel


class Pictures:
    """A folder for pictures of answers. Each is named after its image, and no two names are the same."""

    def __init__(self, folder: Path, answers: type) -> None:
        if answers not in _DRAWN:
            raise NetError(
                "the model predicts neither boxes nor segments, points or pictures, so there is nothing to draw; "
                "remove --draw, or read an output as a picture with --as picture"
            )
        self._folder, self._names = folder, Counter[str]()
        create_folder(folder)

    def add(self, answer: ImageAnswer) -> Path | None:
        """Draw an answer that shows places or is a picture, if its image was kept. Returns the file's path, or
        `None`."""
        if answer.pixels is None or not isinstance(answer.answer, _DRAWN):
            return None
        path = self._folder / f"{self._free_name(answer.image)}.png"
        write_pieces(path, [picture(answer)])
        return path

    def _free_name(self, image: str) -> str:
        name = _UNSAFE.sub("_", Path(image).stem).strip("._") or "image"
        self._names[name] += 1
        return name if self._names[name] == 1 else self._free_name(f"{name}-{self._names[name]}")


def picture(answer: ImageAnswer) -> bytes:
    """Return a PNG of an answer's image with the places that were found in it, or of the picture that is the answer."""
    assert answer.pixels is not None and answer.placement is not None
    found, pixels = answer.answer, _rgb_pixels(answer.pixels)
    if isinstance(found, Picture):
        return _png_bytes(_pillow().Image.fromarray(computed_pixels(found, pixels)))
    if isinstance(found, Segments):
        pixels = _with_mask(pixels, answer.placement.on_image(found.labels))
    image = _pillow().Image.fromarray(pixels)
    if isinstance(found, Boxes):
        for box in reversed(found.found):  # the highest score on top
            _draw_box(image, box)
            _draw_points(image, np.array(box.points).reshape(-1, 2), box.label)
    if isinstance(found, Subjects):
        for each in reversed(found.found):
            _draw_box(image, each.box)
            if isinstance(each.answer, Points):
                _draw_points(image, each.answer.points, each.box.label)
    if isinstance(found, Points):
        _draw_points(image, found.points, 0)
    if isinstance(found, People):
        for number, person in enumerate(found.points):
            _draw_limbs(image, person, found.limbs, number)
            _draw_points(image, person, number)
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
    if (
        box.corners.left > box.corners.right or box.corners.top > box.corners.bottom
    ):  # nets can compute boxes of a negative size
        return
    draw, side = _pillow().ImageDraw.Draw(image), max(image.size)
    color = tuple(palette()[box.label % (_COLORS - 1) + 1].tolist())
    draw.rectangle(tuple(box.corners), outline=color, width=max(1, side // _LINE))
    font = _pillow().ImageFont.load_default(max(_SMALLEST, side // _TEXT))
    text = f"{box.name} {box.score:.2f}".encode("latin-1", "replace").decode("latin-1")  # the characters of the font
    *_, right, bottom = draw.textbbox((0, 0), text, font=font)
    place = (max(0, min(box.corners.left, image.width - right)), max(0, box.corners.top - bottom))
    draw.rectangle((place[0], place[1], place[0] + right, place[1] + bottom), fill=color)
    draw.text(place, text, fill="black" if sum(color) > 384 else "white", font=font)


def _draw_points(image: Any, points: Numbers, label: int) -> None:
    """Draw the points that were found as dots."""
    draw, radius = _pillow().ImageDraw.Draw(image), max(_SMALLEST_POINT, max(image.size) // _POINT)
    color = tuple(palette()[label % (_COLORS - 1) + 1].tolist())
    for x, y in points[np.isfinite(points).all(1)].tolist():
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=color)


def _draw_limbs(image: Any, points: Numbers, limbs: tuple[tuple[int, int], ...], label: int) -> None:
    """Draw a line between the parts of each limb, if both were found."""
    draw, color = _pillow().ImageDraw.Draw(image), tuple(palette()[label % (_COLORS - 1) + 1].tolist())
    for pair in limbs:
        ends = points[list(pair)]
        if np.isfinite(ends).all():
            draw.line([tuple(end) for end in ends.tolist()], fill=color, width=max(1, max(image.size) // _LINE))


def computed_pixels(computed: Picture, image: Numbers) -> Numbers:
    """Return a picture that a net computes, as rows of red, green, blue pixels.

    `image` is the net's input image in the same form. It adds the colors to a picture of luma, which keeps its size,
    and the lightness to a picture of colors, which gets the image's size.
    """
    import cv2

    rows = np.ascontiguousarray(computed.values.transpose(1, 2, 0).astype(np.float32))
    if computed.kind is PictureKind.CHROMA:
        lab = cv2.cvtColor(image.astype(np.float32) / 255, cv2.COLOR_RGB2Lab)
        lab[..., 1:] = cv2.resize(rows, image.shape[1::-1], interpolation=cv2.INTER_LINEAR)
        return _bytes(cv2.cvtColor(lab, cv2.COLOR_Lab2RGB) * 255)
    if computed.kind is PictureKind.LUMA:
        resized = cv2.resize(image, rows.shape[1::-1], interpolation=cv2.INTER_CUBIC)
        colors = cv2.cvtColor(resized, cv2.COLOR_RGB2YCrCb)
        colors[..., 0] = _bytes(rows[..., 0])
        return np.asarray(cv2.cvtColor(colors, cv2.COLOR_YCrCb2RGB))
    if computed.kind is PictureKind.GRAY:
        rows = rows.repeat(3, axis=2)
    return _bytes(rows[..., ::-1] if computed.kind is PictureKind.BGR else rows)


def _bytes(values: Numbers) -> Numbers:
    """Return values as bytes, rounded and within their range."""
    return np.ascontiguousarray(values.round().clip(0, 255).astype(np.uint8))


def picture_png(computed: Picture, image: Numbers) -> bytes:
    """Return a PNG of a picture that a net computes from an image of channels, height, width."""
    return _png_bytes(_pillow().Image.fromarray(computed_pixels(computed, _rgb_pixels(image))))


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

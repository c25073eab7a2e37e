"""A contact sheet of images with their objects: boxes with the names of classes, and masks in their colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet
from netdsl.data.sources.annotations.masks import UNKNOWN, Mask, object_masks, read_map
from netdsl.data.sources.class_names import classes_of
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.writing.annotated.voc_folder import voc_palette
from netdsl.data.writing.contact_sheet import pillow, scaled, sheet_of
from netdsl.errors import DataError

_SIDE = 240  # pixels of an image's longer side on the sheet
_OPAQUE = 0.45  # of a mask
_LINE = 2  # pixels of a box's lines; difficult ones have one


def annotated_sheet(annotated: AnnotatedSet, count: int) -> bytes:
    """A PNG of so many images from all over a set, each above its name. Those that can't be read aren't on it."""
    indices = np.unique(np.linspace(0, len(annotated) - 1, min(count, len(annotated))).astype(np.int64)).tolist()
    classes, tiles, captions, problems = classes_of(annotated), list[Any](), list[str](), list[DataError]()
    for index in indices:
        try:
            image = annotated.image(index)
            tiles.append(_tile(image, classes))
            captions.append(image.name)
        except DataError as problem:
            problems.append(problem)
    if not tiles:
        raise problems[0]
    return sheet_of(tiles, captions, _SIDE)


def _tile(image: AnnotatedImage, classes: Sequence[str]) -> Any:
    """An image with its objects, drawn after it was scaled so that lines and names stay sharp."""
    library = pillow()
    pixels = decode(image.read(), Color.COLOR, str(image.path))[::-1].transpose(1, 2, 0).copy()
    if pixels.shape[:2] != (image.height, image.width):
        raise DataError(f"{image.path}: has another size than its annotations say")
    colors = voc_palette().astype(np.float64)
    for label, mask in _labelled_masks(image):
        under = pixels[mask].astype(np.float64)
        pixels[mask] = (1 - _OPAQUE) * under + _OPAQUE * colors[label % len(colors)]
    tile = scaled(library.Image.fromarray(pixels), _SIDE)
    draw = library.ImageDraw.Draw(tile)
    across, down = tile.width / image.width, tile.height / image.height
    for marked in image.objects:
        color = tuple(colors[marked.label % len(colors)].astype(int).tolist())
        left, top, right, bottom = marked.edges
        box = [round(left * across), round(top * down), round(right * across) - 1, round(bottom * down) - 1]
        if box[2] >= box[0] and box[3] >= box[1]:
            draw.rectangle(box, outline=color, width=1 if marked.difficult else _LINE)
        _write_name(draw, classes[marked.label], (max(0, box[0]), max(0, box[1])), color)
    return tile


def _labelled_masks(image: AnnotatedImage) -> list[tuple[int, Mask]]:
    """The labels and the pixels of objects or, where only the classes of pixels are known, of these."""
    masks = [
        (marked.label, mask)
        for marked, mask in zip(image.objects, object_masks(image), strict=True)
        if mask is not None
    ]
    if masks or image.class_map is None:
        return masks
    pixels = read_map(image.class_map, image)
    return [(label, pixels == label) for label in np.unique(pixels).tolist() if label not in (0, UNKNOWN)]


def _write_name(draw: Any, name: str, corner: tuple[int, int], color: tuple[int, ...]) -> None:
    draw.rectangle(draw.textbbox(corner, name), fill=color)
    draw.text(corner, name, fill="black" if sum(color) > 300 else "white")

"""A contact sheet: one picture of many small images with their labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np

from caffe_proto.errors import import_extra
from netdsl.data.sources.source import Item
from netdsl.data.types import Array
from netdsl.errors import DataError

_SMALLEST, _LARGEST = 64, 160  # pixels of an image's longer side on the sheet
_TEXT = 16  # pixels of a line of text
_GAP = 6  # pixels between images


def contact_sheet(items: Sequence[Item], classes: Sequence[str] = (), *, rgb: bool = False) -> bytes:
    """A PNG of the items' images, each above its label, or the name of its class.

    Channels are blue, green, red unless `rgb` is set.
    """
    pixels = [_pixels(item[0], rgb) for item in items]
    side = min(max(*(max(tile.shape[:2]) for tile in pixels), _SMALLEST), _LARGEST)
    tiles = [scaled(pillow().Image.fromarray(tile), side) for tile in pixels]
    return sheet_of(tiles, [label_text(item, classes) for item in items], side)


def sheet_of(tiles: Sequence[Any], captions: Sequence[str], side: int) -> bytes:
    """A PNG of Pillow's images, whose sides have at most so many pixels, each above its caption."""
    columns = math.ceil(math.sqrt(len(tiles)))
    width, height = side + _GAP, side + _GAP + _TEXT
    library = pillow()
    sheet = library.Image.new("RGB", (columns * width + _GAP, -(-len(tiles) // columns) * height + _GAP), "white")
    draw = library.ImageDraw.Draw(sheet)
    for index, (tile, caption) in enumerate(zip(tiles, captions, strict=True)):
        left, top = index % columns * width + _GAP, index // columns * height + _GAP
        sheet.paste(tile, (left, top))
        draw.text((left, top + side), _shortened(caption, draw, side), fill="black")
    file = BytesIO()
    sheet.save(file, "PNG")
    return file.getvalue()


def label_text(item: Item, classes: Sequence[str] = ()) -> str:
    """An item's label as text: its class, a number, or the shape of a label that is an array; empty without one."""
    if len(item) < 2:
        return ""
    if item[1].size != 1:
        return " x ".join(map(str, item[1].shape))
    label = item[1].item()
    return classes[int(label)] if label in range(len(classes)) else f"{label:g}"


def _shortened(text: str, draw: Any, width: int) -> str:
    """As much of a text as fits under an image."""
    fitting = text
    while fitting and draw.textlength(fitting) > width:
        text = text[:-1]
        fitting = f"{text.rstrip()}..." if text else ""
    return fitting


def _pixels(image: Array, rgb: bool) -> Array:
    """An image as rows of red, green, blue pixels; values that aren't bytes are scaled to the whole range."""
    if image.ndim != 3:
        raise DataError(f"items of shape {image.shape} aren't images, which a contact sheet shows")
    if image.dtype != np.uint8:
        values = np.nan_to_num(image.astype(np.float64), posinf=0, neginf=0)
        image = ((values - values.min()) * (255 / (np.ptp(values) or 1))).astype(np.uint8)
    colors = image[:3] if len(image) >= 3 else image[:1].repeat(3, axis=0)
    return np.ascontiguousarray((colors if rgb else colors[::-1]).transpose(1, 2, 0))


def scaled(image: Any, side: int) -> Any:
    """An image with a longer side of about `side`: a small one is enlarged by a whole factor, a large one shrunk."""
    library = pillow()
    factor = side / max(image.size)
    factor = max(1, int(factor)) if factor >= 1 else factor
    size = [max(1, round(length * factor)) for length in image.size]
    return image.resize(size, library.Image.Resampling.NEAREST if factor >= 1 else library.Image.Resampling.BOX)


def pillow() -> Any:
    """The PIL package with what draws."""
    import_extra("PIL.ImageDraw", "data", "a contact sheet needs Pillow")
    return import_module("PIL")

"""Contact sheets: pictures of many images with their labels, or with their boxes and masks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np

from caffe_proto.errors import import_extra
from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet, Joint
from netdsl.data.sources.annotations.masks import UNKNOWN, Mask, object_masks, read_map
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.source import Item
from netdsl.data.transforms.decode import Color
from netdsl.data.transforms.pose_skeleton import COCO, Visibility
from netdsl.data.types import Array
from netdsl.data.writing.annotated_sets import pixels_of, voc_palette
from netdsl.errors import DataError

_SMALLEST, _LARGEST = 64, 160  # limits in pixels of an image's longer side on the sheet
_TEXT = 16  # height in pixels of a line of text
_GAP = 6  # pixels between images
_SIDE = 240  # pixels of the longer side of an image with objects
_OPAQUE = 0.45  # opacity of a mask
_LINE = 2  # width in pixels of a box's lines; a difficult object's lines have width 1
_DOT, _LIMB = 2, "yellow"  # a joint's radius in pixels, and the color of joints and limbs


def contact_sheet(items: Sequence[Item], classes: Sequence[str] = (), *, rgb: bool = False) -> bytes:
    """Return a PNG of the items' images, each above its label or the name of its class.

    Channels are blue, green, red unless `rgb` is set.
    """
    pixels = [_pixels(item[0], rgb) for item in items]
    side = min(max(*(max(tile.shape[:2]) for tile in pixels), _SMALLEST), _LARGEST)
    tiles = [scaled(pillow().Image.fromarray(tile), side) for tile in pixels]
    return sheet_of(tiles, [label_text(item, classes) for item in items], side)


def sheet_of(tiles: Sequence[Any], captions: Sequence[str], side: int) -> bytes:
    """Return a PNG of Pillow's images, each above its caption. No image may have a side longer than `side`."""
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
    """Return an item's label as text: its class, a number, or the shape of an array. The result is empty without a
    label."""
    if len(item) < 2:
        return ""
    if item[1].size != 1:
        return " x ".join(map(str, item[1].shape))
    label = item[1].item()
    return classes[int(label)] if label in range(len(classes)) else f"{label:g}"


def _shortened(text: str, draw: Any, width: int) -> str:
    """Return the text, shortened to a width in pixels."""
    fitting = text
    while fitting and draw.textlength(fitting) > width:
        text = text[:-1]
        fitting = f"{text.rstrip()}..." if text else ""
    return fitting


def _pixels(image: Array, rgb: bool) -> Array:
    """Return an image as rows of red, green, blue pixels. Values other than bytes are scaled to the whole range."""
    if image.ndim != 3:
        raise DataError(
            f"items of shape {image.shape} aren't images, so a contact sheet can't show them; leave out --sheet"
        )
    if image.dtype != np.uint8:
        values = np.nan_to_num(image.astype(np.float64), posinf=0, neginf=0)
        image = ((values - values.min()) * (255 / (np.ptp(values) or 1))).astype(np.uint8)
    colors = image[:3] if len(image) >= 3 else image[:1].repeat(3, axis=0)
    return np.ascontiguousarray((colors if rgb else colors[::-1]).transpose(1, 2, 0))


def scaled(image: Any, side: int) -> Any:
    """Return an image with a longer side of about `side`. Small images are enlarged by a whole factor, and large ones
    shrunk."""
    library = pillow()
    factor = side / max(image.size)
    factor = max(1, int(factor)) if factor >= 1 else factor
    size = [max(1, round(length * factor)) for length in image.size]
    return image.resize(size, library.Image.Resampling.NEAREST if factor >= 1 else library.Image.Resampling.BOX)


def pillow() -> Any:
    """Return the PIL package, including its drawing functions."""
    import_extra("PIL.ImageDraw", "data", "a contact sheet needs Pillow")
    return import_module("PIL")


def annotated_sheet(annotated: AnnotatedSet, count: int) -> bytes:
    """Return a PNG of this many images, spread over the whole set, each above its name. Unreadable images are left
    out."""
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
    """Return an image with its objects. They are drawn after scaling, so that lines and names stay sharp."""
    library = pillow()
    pixels = pixels_of(image, image.read(), Color.COLOR)[::-1].transpose(1, 2, 0).copy()
    colors = voc_palette().astype(np.float64)
    for label, mask in _labeled_masks(image):
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
        _draw_joints(draw, [joint._replace(x=joint.x * across, y=joint.y * down) for joint in marked.joints])
    return tile


def _draw_joints(draw: Any, joints: Sequence[Joint]) -> None:
    """Draw visible joints as dots, hidden ones as rings and, for COCO's joints, limbs as lines."""
    if len(joints) == COCO.stored:
        made = COCO.of_stored(np.array([joints]))[0]
        for begin, end in made[np.array(COCO.limbs)].tolist():
            if max(begin[2], end[2]) <= Visibility.SHOWN:
                draw.line((*begin[:2], *end[:2]), fill=_LIMB)
    for x, y, visibility in joints:
        circle = x - _DOT, y - _DOT, x + _DOT, y + _DOT
        if visibility <= Visibility.SHOWN:
            draw.ellipse(circle, fill=_LIMB if visibility == Visibility.SHOWN else None, outline=_LIMB)


def _labeled_masks(image: AnnotatedImage) -> list[tuple[int, Mask]]:
    """Return the labels and masks of objects. If only the classes of pixels are known, return the mask of each
    class."""
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

"""Drawing a net into a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.storage import write_pieces
from netdsl.model.model import open_net
from netdsl.net.graph import Phase
from zoo.drawing.layout import Direction
from zoo.drawing.net_boxes import NetBoxes, boxes_of
from zoo.drawing.picture import Picture, picture_of
from zoo.drawing.png import is_legible, png_of
from zoo.drawing.svg import svg_of


class PictureFormat(Enum):
    """A format of pictures, by the suffix of its files."""

    SVG = ".svg"
    PNG = ".png"


@dataclass(frozen=True)
class Drawn:
    """What was drawn, in a line, and what a user should know of it."""

    text: str
    notes: tuple[str, ...]


def format_of(path: Path) -> PictureFormat:
    """The format that a file's suffix names."""
    try:
        return PictureFormat(path.suffix.lower())
    except ValueError:
        raise FileError(f"{path}: is no name of a picture; let it end in .svg or .png") from None


def draw_net(
    net: str,
    path: Path,
    picture_format: PictureFormat,
    *,
    phase: str | None,
    direction: str,
    dialect: str | None = None,
) -> Drawn:
    """Write the picture of a net to a file."""
    boxes = boxes_of(open_net(net, dialect=dialect), None if phase is None else Phase[phase])
    picture = picture_of(boxes, Direction(direction))
    notes = list[str]()
    if picture_format is PictureFormat.SVG:
        data = svg_of(picture).encode()
    else:
        data = png_of(picture)
        notes += [] if is_legible(picture) else ["the net is too long for a PNG that can be read; an .svg shows it all"]
    write_pieces(path, [data])
    return Drawn(_summary_line(boxes, picture), tuple(notes))


def _summary_line(boxes: NetBoxes, picture: Picture) -> str:
    layers = sum(1 + len(box.folded) for box in boxes.boxes)
    size = f"{picture.size.width:,.0f} x {picture.size.height:,.0f} pixels"
    name = boxes.name or "a net without a name"
    return f"{name}, phase {boxes.phase.name}: {layers:,} layers in {len(boxes.boxes):,} boxes, {size}"

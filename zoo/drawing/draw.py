"""Drawing of nets into files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from caffe_proto.errors import FileError
from caffe_proto.storage import write_pieces
from netdsl.model.model import open_net
from netdsl.net.graph import Phase
from netdsl.solver.events import Notice
from zoo.drawing.layout import Direction
from zoo.drawing.net_boxes import NetBoxes, boxes_of
from zoo.drawing.net_drawing import NetDrawing, drawing_of
from zoo.drawing.png import is_legible, png_of
from zoo.drawing.svg import svg_of
from zoo.requests.events import Listen
from zoo.requests.files import DrawRequest
from zoo.requests.request import answers


class PictureFormat(Enum):
    """A picture format, selected by the suffix of the file."""

    SVG = ".svg"
    PNG = ".png"


@dataclass(frozen=True)
class DrawnNet:
    """The written file, and a line that describes the drawing."""

    file: Path
    text: str


def format_of(path: Path) -> PictureFormat:
    """Return the format of a file, by its suffix."""
    try:
        return PictureFormat(path.suffix.lower())
    except ValueError:
        raise FileError(f"{path}: not the name of a picture; use a name that ends in .svg or .png") from None


@answers(DrawRequest)
def draw(request: DrawRequest, listen: Listen) -> DrawnNet:
    """Draw a net and write the picture to a file."""
    path = Path(request.output or f"{Path(request.net).stem}.svg")
    picture_format = format_of(path)
    phase = None if request.phase is None else Phase[request.phase]
    boxes = boxes_of(open_net(request.net, dialect=request.dialect), phase)
    drawing = drawing_of(boxes, Direction(request.direction))
    if picture_format is PictureFormat.SVG:
        data = svg_of(drawing).encode()
    else:
        data = png_of(drawing)
        if not is_legible(drawing):
            listen(Notice("the net is too long for a readable PNG; write an .svg to see all of it"))
    write_pieces(path, [data])
    return DrawnNet(path, _summary_line(boxes, drawing))


def _summary_line(boxes: NetBoxes, drawing: NetDrawing) -> str:
    layers = sum(1 + len(box.folded) for box in boxes.boxes)
    size = f"{drawing.size.width:,.0f} x {drawing.size.height:,.0f} pixels"
    name = boxes.name or "a net without a name"
    return f"{name}, phase {boxes.phase.name}: {layers:,} layers in {len(boxes.boxes):,} boxes, {size}"

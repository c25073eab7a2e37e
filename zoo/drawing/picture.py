"""The picture of a net: its boxes laid out, with a legend above; what SVG and PNG are both written of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from zoo.drawing.layer_kinds import LayerKind
from zoo.drawing.layout import Direction, Layout, Point, Size, lay_out
from zoo.drawing.look import size_of, text_width
from zoo.drawing.net_boxes import LayerBox, NetBoxes

MARGIN = 16.0
SWATCH = 11.0
_LEGEND_LINE, _LEGEND_GAP = 20.0, 22.0
_LEAST_WIDTH = 420.0


@dataclass(frozen=True)
class LegendEntry:
    """A kind of layer, and where its name stands."""

    kind: LayerKind
    left: float
    top: float


@dataclass(frozen=True)
class Picture:
    """Everything that is drawn, in pixels from the upper left corner."""

    net: NetBoxes
    sizes: tuple[Size, ...]
    layout: Layout
    legend: tuple[LegendEntry, ...]
    origin: Point  # of the layout
    size: Size

    def corner(self, box: int) -> Point:
        """The upper left corner of a box."""
        (x, y), size = self.layout.middles[box], self.sizes[box]
        return self.origin[0] + x - size.width / 2, self.origin[1] + y - size.height / 2

    def boxes(self) -> Sequence[LayerBox]:
        """The boxes of the net."""
        return self.net.boxes


def picture_of(net: NetBoxes, direction: Direction = Direction.DOWN) -> Picture:
    """Lay a net out."""
    sizes = tuple(size_of(box) for box in net.boxes)
    layout = lay_out(sizes, net.wires, direction)
    width = max(layout.size.width, _LEAST_WIDTH)
    legend = _legend(net.kinds(), width)
    above = MARGIN + (legend[-1].top + _LEGEND_LINE if legend else 0.0)
    origin = (MARGIN + (width - layout.size.width) / 2, above + 6)
    size = Size(width + 2 * MARGIN, origin[1] + layout.size.height + MARGIN)
    return Picture(net, sizes, layout, tuple(legend), origin, size)


def _legend(kinds: Sequence[LayerKind], width: float) -> list[LegendEntry]:
    """The entries of the legend, on as many lines as they need."""
    entries, left, top = list[LegendEntry](), 0.0, 0.0
    for kind in kinds:
        wide = SWATCH + 6 + text_width(kind.value)
        if left and left + wide > width:
            left, top = 0.0, top + _LEGEND_LINE
        entries.append(LegendEntry(kind, MARGIN + left, top))
        left += wide + _LEGEND_GAP
    return entries

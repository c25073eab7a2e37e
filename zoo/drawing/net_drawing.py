"""The drawing of a net, which is written as SVG or PNG: boxes in their places, their lines and colors, and a
legend."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from caffe_proto.shown_text import shown
from zoo.drawing.layout import Direction, Layout, Point, Size, lay_out
from zoo.drawing.net_boxes import LayerBox, LayerKind, NetBoxes

# In pixels: the height of a line, the padding of a box, and the width of the bar that shows the kind.
LINE, PADDING, BAR = (15.0, 9.0, 4.0)
_LONGEST = 34  # maximum number of characters in a line
_MOST_FOLDED = 6  # maximum number of folded layers listed in a box

_NARROW, _WIDE = set("iljtfrI.,:;'|!()[]/ -"), set("mwMW@%\N{MULTIPLICATION SIGN}")

MARGIN = 16.0
SWATCH = 11.0
_LEGEND_LINE, _LEGEND_GAP = 20.0, 22.0
_LEAST_WIDTH = 420.0


@dataclass(frozen=True)
class KindColors:
    """The colors of a kind of layer, on light and on dark pages."""

    light: str
    dark: str


COLORS: Mapping[LayerKind, KindColors] = {
    LayerKind.DATA: KindColors("#5b6b7f", "#94a3b8"),
    LayerKind.LEARNS_WINDOW: KindColors("#2463c9", "#6ea8fe"),
    LayerKind.LEARNS: KindColors("#7a3fc4", "#b794f6"),
    LayerKind.WINDOW: KindColors("#0f8a7e", "#4fd1c5"),
    LayerKind.EACH_VALUE: KindColors("#3f8f3a", "#7ddb76"),
    LayerKind.JOINS: KindColors("#b7791f", "#f0c265"),
    LayerKind.LOSS: KindColors("#c23b3b", "#fc8181"),
    LayerKind.MEASURE: KindColors("#b0467f", "#f39ac7"),
    LayerKind.USER_CODE: KindColors("#55606e", "#cbd5e1"),
    LayerKind.OTHER: KindColors("#6b7280", "#a8b0bd"),
    LayerKind.UNKNOWN: KindColors("#111827", "#f3f4f6"),
}


@dataclass(frozen=True)
class TextLine:
    """A line of a box and its style: title, detail or shape."""

    text: str
    style: str


def lines_of(box: LayerBox) -> list[TextLine]:
    """Return the lines of a box: its name, its type with settings, the folded layers, and the shapes."""
    named = ((box.name or "(no name)", "name"), (box.type or "(no type)", "type"))
    lines = [TextLine(_shortened(text), style) for text, style in named]
    lines += [TextLine(_shortened(text), "detail") for text in _settings_in_pairs(box.settings)]
    folded = box.folded[:_MOST_FOLDED]
    lines += [TextLine(_shortened(f"+ {text}"), "detail") for text in folded]
    if len(box.folded) > len(folded):
        lines.append(TextLine(f"+ {len(box.folded) - len(folded)} more", "detail"))
    return lines + [TextLine(_shortened(top), "shape") for top in box.tops]


def _size_of(box: LayerBox) -> Size:
    """Return the size of a box that fits its lines."""
    lines = lines_of(box)
    width = max(_text_width(line.text, bold=line.style == "name") for line in lines)
    return Size(max(72.0, width + 2 * PADDING + BAR), len(lines) * LINE + 2 * PADDING - 4)


def _text_width(text: str, *, bold: bool = False) -> float:
    """Return an upper estimate of the width of a text in pixels, for all common fonts."""
    return sum(map(_character_width, text)) * (12.5 if bold else 11)


def _character_width(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.1
    if character in _NARROW:
        return 0.4
    if character in _WIDE:
        return 0.95
    return 0.72 if character.isupper() else 0.62


def _settings_in_pairs(settings: Sequence[str]) -> list[str]:
    """Return settings as lines, with two short settings on a line."""
    lines: list[str] = []
    for setting in settings:
        if lines and len(lines[-1]) + len(setting) <= _LONGEST * 0.8:
            lines[-1] += f" · {setting}"
        else:
            lines.append(setting)
    return lines


def _shortened(text: str) -> str:
    text = shown(text)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


@dataclass(frozen=True)
class LegendEntry:
    """A kind of layer, with the position of its name."""

    kind: LayerKind
    left: float
    top: float


@dataclass(frozen=True)
class NetDrawing:
    """All parts of the drawing, in pixels from the upper left corner."""

    net: NetBoxes
    sizes: tuple[Size, ...]
    layout: Layout
    legend: tuple[LegendEntry, ...]
    origin: Point  # position of the layout
    size: Size

    def corner(self, box: int) -> Point:
        """Return the upper left corner of a box."""
        (x, y), size = self.layout.middles[box], self.sizes[box]
        return self.origin[0] + x - size.width / 2, self.origin[1] + y - size.height / 2

    def boxes(self) -> Sequence[LayerBox]:
        """Return the boxes of the net."""
        return self.net.boxes


def drawing_of(net: NetBoxes, direction: Direction = Direction.DOWN) -> NetDrawing:
    """Lay out a net."""
    sizes = tuple(_size_of(box) for box in net.boxes)
    layout = lay_out(sizes, net.wires, direction)
    width = max(layout.size.width, _LEAST_WIDTH)
    legend = _legend_entries(net.kinds(), width)
    above = MARGIN + (legend[-1].top + _LEGEND_LINE if legend else 0.0)
    origin = (MARGIN + (width - layout.size.width) / 2, above + 6)
    size = Size(width + 2 * MARGIN, origin[1] + layout.size.height + MARGIN)
    return NetDrawing(net, sizes, layout, tuple(legend), origin, size)


def _legend_entries(kinds: Sequence[LayerKind], width: float) -> list[LegendEntry]:
    """Return the legend's entries, on several lines if needed."""
    entries, left, top = list[LegendEntry](), 0.0, 0.0
    for kind in kinds:
        wide = SWATCH + 6 + _text_width(kind.value)
        if left and left + wide > width:
            left, top = 0.0, top + _LEGEND_LINE
        entries.append(LegendEntry(kind, MARGIN + left, top))
        left += wide + _LEGEND_GAP
    return entries

"""The picture of a net as a PNG, drawn by matplotlib."""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

from caffe_proto.errors import import_extra
from zoo.drawing.layout import Point, Route
from zoo.drawing.net_boxes import LayerBox
from zoo.drawing.net_drawing import BAR, COLORS, LINE, MARGIN, PADDING, SWATCH, NetDrawing, lines_of

_SCALE = 1.5  # pixels of the file per pixel of the picture
_LARGEST = 30_000  # pixels; matplotlib's limit is 2^16
_SMALLEST_SCALE = 0.75  # minimum scale at which texts are readable
_INK, _FAINT, _LINE_COLOR, _BODY = "#1b2430", "#566173", "#9aa4b2", "#f7f8fa"
_POINT = 0.72  # font size per pixel of the drawing, at 100 dots per inch
_STYLES = {"name": (12, "bold"), "type": (11, "normal"), "detail": (11, "normal"), "shape": (11, "normal")}


def _scale_of(drawing: NetDrawing) -> float:
    """Return the number of the file's pixels per pixel of the picture."""
    return min(_SCALE, _LARGEST / max(drawing.size.width, drawing.size.height))


def is_legible(drawing: NetDrawing) -> bool:
    """Return whether texts are readable in a PNG, whose size is limited."""
    return _scale_of(drawing) >= _SMALLEST_SCALE


def png_of(drawing: NetDrawing) -> bytes:
    """Return the picture as the bytes of a PNG."""
    import_extra("matplotlib", "logs", "drawing a net as PNG needs matplotlib; an SVG needs no extra package")
    width, height = drawing.size.width, drawing.size.height
    figure = import_module("matplotlib.figure").Figure(figsize=(width / 100, height / 100))
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    _Painter(drawing, axes).paint()
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=100 * _scale_of(drawing))
    return file.getvalue()


class _Painter:
    """Paints a picture on axes whose units are pixels."""

    def __init__(self, drawing: NetDrawing, axes: Any) -> None:
        self._drawing, self._axes = drawing, axes
        self._patches, self._paths = import_module("matplotlib.patches"), import_module("matplotlib.path")

    def paint(self) -> None:
        """Paint everything."""
        for entry in self._drawing.legend:
            left, top = entry.left, MARGIN + entry.top
            self._draw_rectangle((left, top), SWATCH, SWATCH, COLORS[entry.kind].light)
            self._write_text(entry.kind.value, "type", (left + SWATCH + 6, top + SWATCH / 2), _FAINT)
        for route in self._drawing.layout.routes:
            self._paint_route(route)
        for index, box in enumerate(self._drawing.net.boxes):
            self._paint_box(box, index)

    def _paint_box(self, box: LayerBox, index: int) -> None:
        (left, top), size = self._drawing.corner(index), self._drawing.sizes[index]
        color = COLORS[box.kind].light
        self._draw_rectangle((left, top), size.width, size.height, _BODY, edgecolor=color, linewidth=0.6)
        self._draw_rectangle((left, top), BAR, size.height, color)
        for number, line in enumerate(lines_of(box)):
            ink = {"name": _INK, "type": color}.get(line.style, _FAINT)
            middle = top + PADDING + (number + 0.5) * LINE - 2
            self._write_text(line.text, line.style, (left + BAR + PADDING, middle), ink)

    def _paint_route(self, route: Route) -> None:
        direction, (start, leave, enter, end) = self._drawing.layout.direction, route.points
        points = [self._point_on_page(point) for point in (start, leave, *route.controls(direction), enter, end)]
        kind = self._paths.Path
        codes = [kind.MOVETO, kind.LINETO, kind.CURVE4, kind.CURVE4, kind.CURVE4, kind.LINETO]
        path = kind(points, codes)
        self._axes.add_patch(self._patches.PathPatch(path, facecolor="none", edgecolor=_LINE_COLOR, linewidth=1))
        if route.arrow:
            corners = [self._point_on_page(corner) for corner in route.arrow_head(direction)]
            self._axes.add_patch(self._patches.Polygon(corners, color=_LINE_COLOR, linewidth=0))

    def _point_on_page(self, point: Point) -> Point:
        return point[0] + self._drawing.origin[0], point[1] + self._drawing.origin[1]

    def _draw_rectangle(self, corner: Point, width: float, height: float, color: str, **look: Any) -> None:
        look = {"linewidth": 0, **look}
        self._axes.add_patch(self._patches.Rectangle(corner, width, height, facecolor=color, **look))

    def _write_text(self, text: str, style: str, place: Point, color: str) -> None:
        size, weight = _STYLES[style]
        look = {"fontsize": size * _POINT, "fontweight": weight, "color": color}
        self._axes.text(*place, text, va="center", ha="left", parse_math=False, **look)

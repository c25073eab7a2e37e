"""The picture of a net as an SVG, in colors for light and dark pages."""

from __future__ import annotations

from xml.sax.saxutils import escape

from caffe_proto.shown_text import shown
from zoo.drawing.layout import Direction, Point, Route
from zoo.drawing.net_boxes import LayerBox, LayerKind
from zoo.drawing.net_drawing import (
    BAR,
    COLORS,
    LINE,
    MARGIN,
    PADDING,
    SWATCH,
    LegendEntry,
    NetDrawing,
    lines_of,
)

_BASELINE = 11.0  # baseline of a text line


def svg_of(drawing: NetDrawing) -> str:
    """Return the picture as a complete SVG document, which can also be embedded in a page."""
    width, height = (_number_text(length) for length in (drawing.size.width, drawing.size.height))
    name = _xml_text(f"net {drawing.net.name or 'without a name'}, phase {drawing.net.phase.name}")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="net-drawing" role="img" aria-label="{name}: '
        f'{len(drawing.net.boxes)} boxes" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{name}</title><style>{_STYLE}</style>",
        f'<rect class="nd-page" width="{width}" height="{height}"/>',
        *(_legend_svg(entry) for entry in drawing.legend),
        f'<g transform="translate({_number_text(drawing.origin[0])} {_number_text(drawing.origin[1])})">',
        *(_route_svg(route, drawing.layout.direction) for route in drawing.layout.routes),
        "</g>",
        *(_box_svg(box, drawing, index) for index, box in enumerate(drawing.net.boxes)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _route_svg(route: Route, direction: Direction) -> str:
    start, leave, enter, end = map(_point_text, route.points)
    first, second = map(_point_text, route.controls(direction))
    path = f'<path class="nd-wire" d="M{start}L{leave}C{first} {second} {enter}L{end}"/>'
    if not route.arrow:
        return path
    corners = " ".join(map(_point_text, route.arrow_head(direction)))
    return f'{path}<polygon class="nd-head" points="{corners}"/>'


def _box_svg(box: LayerBox, drawing: NetDrawing, index: int) -> str:
    (x, y), size = drawing.corner(index), drawing.sizes[index]
    whole = "\n".join([f"{box.name} ({box.type})", *box.settings, *(f"+ {text}" for text in box.folded), *box.tops])
    lines = [
        f'<text class="nd-{line.style}" x="{_number_text(BAR + PADDING)}" '
        f'y="{_number_text(PADDING + number * LINE + _BASELINE - 2)}">{_xml_text(line.text)}</text>'
        for number, line in enumerate(lines_of(box))
    ]
    return (
        f'<g class="nd-box nd-{_class_of_kind(box.kind)}" transform="translate({_number_text(x)} {_number_text(y)})">'
        f"<title>{_xml_text(whole, keep_lines=True)}</title>"
        f'<rect class="nd-body" rx="5" width="{_number_text(size.width)}" height="{_number_text(size.height)}"/>'
        f'<rect class="nd-bar" rx="2" width="{_number_text(BAR)}" height="{_number_text(size.height)}"/>'
        f"{''.join(lines)}</g>"
    )


def _legend_svg(entry: LegendEntry) -> str:
    left, top = _number_text(entry.left), _number_text(MARGIN + entry.top)
    return (
        f'<g class="nd-{_class_of_kind(entry.kind)}" transform="translate({left} {top})">'
        f'<rect class="nd-swatch" rx="2" width="{_number_text(SWATCH)}" height="{_number_text(SWATCH)}"/>'
        f'<text class="nd-type" x="{_number_text(SWATCH + 6)}" y="{_number_text(SWATCH - 1)}">'
        f"{_xml_text(entry.kind.value)}</text>"
        "</g>"
    )


def _class_of_kind(kind: LayerKind) -> str:
    return kind.name.lower().replace("_", "-")


def _point_text(point: Point) -> str:
    return f"{_number_text(point[0])} {_number_text(point[1])}"


def _number_text(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _xml_text(text: str, *, keep_lines: bool = False) -> str:
    """Return a text as XML, without characters that XML forbids."""
    lines = text.split("\n") if keep_lines else [text]
    return "\n".join(escape(shown(line), {'"': "&quot;"}) for line in lines)


def _kind_style(kind: LayerKind, color: str) -> str:
    return f".nd-{_class_of_kind(kind)}{{--nd-kind:{color}}}"


_STYLE = "".join(
    [
        ".net-drawing{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;",
        "--nd-page:#fff;--nd-body:#f7f8fa;--nd-line:#9aa4b2;--nd-ink:#1b2430;--nd-faint:#566173}",
        *(_kind_style(kind, colors.light) for kind, colors in COLORS.items()),
        ".nd-page{fill:var(--nd-page)}.nd-body{fill:var(--nd-body);stroke:var(--nd-kind);stroke-opacity:.45}",
        ".nd-bar,.nd-swatch{fill:var(--nd-kind)}.nd-unknown .nd-body{stroke-dasharray:4 3;stroke-opacity:1}",
        ".nd-wire{fill:none;stroke:var(--nd-line);stroke-width:1.4}.nd-head{fill:var(--nd-line)}",
        ".net-drawing text{fill:var(--nd-faint);font-size:11px}.net-drawing .nd-name{fill:var(--nd-ink);",
        "font-size:12px;font-weight:600}.net-drawing .nd-shape{font-variant-numeric:tabular-nums}",
        ".nd-box .nd-type{fill:var(--nd-kind);font-weight:500}.nd-box:hover .nd-body{stroke-opacity:1}",
        "@media screen and (prefers-color-scheme:dark){.net-drawing{--nd-page:#12161c;--nd-body:#1b212a;",
        "--nd-line:#66707f;--nd-ink:#eef2f7;--nd-faint:#a3aebd}",
        *(_kind_style(kind, colors.dark) for kind, colors in COLORS.items()),
        "}",
    ]
)

"""Line charts for pages and notebooks. Points are stored relative to the plot, so that it can have any width."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape

_UNITS = 1000  # size of a plot in SVG units
_MOST_DOTS = 40  # maximum number of points in a curve that shows a dot for each
_MOST_POINTS = 800  # maximum number of points of a curve
_MOST_ROWS = 12  # maximum number of rows in a chart's table
_LEAST_HEIGHT = 0.1  # minimum height of an axis, relative to the range of accuracies or to the largest value
_MARGIN = 0.05  # margin of an axis, above and below the curves
_COLORS = ("#2f6fb3", "#e07a3f", "#4f9d69", "#8a6fc4", "#c0392b", "#4fa7b5", "#d9a520", "#8c6d4f")
_SVG_WIDTH, _SVG_HEIGHT, _LINE_HEIGHT = 480, 200, 15  # size of a chart as SVG, and height of each row of the legend
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 20, 24, 34  # space for the labels around a plot

Curve = Mapping[float, float]


@dataclass(frozen=True)
class Tick:
    """A number on an axis, with its position in percent."""

    at: float
    text: str


@dataclass(frozen=True)
class Dot:
    """A point of a curve, with its tooltip."""

    x: float
    y: float
    text: str


@dataclass(frozen=True)
class Line:
    """A curve: its name, its SVG path, and dots if there are few points."""

    name: str
    path: str
    dots: tuple[Dot, ...]
    last: str


@dataclass(frozen=True)
class Chart:
    """A chart with the same axes for all its curves. `summary` describes it in words."""

    title: str
    x_name: str
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    summary: str
    rows: tuple[tuple[str, ...], ...]  # a table of some points, with the place and the value of each curve


def less_is_better(output: str) -> bool:
    """Return whether an output of a test net is a loss, judging by its name. `loss3/top-1` isn't a loss."""
    name = output.rpartition("/")[2].lower()
    return "loss" in name or "error" in name


def loss_chart(title: str, curves: Mapping[str, Curve], x_name: str = "iteration") -> Chart | None:
    """Return a chart of losses, with an axis from 0. Returns `None` if there are no finite values."""
    return _chart_within(title, curves, x_name, limits_of_losses(_finite_values(curves)))


def score_chart(title: str, curves: Mapping[str, Curve], x_name: str = "iteration") -> Chart | None:
    """Return a chart of scores, such as accuracies. Returns `None` if there are no finite values."""
    return _chart_within(title, curves, x_name, limits_of_scores(_finite_values(curves)))


def limits_of_scores(values: Iterable[float]) -> tuple[float, float] | None:
    """Return the limits of an axis for accuracies and other scores. The axis is high enough that small changes don't
    look like a collapse.

    If all values are between 0 and 1, the axis stays in that range.
    """
    numbers = [value for value in values if math.isfinite(value)]
    if not numbers:
        return None
    low, high = min(numbers), max(numbers)
    is_share = low >= 0 and high <= 1
    least = _LEAST_HEIGHT * (1.0 if is_share else max(abs(low), abs(high)))
    missing = max(0.0, least - (high - low)) / 2
    low, high = low - missing, high + missing
    if is_share:  # shifts the part beyond a limit to the other side
        shift = max(0.0, -low) - max(0.0, high - 1)
        low, high = low + shift, high + shift
    margin = _MARGIN * (high - low)
    return (low - margin, high + margin) if margin else None


def limits_of_losses(values: Iterable[float]) -> tuple[float, float] | None:
    """Return the limits of an axis for losses and distances. It starts at 0, so that heights show absolute values."""
    numbers = [value for value in values if math.isfinite(value)]
    if not numbers or min(numbers) < 0 or not max(numbers):
        return None
    return 0.0, max(numbers) * (1 + _MARGIN)


def _finite_values(curves: Mapping[str, Curve]) -> list[float]:
    return [value for curve in curves.values() for value in curve.values() if math.isfinite(value)]


def _chart_within(
    title: str, curves: Mapping[str, Curve], x_name: str, limits: tuple[float, float] | None
) -> Chart | None:
    curves = {name: curve for name, curve in curves.items() if _finite_values({name: curve})}
    if not curves:
        return None
    values, places = _finite_values(curves), [x for curve in curves.values() for x in curve]
    low, high = limits or (min(values), max(values))
    if low == high:
        low, high = low - 1, high + 1
    first, last = min(places), max(places)
    x_scale, y_scale = AxisScale(first, last if last > first else first + 1), AxisScale(low, high)
    lines = tuple(_line_of_curve(name, curve, x_name, x_scale, y_scale) for name, curve in curves.items())
    y_ticks = tuple(Tick(100 - 100 * y_scale(value), number(value)) for value in nice_numbers(low, high))
    x_ticks = tuple(Tick(100 * x_scale(value), number(value)) for value in nice_numbers(first, x_scale.high))
    return Chart(title, x_name, lines, x_ticks, y_ticks, _summary_in_words(title, curves, x_name), _table_rows(curves))


@dataclass(frozen=True)
class AxisScale:
    """An axis from one number to another."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)


def _line_of_curve(name: str, curve: Curve, x_name: str, x_scale: AxisScale, y_scale: AxisScale) -> Line:
    points = sorted(curve.items())
    step = -(-len(points) // _MOST_POINTS)
    points = [*points[:-1:step], points[-1]]
    commands, draws = list[str](), False
    for x, y in points:
        if math.isfinite(y):
            commands.append(f"{'L' if draws else 'M'}{_UNITS * x_scale(x):.1f} {_UNITS * (1 - y_scale(y)):.1f}")
        draws = math.isfinite(y)
    finite = [(x, y) for x, y in points if math.isfinite(y)]
    dots = tuple(
        Dot(_UNITS * x_scale(x), _UNITS * (1 - y_scale(y)), f"{name}: {number(y)} at {x_name} {number(x)}")
        for x, y in finite
    )
    return Line(name, "".join(commands), dots if len(dots) <= _MOST_DOTS else (), number(finite[-1][1]))


def svg_of(chart: Chart) -> str:
    """Return a chart as an SVG that needs no style sheet, so that notebooks can display it. Names are escaped."""
    width, height = _SVG_WIDTH - _LEFT - _RIGHT, _SVG_HEIGHT - _TOP - _BOTTOM
    whole_height = _SVG_HEIGHT + _LINE_HEIGHT * len(chart.lines)
    plot = f'<g transform="translate({_LEFT} {_TOP}) scale({width / _UNITS} {height / _UNITS})">'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_SVG_WIDTH}" height="{whole_height}" role="img" '
        f'aria-label="{escape(chart.summary)}" font-family="sans-serif" font-size="11" fill="currentColor">',
        _svg_text(_LEFT, _TOP - 10, chart.title, "start", weight="bold"),
        _svg_text(_LEFT + width, _SVG_HEIGHT - 4, chart.x_name, "end"),
    ]
    for tick in chart.y_ticks:
        parts.append(_svg_text(_LEFT - 6, _TOP + tick.at / 100 * height + 4, tick.text, "end"))
        parts.append(f'{plot}<path d="M0 {10 * tick.at}H{_UNITS}" {_stroke("#8886")}/></g>')
    parts += [_svg_text(_LEFT + tick.at / 100 * width, _SVG_HEIGHT - 18, tick.text, "middle") for tick in chart.x_ticks]
    for number_of_line, line in enumerate(chart.lines):
        color = _COLORS[number_of_line % len(_COLORS)]
        parts.append(f'{plot}<path d="{line.path}" {_stroke(color, 2)}/></g>')
        place = _SVG_HEIGHT + _LINE_HEIGHT * (number_of_line + 1) - 4
        parts.append(_svg_text(_LEFT, place, f"{line.name} {line.last}", "start", fill=color))
    return "".join([*parts, "</svg>"])


def _svg_text(x: float, y: float, text: str, anchor: str, *, weight: str = "normal", fill: str = "currentColor") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-weight="{weight}" fill="{fill}">{escape(text)}</text>'


def _stroke(color: str, width: int = 1) -> str:
    return f'stroke="{color}" stroke-width="{width}" fill="none" vector-effect="non-scaling-stroke"'


def _summary_in_words(title: str, curves: Mapping[str, Curve], x_name: str) -> str:
    parts = []
    for name, curve in curves.items():
        points = [(x, y) for x, y in sorted(curve.items()) if math.isfinite(y)]
        (first, begin), (last, end) = points[0], points[-1]
        span = f"at {x_name} {number(first)}" + (f" to {number(end)} at {number(last)}" if last > first else "")
        parts.append(f"{name} {number(begin)} {span}")
    return f"{title}: {'; '.join(parts)}"


def _table_rows(curves: Mapping[str, Curve]) -> tuple[tuple[str, ...], ...]:
    places = sorted({x for curve in curves.values() for x in curve})
    step = -(-len(places) // _MOST_ROWS)
    chosen = sorted({*places[::step], places[-1]})
    return tuple((number(x), *(number(curve[x]) if x in curve else "" for curve in curves.values())) for x in chosen)


def nice_numbers(low: float, high: float, most: int = 5) -> list[float]:
    """Return evenly spaced round numbers between two numbers. Steps are 1, 2, 2.5 or 5 times a power of ten."""
    rough = (high - low) / most
    if not rough > 0 or not math.isfinite(rough):
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(count * step, 12) for count in range(first, last + 1)] or [low]


def number(value: float) -> str:
    """Return a number in a readable form."""
    if value != value or math.isinf(value):
        return "not finite"
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:,.4g}" if abs(value) < 1e5 else f"{value:,.0f}"

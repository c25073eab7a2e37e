"""Line charts for pages and notebooks, and the limits of their axes."""

from __future__ import annotations

import math
from math import inf, nan
from xml.etree import ElementTree

import pytest

from netdsl.charts import (
    Chart,
    limits_of_losses,
    limits_of_scores,
    loss_chart,
    nice_numbers,
    number,
    score_chart,
    svg_of,
)


def drawn(chart: Chart | None) -> Chart:
    assert chart is not None
    return chart


def test_a_curve_runs_from_left_to_right_and_rises_with_its_values() -> None:
    chart = drawn(loss_chart("Loss", {"train": {0: 2.0, 10: 1.0, 20: 0.0}}))
    (line,) = chart.lines
    assert line.path == "M0.0 47.6L500.0 523.8L1000.0 1000.0"  # the axis begins at 0, with some room above
    assert [dot.text for dot in line.dots][1] == "train: 1 at iteration 10"
    assert [(tick.at, tick.text) for tick in chart.x_ticks][::2] == [(0.0, "0"), (50.0, "10"), (100.0, "20")]
    assert chart.summary == "Loss: train 2 at iteration 0 to 0 at 20"


def test_values_that_are_not_finite_leave_a_gap() -> None:
    chart = drawn(loss_chart("Loss", {"train": {0: 2.0, 1: math.nan, 2: math.inf, 3: 1.0, 4: 1.0}}))
    assert chart.lines[0].path.count("M") == 2 and "nan" not in chart.lines[0].path
    assert ("2", "not finite") in chart.rows
    assert loss_chart("Loss", {"train": {0: math.nan}, "test": {}}) is None


def test_small_changes_of_a_score_look_small() -> None:
    chart = drawn(score_chart("Test", {"accuracy": {0: 0.983, 10: 0.9805}}))
    heights = [dot.y for dot in chart.lines[0].dots]
    assert abs(heights[0] - heights[1]) < 50


def test_many_points_are_thinned_out_and_the_last_one_stays() -> None:
    chart = drawn(loss_chart("Loss", {"train": {x: 1 + x % 2 for x in range(10_001)}}))
    assert chart.lines[0].path.count("L") < 900 and chart.lines[0].path.split("L")[-1].startswith("1000.0 ")
    assert not chart.lines[0].dots and len(chart.rows) <= 14 and chart.rows[-1][0] == "10,000"


def test_curves_of_different_places_share_the_axis_and_the_table() -> None:
    chart = drawn(loss_chart("Loss", {"one": {0: 1.0}, "other": {10: 2.0}}))
    assert chart.rows == (("0", "1", ""), ("10", "", "2"))
    assert [line.path.split()[0] for line in chart.lines] == ["M0.0", "M1000.0"]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 60, [0, 20, 40, 60]), (0.9, 1.0, [0.9, 0.92, 0.94, 0.96, 0.98, 1.0]), (5, 5, [5]), (0, math.inf, [0])],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert nice_numbers(low, high) == pytest.approx(expected)


def test_numbers_are_printed_readably() -> None:
    assert [number(value) for value in (0.0, 1234567.0, 0.96666, 1234.567, 1e-7)] == [
        "0", "1,234,567", "0.9667", "1,235", "1e-07"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "low", "high"),
    [
        ([0.9805, 0.983], 0.9, 1.0),  # a tenth of what accuracies can be, although there is no room above
        ([0.0, 0.004], 0.0, 0.1),
        ([0.5], 0.45, 0.55),
        ([0.1, 0.98], 0.1, 0.98),
        ([0.9, nan, inf, 0.91], 0.855, 0.955),
        ([71.9, 72.0], 68.35, 75.55),  # a tenth of the largest
        ([10.0, 72.0], 10.0, 72.0),
        ([-3.0, -2.9], -3.1, -2.8),
    ],
)
def test_a_small_change_of_an_accuracy_looks_small(values: list[float], low: float, high: float) -> None:
    margin = 0.05 * (high - low)
    assert limits_of_scores(values) == pytest.approx((low - margin, high + margin))


def test_losses_are_drawn_from_zero() -> None:
    assert limits_of_losses([2.301, nan, 2.0, inf]) == pytest.approx((0, 2.301 * 1.05))


@pytest.mark.parametrize("values", [[], [nan], [inf], [0.0, 0.0], [-1.0, 2.0]])
def test_what_has_no_such_limits_is_left_to_matplotlib(values: list[float]) -> None:
    assert limits_of_losses(values) is None


def test_values_that_are_all_nothing_have_no_limits() -> None:
    assert limits_of_scores([]) is limits_of_scores([nan]) is None
    assert limits_of_scores([0.0]) == pytest.approx((-0.005, 0.105))


def test_a_chart_as_svg_has_its_curves_and_escaped_names() -> None:
    chart = drawn(loss_chart("Loss", {"<script>": {0: 2.0, 10: 1.0}, "test": {0: 1.0, 10: 0.5}}))
    svg = svg_of(chart)
    assert "<script>" not in svg and "&lt;script&gt; 1" in svg
    root = ElementTree.fromstring(svg)
    paths = [path.get("d") for path in root.iter("{http://www.w3.org/2000/svg}path")]
    assert [line.path for line in chart.lines] == paths[-2:]
    assert {"Loss", "iteration", "test 0.5"} <= {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}

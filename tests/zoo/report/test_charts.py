"""Line charts for a page."""

from __future__ import annotations

import math

import pytest

from zoo.report.charts import Chart, loss_chart, nice_numbers, number, score_chart


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

"""The layout of boxes and wires."""

from __future__ import annotations

import time
from itertools import combinations

import pytest

from zoo.drawing.layout import Direction, Layout, Size, lay_out
from zoo.drawing.net_boxes import BlobWire

SIZE = Size(100, 40)


def wires(*pairs: tuple[int, tuple[int, ...]]) -> list[BlobWire]:
    return [BlobWire(f"blob{index}", source, targets) for index, (source, targets) in enumerate(pairs)]


def boxes_touch(layout: Layout, sizes: list[Size]) -> bool:
    """Return whether any two boxes overlap."""
    return any(
        abs(x - u) < (one.width + other.width) / 2 and abs(y - v) < (one.height + other.height) / 2
        for ((x, y), one), ((u, v), other) in combinations(zip(layout.middles, sizes, strict=True), 2)
    )


def test_a_chain_is_straight_and_goes_down() -> None:
    layout = lay_out([SIZE] * 4, wires((0, (1,)), (1, (2,)), (2, (3,))))
    across, along = zip(*layout.middles, strict=True)
    assert len(set(across)) == 1 and list(along) == sorted(set(along))
    assert (layout.size.width, layout.size.height) == (100, 4 * 40 + 3 * 34)


def test_branches_are_next_to_each_other_and_join_in_the_middle() -> None:
    sizes = [SIZE, SIZE, Size(160, 60), SIZE, SIZE]
    layout = lay_out(sizes, wires((0, (1, 2, 3)), (1, (4,)), (2, (4,)), (3, (4,))))
    left, middle, right = layout.middles[1:4]
    assert left[1] == middle[1] == right[1] and left[0] < middle[0] < right[0]
    assert layout.middles[4][0] == pytest.approx(layout.middles[0][0], abs=20)
    assert not boxes_touch(layout, sizes)


def test_wires_do_not_cross_unnecessarily() -> None:
    layout = lay_out([SIZE] * 4, wires((0, (3,)), (1, (2,))))  # in the net's own order they would cross
    (a, _), (b, _), (c, _), (d, _) = layout.middles
    assert (a < b) == (d < c)


def test_a_long_wire_goes_around_the_boxes_that_it_passes() -> None:
    layout = lay_out([SIZE] * 6, wires((0, (1, 5)), (1, (2,)), (2, (3,)), (3, (4,)), (4, (5,))))
    passed = [point for route in layout.routes for point in route.points[1:3]]
    for x, y in layout.middles[1:5]:
        assert not any(abs(u - x) < 50 and abs(v - y) < 20 for u, v in passed)
    straight = {point[0] for route in layout.routes if not route.arrow for point in route.points[2:]}
    assert len(straight) == 1


def test_a_blob_with_many_readers_has_one_trunk() -> None:
    chain = [(index, (index + 1,)) for index in range(1, 30)]
    layout = lay_out([SIZE] * 31, wires((0, tuple(range(1, 31))), *chain))
    assert len(layout.routes) < 4 * 31
    assert sum(route.arrow for route in layout.routes) == 30 + 29


def test_a_late_data_layer_is_near_its_reader() -> None:
    layout = lay_out([SIZE] * 5, wires((0, (1,)), (1, (2,)), (2, (4,)), (3, (4,))))
    assert layout.middles[3][1] == layout.middles[2][1]


def test_a_drawing_to_the_right_is_the_downward_one_turned() -> None:
    pairs = wires((0, (1, 2)), (1, (3,)), (2, (3,)))
    down = lay_out([Size(40, 100)] * 4, pairs)
    right = lay_out([Size(100, 40)] * 4, pairs, Direction.RIGHT)
    assert [(y, x) for x, y in down.middles] == list(right.middles)
    assert right.routes[0].arrow_head(Direction.RIGHT)[1][0] < right.routes[0].points[3][0]


def test_empty_nets_and_boxes_without_wires_are_laid_out() -> None:
    assert lay_out([], []).size == Size(0, 0)
    assert not boxes_touch(lay_out([SIZE] * 3, []), [SIZE] * 3)


def test_thousands_of_boxes_take_seconds() -> None:
    """The net resembles a DenseNet: chains, and blobs that are read far below. The time must grow linearly with its
    size."""
    chain = [(index, (index + 1, *([index + 40] if index % 3 == 0 and index < 2900 else []))) for index in range(2999)]
    began = time.process_time()
    layout = lay_out([SIZE] * 3000, wires(*chain))
    assert len(layout.middles) == 3000
    assert time.process_time() - began < 60

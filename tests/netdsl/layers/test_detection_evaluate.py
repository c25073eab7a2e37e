"""DetectionEvaluate on scenes small enough to judge by eye."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer
from tests.nets import layer_of

LEFT, RIGHT, NEAR_LEFT = (0.1, 0.1, 0.4, 0.5), (0.6, 0.1, 0.9, 0.5), (0.12, 0.1, 0.42, 0.5)


def made(settings: str = "", detections: int = 4, objects: int = 3) -> Layer:
    text = f"""bottom: "d" bottom: "o" top: "y"
        detection_evaluate_param {{ num_classes: 4 {settings} }}"""
    shapes = [(1, 1, detections, 7), (1, 1, objects, 8)]
    return layer_of("DetectionEvaluate", text, *shapes)


def judged(found: list, objects: list, settings: str = "") -> list[list[float]]:
    tensors = [torch.tensor(rows, dtype=torch.float64)[None, None] for rows in (found, objects)]
    layer = made(settings, len(found), len(objects))
    top = layer(*tensors)
    assert top.shape[:2] == (1, 1)
    return top[0, 0].tolist()


def test_a_row_for_each_class_and_each_detection():
    objects = [(0, 1, 0, *LEFT, 0), (0, 2, 0, *RIGHT, 0), (1, 1, 0, *LEFT, 1)]
    found = [
        (0, 1, 0.25, *LEFT),  # the object has a better detection
        (0, 1, 0.5, *NEAR_LEFT),
        (0, 2, 0.75, *LEFT),  # no object is here
        (0, 3, 0.125, *LEFT),  # no object of this label
        (1, 1, 0.5, *LEFT),  # difficult: counts neither as right nor as wrong
        (2, 1, 0.5, *LEFT),  # an image without objects
    ]
    assert judged(found, objects, "evaluate_difficult_gt: false") == [
        [-1, 1, 1, -1, -1],
        [-1, 2, 1, -1, -1],
        [-1, 3, 0, -1, -1],
        [0, 1, 0.5, 1, 0],
        [0, 1, 0.25, 0, 1],
        [0, 2, 0.75, 0, 1],
        [0, 3, 0.125, 0, 1],
        [1, 1, 0.5, 0, 0],
        [2, 1, 0.5, 0, 1],
    ]
    assert judged(found, objects)[0] == [-1, 1, 2, -1, -1]
    assert judged(found, objects)[7] == [1, 1, 0.5, 1, 0]
    assert judged(found, objects, "overlap_threshold: 0.3")[5] == [0, 2, 0.75, 0, 1]
    assert judged(found, objects, "overlap_threshold: 0.99")[3:5] == [[0, 1, 0.5, 0, 1], [0, 1, 0.25, 1, 0]]


def test_the_compared_boxes_are_reported():
    objects = [(0, 1, 0, *LEFT, 0), (1, 2, 1, *RIGHT, 1), (-1, *[0] * 7), (0, 2, 0, *LEFT, 0)]
    found = [(0, 1, 0.25, *NEAR_LEFT), (1, *[-1] * 6)]
    bottoms = [np.array(rows, np.float64)[None, None] for rows in (found, objects)]
    detected, there = made("evaluate_difficult_gt: false", 2, 4).boxes(bottoms)
    assert (detected.image.tolist(), detected.label.tolist(), detected.score.tolist()) == ([0], [1], [0.25])
    assert detected.box.tolist() == [list(NEAR_LEFT)]
    assert (there.image.tolist(), there.label.tolist(), there.difficult.tolist()) == ([0, 1], [1, 2], [False, True])
    assert there.box.tolist() == [list(LEFT), list(RIGHT)]
    assert not made("", 2, 4).boxes(bottoms)[1].difficult.any()


def test_rows_can_state_that_there_is_no_detection():
    nothing = [(0, *[-1] * 6), (1, *[-1] * 6)]
    after_the_end = [(0, 1, 0, *LEFT, 0), (-1, *[0] * 7), (0, 2, 0, *LEFT, 0)]
    assert judged(nothing, after_the_end) == [[-1, 1, 1, -1, -1], [-1, 2, 0, -1, -1], [-1, 3, 0, -1, -1]]


def test_image_sizes_are_read_in_order_and_repeat(tmp_path):
    (tmp_path / "sizes.txt").write_text("first 10 10\nsecond 400 400\n")
    layer = made(f'name_size_file: "{tmp_path}/sizes.txt" overlap_threshold: 0.79', 1, 1)
    # covers 0.75 of the object, but 4 x 5 of its 5 x 5 small pixels
    found = torch.tensor([[[(0, 1, 0.5, 0.1, 0.1, 0.4, 0.5)]]])
    objects = torch.tensor([[[(0, 1, 0, 0.1, 0.1, 0.5, 0.5, 0)]]])
    assert [layer(found, objects)[0, 0, 3, 3].item() for _ in range(3)] == [1, 0, 1]


def test_problems_are_reported():
    with pytest.raises(NetError, match="label 0"):
        judged([(0, 0, 1, *LEFT)], [(0, 1, 0, *LEFT, 0)])
    with pytest.raises(NetError, match="overlap_threshold"):
        made("overlap_threshold: 0")
    with pytest.raises(NetError, match="resize_param"):
        made("resize_param { resize_mode: FIT_SMALL_SIZE }")
    with pytest.raises(NetError, match="name_size_file"):
        judged([(0, 1, 1, *LEFT)], [(0, 1, 0, *LEFT, 0)], 'name_size_file: "no-such-file"')
    with pytest.raises(ShapeError, match="rows, 7"):
        made().top_shapes([(1, 1, 4, 6), (1, 1, 4, 8)])


def test_the_shape_is_known_before_a_run():
    assert made().top_shapes([(1, 1, 5, 7), (1, 1, 2, 8)]) == [(1, 1, 3 + 5, 5)]

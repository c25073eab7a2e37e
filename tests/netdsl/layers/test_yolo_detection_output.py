"""YoloDetectionOutput and Yolov3DetectionOutput compared with loops that keep the best boxes one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError, ShapeError
from netdsl.layers.yolo_detection_output import YoloDetectionOutput
from tests.nets import layer_of

BIASES = [1.0, 2.0, 3.0, 1.5]


def biases(values):
    return " ".join(f"biases: {each}" for each in values)


def second(settings="", *shapes) -> YoloDetectionOutput:
    text = f"""top: 't' yolo_detection_output_param {{ num_classes: 3 num_box: 2 confidence_threshold: 0.25
        nms_threshold: 0.25 {biases(BIASES)} {settings} }}"""
    return YoloDetectionOutput(from_text(text, pb.LayerParameter, lenient=True), shapes or [(2, 16, 4, 4)])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def iou(a, b):
    width = min(a[0] + a[2] / 2, b[0] + b[2] / 2) - max(a[0] - a[2] / 2, b[0] - b[2] / 2)
    height = min(a[1] + a[3] / 2, b[1] + b[3] / 2) - max(a[1] - a[3] / 2, b[1] - b[3] / 2)
    shared = width * height if width > 0 and height > 0 else 0
    return shared / (a[2] * a[3] + b[2] * b[3] - shared)


def rows(found, threshold):
    """Return the boxes that remain of each item's (score, label, box), best first."""
    top = []
    for item, boxes in enumerate(found):
        kept = []
        for score, label, box in sorted(boxes, key=lambda each: -each[0]):
            if all(iou(box, better) < threshold for better in kept):
                kept.append(box)
                x, y, w, h = box
                top.append([item, label, score, x - w / 2, y - h / 2, x + w / 2, y + h / 2])
    return np.array(top)[None, None]


@pytest.mark.parametrize("sides", [[4], [4, 3]])
def test_the_second_version_equals_loops(sides):
    draw = np.random.default_rng(1)
    grids = [draw.normal(scale=1.5, size=(2, 16, side, side)) for side in sides]
    found = [[], []]
    for grid, side in zip(grids, sides, strict=True):
        for b, n, j, i in np.ndindex(2, 2, side, side):
            x = grid[b].reshape(2, 8, side, side)[n, :, j, i]
            classes = np.exp(x[5:]) / np.exp(x[5:]).sum()
            score = sigmoid(x[4]) * classes.max()
            size = np.exp(x[2]) * BIASES[2 * n] / side, np.exp(x[3]) * BIASES[2 * n + 1] / side
            if score >= 0.25:
                box = ((i + sigmoid(x[0])) / side, (j + sigmoid(x[1])) / side, *size)
                found[b].append((score, classes.argmax() + 1, box))
    wanted = rows(found, 0.25)
    assert len(wanted[0, 0]) < sum(map(len, found))
    top = second("", *(grid.shape for grid in grids))(*map(torch.from_numpy, grids))
    np.testing.assert_allclose(top, wanted)


@pytest.mark.parametrize("gaussian", [False, True])
def test_the_third_version_equals_loops(gaussian):
    draw, size = np.random.default_rng(2), 8 if gaussian else 4
    channels = 2 * (size + 1 + 3)
    grids = [draw.normal(size=(2, channels, 3, 4)), draw.normal(size=(2, channels, 6, 8))]
    anchors, cell = [10.0, 14, 23, 27, 60, 50, 81, 82], [32, 16]
    text = f"""top: 't' yolov3_detection_output_param {{ num_classes: 3 num_box: 2 confidence_threshold: 0.25
        nms_threshold: 0.5 {biases(anchors)} mask: 2 mask: 3 mask: 0 mask: 1 anchors_scale: 32 anchors_scale: 16
        gaussian_box: {str(gaussian).lower()} }}"""
    found = [[], []]
    for g, grid in enumerate(grids):
        height, width = grid.shape[2:]
        for b, a, j, i in np.ndindex(2, 2, height, width):
            x, n = grid[b].reshape(2, -1, height, width)[a, :, j, i], [[2, 3], [0, 1]][g][a]
            place = x[:size:2] if gaussian else x[:size]
            sure = sigmoid(x[size]) * ((4 - sigmoid(x[1:8:2]).sum()) / 4 if gaussian else 1)
            box = [(i + sigmoid(place[0])) / width, (j + sigmoid(place[1])) / height]
            box += [np.exp(place[2]) * anchors[2 * n] / (width * cell[g])]
            box += [np.exp(place[3]) * anchors[2 * n + 1] / (height * cell[g])]
            for c, score in enumerate(sigmoid(x[size + 1 :]) * sure):
                if score > 0.25:
                    found[b].append((score, c + 1, box))
    wanted = rows(found, 0.5)
    assert len(wanted[0, 0]) < sum(map(len, found))
    layer = layer_of("Yolov3DetectionOutput", text, *[grid.shape for grid in grids])
    np.testing.assert_allclose(layer(*map(torch.from_numpy, grids)), wanted)


def test_an_overlap_equal_to_the_threshold_is_suppressed():
    grid = torch.full((1, 16, 2, 2), -50.0)
    layer = second("nms_threshold: 0.5", grid.shape)
    raw = grid.view(2, 8, 2, 2)
    raw[:, :2] = 0
    raw[:, 4, 0, 0] = torch.tensor([3.0, 2.0])
    raw[0, 2:4, 0, 0] = torch.log(torch.tensor([1 / 1.0, 1 / 2.0]))  # 0.5 x 0.5
    raw[1, 2:4, 0, 0] = torch.log(torch.tensor([1 / 3.0, 0.5 / 1.5]))  # half of it
    assert layer(grid).shape == (1, 1, 1, 7)


def test_images_without_detections_have_an_empty_row():
    top = second()(torch.full((2, 16, 4, 4), -9.0))
    assert top.tolist() == [[[[0, *[-1] * 6], [1, *[-1] * 6]]]]


def test_the_shape_before_a_run_is_a_guess():
    assert second().top_shapes([(2, 16, 4, 4)]) == [(1, 1, 1, 7)]


def test_wrong_settings_are_refused():
    with pytest.raises(NetError, match="4 biases"):
        second("biases: 1")
    with pytest.raises(ShapeError, match="square with 16 channels"):
        second("", (1, 16, 4, 4), (1, 16, 4, 5))
    with pytest.raises(NetError, match="num_classes"):
        layer_of("YoloDetectionOutput", "", (1, 16, 4, 4))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("", "num_classes"),
        ("num_classes: 3 mask_group_num: 2", "must be 1, the number of bottoms"),
        (
            "num_classes: 3 mask_group_num: 1 anchors_scale: 8 num_box: 1 mask: 1 biases: 1 biases: 2",
            "mask must name 1 anchors",
        ),
        ("num_classes: 3 mask_group_num: 1 anchors_scale: 8 num_box: 1 mask: 0 biases: 1 biases: 2", "have 8 channels"),
    ],
)
def test_wrong_settings_of_the_third_version_are_refused(settings, says):
    text = f"top: 't' yolov3_detection_output_param {{ {settings} }}"
    with pytest.raises(NetError, match=says):
        layer_of("Yolov3DetectionOutput", text, (1, 9, 2, 2))

"""DetectNet's Python layers, which netdsl replaces without running their code: small grids and lists, counted by
hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from caffe_proto.text.scalars import quote
from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer
from netdsl.layers._detectnet import group_rectangles
from tests.nets import layer_of

MODULES = {"ClusterGroundtruth": "clustering", "ClusterDetections": "clustering"}


def made(layer: str, settings: str, *shapes: tuple[int, ...], tops: int = 1) -> Layer:
    module = f"caffe.layers.detectnet.{MODULES.get(layer, 'mean_ap')}"
    text = f"python_param {{ module: '{module}' layer: '{layer}' param_str: {quote(settings)} }}"
    return layer_of("Python", text, *shapes, tops=tops, train=False)


def grid(classes: int = 1) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two images of 4 x 3 cells that no object covers."""
    return torch.zeros(2, classes, 3, 4), torch.zeros(2, 4, 3, 4)


def test_objects_are_listed_once():
    covered, corners = grid(classes=2)
    layer = made("ClusterGroundtruth", "64, 48, 16, 2", covered.shape, corners.shape, tops=2)
    covered[1, 0, 1, 2] = covered[1, 0, 1, 3] = covered[1, 1, 2, 0] = 1
    corners[1, :, 1, 2] = torch.tensor([-4.0, -2, 20, 18])
    corners[1, :, 1, 3] = torch.tensor([-20.0, -2, 4, 18])  # the same box, seen from the next cell
    corners[1, :, 2, 0] = torch.tensor([1.0, 2, 3, 4.3])
    first, second = layer(covered, corners)
    assert layer.top_shapes([covered.shape, corners.shape]) == [tuple(first.shape)] * 2 == [(2, 50, 5)] * 2
    assert first[1, :2].tolist() == [[28, 14, 52, 34, 0], [0] * 5]
    assert second[1, 0].tolist() == [1, 34, 3, float(np.float16(36.3)), 0]  # in half precision, as in DetectNet
    assert not first[0].any()


def test_cells_that_agree_make_a_detection():
    covered, corners = grid()
    layer = made("ClusterDetections", "64, 48, 16, 0.5, 1, 0.1, 10", covered.shape, corners.shape)
    for column, score, left in ((0, 0.9, 3.4), (1, 0.5, -11.6), (2, 0.4, 0), (3, 1, -30)):
        covered[0, 0, 0, column] = score
        corners[0, :, 0, column] = torch.tensor([left, 5, left + 20, 35])
    (top,) = layer(covered, corners)  # 3.4 and 4.4 agree; 0.4 covers too little; no box agrees with the last
    assert top[0, :2].tolist() == [[4, 5, 24, 35, float(np.float16(math.log(2)))], [0] * 5]
    low = made("ClusterDetections", "64, 48, 16, 0.5, 1, 0.1, 31", covered.shape, corners.shape)
    assert not low(covered, corners)[0].any()


def test_rectangles_are_grouped_as_opencv_does():
    boxes = [[10, 10, 20, 20], [80, 80, 9, 9], [11, 10, 21, 20], [13, 12, 20, 20], [11, 10, 20, 20], [12, 12, 8, 8],
             [12, 12, 8, 8]]  # fmt: skip
    rectangles, counts = group_rectangles(np.array(boxes), 1, 0.2)
    # means of 11.25, 10.5 and 20.25, with halves rounded to the even number
    assert rectangles.tolist() == [[11, 10, 20, 20]]
    assert counts.tolist() == [4]  # two boxes are within the four, and one is alone
    assert group_rectangles(np.array(boxes), 1, 0.0)[1].tolist() == [2]
    assert group_rectangles(np.array(boxes), 0, 0.2)[1].tolist() == [1] * 7


@pytest.mark.parametrize(("inner", "outer", "left"), [(2, 2, 1), (3, 3, 2), (3, 4, 1), (4, 3, 2)])
def test_a_group_inside_a_larger_one_is_removed(inner, outer, left):
    boxes = np.array([[10, 10, 8, 8]] * inner + [[0, 0, 30, 30]] * outer)
    assert len(group_rectangles(boxes, 1, 0.1)[0]) == left


def test_rectangles_similar_to_one_of_a_group_belong_to_it():
    boxes = np.array([[0, 0, 20, 20], [8, 0, 20, 20], [4, 0, 20, 20]])
    assert group_rectangles(boxes, 2, 0.2)[1].tolist() == [3]


def test_detections_are_scored():
    objects, detections = torch.zeros(1, 6, 5), torch.zeros(1, 4, 5)
    objects[0, 1, :4] = torch.tensor([0.0, 0, 10, 10])
    objects[0, 3, :4] = torch.tensor([50.0, 50, 60, 60])
    for row, box in enumerate([[0, 0, 10, 6], [0, 0, 10, 8], [0, 1, 10, 10]]):
        detections[0, row] = torch.tensor([*box, 0.5])
    layer = made("ScoreDetections", "", objects.shape, detections.shape)
    top = layer(objects, detections)
    wanted = [[0, 0, 10, 8, 1], [0, 0, 10, 6, 2], [0, 1, 10, 10, 2], [50, 50, 60, 60, 3], [0] * 5]
    assert top[0, :5].tolist() == wanted
    assert layer.top_shapes([objects.shape, detections.shape]) == [tuple(top.shape)]
    means = made("mAP", "64, 48, 16", top.shape, tops=3)(top)
    assert [each.tolist() for each in means] == [[pytest.approx(100 / 3 / 2)], [pytest.approx(100 / 3)], [50]]
    nothing = made("mAP", "", top.shape, tops=3)(torch.zeros_like(top))
    assert [each.tolist() for each in nothing] == [[0], [0], [0]]


def test_a_detection_is_one_object() -> None:
    objects = torch.tensor([[[0.0, 0, 10, 10, 0], [0, 0, 10, 9, 0]]])
    top = made("ScoreDetections", "", (1, 2, 5), (1, 1, 5))(objects, torch.tensor([[[0.0, 0, 10, 10, 0.5]]]))
    assert top[0, :3].tolist() == [[0, 0, 10, 10, 1], [0, 0, 10, 9, 3], [0] * 5]


def test_no_list_is_longer_than_50():
    covered, corners = torch.ones(1, 1, 8, 8), torch.rand(1, 4, 8, 8)
    (top,) = made("ClusterGroundtruth", "128, 128, 16", covered.shape, corners.shape)(covered, corners)
    assert top.shape == (1, 50, 5)
    assert top[0, :, 2].all()


@pytest.mark.parametrize(
    ("layer", "settings", "tops", "says"),
    [
        ("ClusterGroundtruth", "64, 48", 1, "width, height, stride, classes"),
        ("ClusterGroundtruth", "64, 48, x, 1", 1, "isn't a list of numbers"),
        ("ClusterGroundtruth", "__import__('os').getcwd()", 1, "isn't a list of numbers"),
        ("ClusterGroundtruth", "64, 48, 0, 1", 1, "smaller than a cell of 0"),
        ("ClusterGroundtruth", "64, 48, 16, 2", 1, "2 classes"),
        ("ClusterDetections", "64, 48, 16, 0.6, 3, 0.02, 22, 3", 3, "3 channels"),
    ],
)
def test_data_that_do_not_fit_are_refused(layer, settings, tops, says):
    with pytest.raises(NetError, match=says):
        made(layer, settings, (2, 1, 3, 4), (2, 4, 3, 4), tops=tops)


def test_boxes_have_five_numbers():
    with pytest.raises(ShapeError, match="images, boxes, 5"):
        made("ScoreDetections", "", (2, 50, 5), (2, 50, 4))
    with pytest.raises(ShapeError, match="images, boxes, 5"):
        made("mAP", "", (2, 50, 4), tops=3)

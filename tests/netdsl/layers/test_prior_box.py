"""PriorBox and PriorBoxClustered compared with plain loops over places and sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError
from netdsl.layers import LAYERS
from tests.nets import layer_of


def boxes(
    settings: str, image: tuple[int, int] = (50, 60), height: int = 2, width: int = 3, kind: str = "PriorBox"
) -> np.ndarray:
    text = f'bottom: "x" bottom: "image" top: "y" prior_box_param {{ {settings} }}'
    shapes = [(2, 4, height, width), (2, 3, *image)]
    layer = layer_of(kind, text, *shapes)
    top = layer(*(torch.zeros(shape) for shape in shapes))
    assert layer.top_shapes(shapes) == [tuple(top.shape)] == [(1, 2, top.numel() // 2)]
    return top.numpy().reshape(2, -1, 4)


def plain(sides: list[tuple[float, float]], image: tuple[int, int], step: tuple[float, float], offset: float) -> list:
    """Return every box of a map of 2 x 3, from the sides of a place's boxes."""
    found = []
    for y in range(2):
        for x in range(3):
            for width, height in sides:
                cx, cy = (x + offset) * step[1], (y + offset) * step[0]
                found.append([(cx - width / 2) / image[1], (cy - height / 2) / image[0],
                              (cx + width / 2) / image[1], (cy + height / 2) / image[0]])  # fmt: skip
    return found


def test_sizes_and_ratios_are_in_caffes_order():
    got, variances = boxes("min_size: 20 min_size: 30.9 max_size: 40 max_size: 50 aspect_ratio: 2 aspect_ratio: 1")
    sides = []
    for least, most in ((20, 40), (30, 50)):  # Caffe truncates them to integers
        root = math.sqrt(least * most)
        sides += [(least, least), (root, root), (least * 2**0.5, least / 2**0.5), (least / 2**0.5, least * 2**0.5)]
    np.testing.assert_allclose(got, plain(sides, (50, 60), (25, 20), 0.5), atol=1e-6)
    assert (variances == np.float32(0.1)).all()


@pytest.mark.parametrize("first", ["x", "y"])
def test_the_larger_square_comes_last_in_corner_order(first):
    settings = f"min_size: 60 min_size: 20 max_size: 90 max_size: 40 aspect_ratio: 2 yx_order: {first == 'y'}".lower()
    got, _ = boxes(settings + " tf: true")
    sides = [(60 - 0.1 * 60, 60 - 0.1 * 50)]  # 0.05 of the image is cut off on every side
    for least, most in ((60, 90), (20, 40)):
        root = math.sqrt(least * most)
        sides += [(least, least)] * (least != 60)
        sides += [(least * 2**0.5, least / 2**0.5), (least / 2**0.5, least * 2**0.5), (root, root)]
    wanted = np.array(plain(sides, (50, 60), (25, 20), 0.5))
    np.testing.assert_allclose(got, wanted if first == "x" else wanted[:, [1, 0, 3, 2]], atol=1e-6)


def test_image_step_offset_variances_and_flip_can_be_set():
    settings = "min_size: 8 aspect_ratio: 0.5 flip: false img_size: 40 step_h: 7 step_w: 5 offset: 0.3"
    got, variances = boxes(settings + " variance: 0.1 variance: 0.2 variance: 0.3 variance: 0.4")
    root = math.sqrt(0.5)
    np.testing.assert_allclose(got, plain([(8, 8), (8 * root, 8 / root)], (40, 40), (7, 5), 0.3), atol=1e-6)
    np.testing.assert_allclose(variances, [[0.1, 0.2, 0.3, 0.4]] * len(got))


def test_boxes_are_clipped_and_repeated_ratios_dropped():
    clipped, _ = boxes("min_size: 55 aspect_ratio: 3 aspect_ratio: 0.33333334 clip: true")
    assert clipped.min() == 0
    assert clipped.max() == 1
    assert len(clipped) == 2 * 3 * 3  # a ratio that is another's inverse counts once


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("", "min_size"),
        ("min_size: 3 min_size: -1", "min_size"),
        ("min_size: 3 max_size: 3", "more than its min_size"),
        ("min_size: 3 min_size: 4 max_size: 9", "1 max_size for 2 min_size"),
        ("min_size: 3 variance: 1 variance: 2", "one or four"),
        ("min_size: 3 img_size: 4 img_h: 5", "or remove the other two"),
        ("min_size: 3 step_h: 5", "step_h or step_w isn't positive"),
        ("min_size: 3 faceboxes: true", "faceboxes"),
        ("min_size: 3 width: 4", "width"),
    ],
)
def test_wrong_settings_are_refused(settings, says):
    with pytest.raises(NetError, match=says):
        boxes(settings)


def test_clustered_boxes_have_the_given_sides():
    got, variances = boxes(
        "width: 9.4 width: 77 height: 15 height: 60.5 step: 16 variance: 0.2", kind="PriorBoxClustered"
    )
    np.testing.assert_allclose(got, plain([(9.4, 15), (77, 60.5)], (50, 60), (16, 16), 0.5), atol=1e-6)
    assert (variances == np.float32(0.2)).all()
    squares, _ = boxes("width: 9", kind="PriorBoxClustered")
    np.testing.assert_allclose(squares, plain([(9, 9)], (50, 60), (25, 20), 0.5), atol=1e-6)


@pytest.mark.parametrize("settings", ["", "width: 3 width: 4 height: 5", "width: 0"])
def test_clustered_boxes_need_positive_sides(settings):
    with pytest.raises(NetError, match="give one of each for each box, above 0"):
        boxes(settings, kind="PriorBoxClustered")


def test_the_image_may_be_missing_only_if_its_size_is_given():
    message = from_text('type: "PriorBox" bottom: "x" top: "y" prior_box_param { min_size: 3 }', pb.LayerParameter)
    with pytest.raises(NetError, match="img_size"):
        LAYERS["PriorBox"](message, [(1, 2, 3, 4)])
    message.prior_box_param.img_size = 12
    assert LAYERS["PriorBox"](message, [(1, 2, 3, 4)]).top_shapes([(1, 2, 3, 4)]) == [(1, 2, 48)]

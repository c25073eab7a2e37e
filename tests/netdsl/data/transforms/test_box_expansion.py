from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.boxes import WHOLE, Canvas, Expansion
from netdsl.errors import DataError

IMAGE = np.arange(1, 25, dtype=np.uint8).reshape(2, 4, 3)
FILL = np.array([100, 110, 120], np.uint8)


def expansion(ratio: float = 4, prob: float = 0.5, **settings: object) -> Expansion:
    return Expansion(pb.TransformationParameter(expand_param={"max_expand_ratio": ratio, "prob": prob}, **settings))


def test_canvases_are_as_often_as_large_and_as_far_around_the_image_as_the_rule_says() -> None:
    made, random = expansion(prob=0.25), np.random.default_rng(0)
    canvases = [made(100, 200, random) for _ in range(8000)]
    larger = [each for each in canvases if each != Canvas(100, 200)]
    assert abs(len(larger) / len(canvases) - 0.25) < 0.02
    heights = np.array([each.height for each in larger])
    np.testing.assert_allclose(np.quantile(heights, [0.1, 0.5, 0.9]), [130, 250, 370], atol=8)  # even from 100 to 400
    assert all(abs(each.width - 2 * each.height) <= 1 for each in larger)
    free = [(each.top / (each.height - 100), each.left / (each.width - 200)) for each in larger if each.height > 150]
    np.testing.assert_allclose(np.quantile(free, [0.1, 0.5, 0.9], axis=0), [[0.1] * 2, [0.5] * 2, [0.9] * 2], atol=0.04)
    assert all(each.top <= each.height - 100 and each.left <= each.width - 200 for each in larger)


def test_without_expand_param_and_with_a_ratio_of_almost_one_images_stay() -> None:
    random = np.random.default_rng(0)
    assert Expansion(pb.TransformationParameter())(3, 5, random) == Canvas(3, 5)
    assert {expansion(1.005, 1)(300, 500, random) for _ in range(20)} == {Canvas(300, 500)}


def test_a_canvas_as_parts_of_its_image() -> None:
    assert Canvas(8, 16, 2, 4).edges(4, 8).tolist() == [-0.5, -0.5, 1.5, 1.5]
    assert Canvas(4, 8).edges(4, 8).tolist() == [0, 0, 1, 1]


def naive(canvas: Canvas) -> np.ndarray:
    """The whole canvas, as Caffe fills it."""
    whole = np.broadcast_to(FILL, (canvas.height, canvas.width, 3)).copy()
    whole[canvas.top : canvas.top + 2, canvas.left : canvas.left + 4] = IMAGE
    return whole


def test_what_is_cut_out_of_a_canvas_is_what_lies_there() -> None:
    canvas, random = Canvas(5, 9, 1, 3), np.random.default_rng(0)
    for _ in range(200):
        first, last = np.sort(random.random((2, 2)), axis=0)
        area = canvas.pixels(np.array([*first, *last], np.float32))
        shown = canvas.filled(canvas.part(IMAGE, area), area, FILL)
        cut = naive(canvas)[area.top : area.top + area.height, area.left : area.left + area.width]
        assert shown.shape == cut.shape and (shown == cut).all()
    whole = canvas.pixels(WHOLE)
    assert (canvas.filled(canvas.part(IMAGE, whole), whole, FILL) == naive(canvas)).all()


def test_a_window_has_whole_pixels_and_one_at_least() -> None:
    canvas = Canvas(10, 20)
    assert canvas.pixels(np.array([0.26, 0.31, 0.57, 0.79], np.float32)) == (3, 5, 4, 6)
    assert canvas.pixels(np.array([0.99, 0.99, 1, 1], np.float32)) == (9, 19, 1, 1)


def test_around_the_image_is_the_mean_as_bytes_or_black() -> None:
    assert expansion(mean_value=[103.94, 127.5, 300]).fill(3).tolist() == [104, 128, 255]
    assert expansion(mean_value=[7]).fill(3).tolist() == [7]
    assert expansion().fill(3).tolist() == [0]
    with pytest.raises(DataError, match="2 mean_values for 3 channels"):
        expansion(mean_value=[1, 2]).fill(3)


def test_expansions_that_cannot_be_are_refused() -> None:
    with pytest.raises(DataError, match="max_expand_ratio is 1; it must be above 1"):
        expansion(1)
    with pytest.raises(DataError, match="give mean_value"):
        expansion(mean_file="mean.binaryproto")
    with pytest.raises(DataError, match="too large"):
        Canvas(1 << 15, 1 << 15).pixels(WHOLE)

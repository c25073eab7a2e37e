"""Sizes, padding and boxes, compared with values computed by hand."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.transforms.resizing import ImageResizing
from netdsl.errors import DataError

WIDE, HIGH = (40, 80), (80, 40)  # heights and widths
BOX = np.array([[0.25, 0.5, 0.75, 1]], np.float32)
RANDOM = np.random.default_rng(0)


def resizing(text: str) -> ImageResizing:
    return ImageResizing(from_text(text, pb.ResizeParameter))


def image(size: tuple[int, int]) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (3, *size), dtype=np.uint8)


def by_opencv(pixels: np.ndarray, height: int, width: int, mode: int = cv2.INTER_LINEAR) -> np.ndarray:
    return cv2.resize(pixels.transpose(1, 2, 0).copy(), (width, height), interpolation=mode).transpose(2, 0, 1)


def test_warping_ignores_proportions() -> None:
    warp = resizing("height: 30 width: 20")
    assert warp.size(*WIDE) == warp.fixed_size == (30, 20)
    assert (warp(image(WIDE), RANDOM) == by_opencv(image(WIDE), 30, 20)).all()
    assert warp.boxes(BOX, *WIDE).tolist() == BOX.tolist()
    beyond = np.array([[-0.5, -0.25, 1.5, 1.25]], np.float32)
    assert warp.boxes(beyond, *WIDE).tolist() == [[0, 0, 1, 1]]


@pytest.mark.parametrize(
    ("size", "result"), [(WIDE, (20, 40)), (HIGH, (40, 20)), ((30, 30), (20, 20)), ((30, 47), (20, 31))]
)
def test_covering_makes_the_shorter_side_fit(size: tuple[int, int], result: tuple[int, int]) -> None:
    covering = resizing("height: 20 width: 20 resize_mode: FIT_SMALL_SIZE")
    assert covering.fixed_size is None and covering.size(*size) == result
    assert (covering(image(size), RANDOM) == by_opencv(image(size), *result)).all()
    np.testing.assert_allclose(covering.boxes(BOX, *size), BOX, atol=1e-6)


FITTING = "height: 20 width: 20 resize_mode: FIT_LARGE_SIZE_AND_PAD"


@pytest.mark.parametrize(
    ("size", "inner", "box"),
    [
        (WIDE, (slice(5, 15), slice(0, 20)), (0.25, 0.5, 0.75, 0.75)),
        (HIGH, (slice(0, 20), slice(5, 15)), (0.375, 0.5, 0.625, 1)),
    ],
)
def test_fitting_pads_and_boxes_move_along(
    size: tuple[int, int], inner: tuple[slice, slice], box: tuple[float, ...]
) -> None:
    fitting = resizing(f"{FITTING} pad_value: [1, 2, 3]")
    assert fitting.size(*size) == (20, 20)
    padded = fitting(image(size), RANDOM)
    height, width = (each.stop - each.start for each in inner)
    assert (padded[:, *inner] == by_opencv(image(size), height, width)).all()
    outside = np.ones((20, 20), bool)
    outside[inner] = False
    assert (padded[:, outside] == np.array([[1], [2], [3]])).all()
    assert fitting.boxes(BOX, *size).tolist() == [list(box)]


def test_an_odd_remainder_is_padded_at_the_end_and_boxes_are_not_rounded() -> None:
    fitting, size = resizing(f"{FITTING} pad_value: 9"), (30, 80)  # 7.5 of 20 rows become 7, with 6 before and 7 after
    padded = fitting(image(size), RANDOM)
    assert (padded[:, :6] == 9).all() and (padded[:, 13:] == 9).all()
    assert (padded[:, 6:13] == by_opencv(image(size), 7, 20)).all()
    assert fitting.boxes(np.array([[0, 0, 1, 1]], np.float32), *size).tolist() == [[0, 0.3125, 1, 0.6875]]


@pytest.mark.parametrize(
    ("mode", "border"), [("MIRRORED", cv2.BORDER_REFLECT101), ("REPEAT_NEAREST", cv2.BORDER_REPLICATE)]
)
def test_other_paddings_repeat_the_image(mode: str, border: int) -> None:
    padded = resizing(f"{FITTING} pad_mode: {mode}")(image(HIGH), RANDOM)
    middle = by_opencv(image(HIGH), 20, 10).transpose(1, 2, 0)
    assert (padded.transpose(1, 2, 0) == cv2.copyMakeBorder(middle, 0, 0, 5, 5, border)).all()


def test_padding_is_black_by_default_and_one_value_for_gray_images() -> None:
    assert not resizing(FITTING)(image(WIDE), RANDOM)[:, :5].any()
    assert (resizing(f"{FITTING} pad_value: 7")(image(WIDE)[:1], RANDOM)[:, :5] == 7).all()
    with pytest.raises(DataError, match="2 pad_values for 3 channels"):
        resizing(f"{FITTING} pad_value: [1, 2]")(image(WIDE), RANDOM)


def test_interpolations_are_drawn_equally_often() -> None:
    modes = ("LINEAR", "AREA", "NEAREST", "CUBIC", "LANCZOS4")
    warp, pixels = resizing("height: 11 width: 13 " + " ".join(f"interp_mode: {mode}" for mode in modes)), image(WIDE)
    results = [by_opencv(pixels, 11, 13, getattr(cv2, f"INTER_{mode}")).tobytes() for mode in modes]
    random = np.random.default_rng(0)
    drawn = [warp(pixels, random).tobytes() for _ in range(1000)]
    assert set(drawn) == set(results) and len(set(results)) == 5
    assert all(abs(drawn.count(each) / 1000 - 0.2) < 0.05 for each in results)


def test_boxes_can_have_separate_units() -> None:
    """An image of 80 x 40 becomes 40 x 20. Its middle half is 20 x 10, or 5 x 5 units of 4 x 2."""
    scaled = resizing("height: 20 width: 20 resize_mode: FIT_SMALL_SIZE width_scale: 4 height_scale: 5")
    middle = np.array([0.25, 0.25, 0.75, 0.75], np.float32)
    box = np.array([[0, 0.5, 1, 1]], np.float32)
    assert scaled.in_other_units(box, *WIDE, middle).tolist() == [[0, 1, 5, 2]]
    with pytest.raises(DataError, match="width_scale and height_scale are 30 and 5, more than"):
        resizing("height: 20 width: 20 resize_mode: FIT_SMALL_SIZE width_scale: 30 height_scale: 5").in_other_units(
            box, *WIDE, middle
        )
    assert resizing("height: 20 width: 20 width_scale: 4 height_scale: 5").in_other_units(box, *WIDE, middle) is box


def test_no_image_becomes_empty() -> None:
    assert resizing("height: 20 width: 20 resize_mode: FIT_SMALL_SIZE").size(1000, 1) == (20000, 20)
    assert resizing(FITTING)(np.ones((1, 1, 1000), np.uint8), RANDOM).sum() == 20


@pytest.mark.parametrize(
    ("text", "message"), [("height: 3", "a height and a width"), ("height: 3 width: 3 max_angle: 5", "max_angle")]
)
def test_settings_that_cannot_be_met_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        resizing(text)

"""Images whose pixels encode their places, so that a box can be compared with its content."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.data.transforms.annotated_transform import AnnotatedTransform, ClassMaps
from netdsl.data.transforms.boxes import BatchSamplers, Box, Boxes, WindowDraw
from netdsl.errors import DataError

VALUES = np.array([[[0, 1, 2, 2], [0, 1, 2, 5], [0, 0, 0, 5], [0, 0, 0, 5]]], np.uint8)


def test_a_channel_contains_the_share_that_its_classes_cover() -> None:
    shares = ClassMaps([[1, 2], [5], [7]], divisor=2)(VALUES, 4, 4)
    assert shares.dtype == np.float32 and shares.shape == (3, 2, 2)
    np.testing.assert_allclose(shares, [[[0.5, 0.75], [0, 0]], [[0, 0.25], [0, 0.5]], [[0, 0], [0, 0]]], atol=1 / 255)


def test_maps_can_have_a_separate_size() -> None:
    assert ClassMaps([[1]], size=(3, 5))(VALUES, 4, 4).shape == (1, 3, 5)
    assert ClassMaps([[1]], divisor=8)(VALUES, 4, 4).shape == (1, 1, 1)


def test_a_map_of_one_class_is_foreground_above_100() -> None:
    values = np.array([[[0, 255], [100, 101]]], np.uint8)
    assert ClassMaps(None, divisor=1)(values, 2, 2).tolist() == [[[0, 1], [0, 1]]]


HEIGHT, WIDTH = 8, 16
FIRST, SECOND = [3, 0, 0.25, 0.25, 0.5, 0.75, 0], [5, 1, 0.75, 0, 1, 0.5, 1]
ROWS = np.array([FIRST, SECOND], np.float32)


def plane(*marked: tuple[slice, slice]) -> np.ndarray:
    values = np.zeros((HEIGHT, WIDTH), np.uint8)
    for place in marked:
        values[place] = 200
    return values


# The first object is white in the first channel, and the second object in the second channel. The third contains no
# black.
IMAGE = np.stack(
    [plane((slice(2, 6), slice(4, 8))), plane((slice(0, 4), slice(12, 16))), np.full((HEIGHT, WIDTH), 9, np.uint8)]
)


class Fixed:
    """A random choice that always returns the same window."""

    def __init__(self, *window: float) -> None:
        self.window = np.array(window, np.float32)

    def __call__(self, objects: Boxes, random: np.random.Generator) -> Box | None:
        return self.window


def transform(
    text: str = "", draw: WindowDraw | None = None, maps: ClassMaps | None = None, *, train: bool = False
) -> AnnotatedTransform:
    return AnnotatedTransform(from_text(text, pb.TransformationParameter), draw, maps, train=train)


def one(made: AnnotatedTransform, *item: np.ndarray, seed: int = 0, batch: int = 0) -> tuple[np.ndarray, ...]:
    return made(item or (IMAGE, ROWS), np.random.default_rng(seed), batch)


def bounds(image: np.ndarray, channel: int) -> list[float]:
    """Return the bounds of a visible object as fractions of the image."""
    rows, columns = np.nonzero(image[channel] > 100)
    height, width = image.shape[1:]
    return [columns.min() / width, rows.min() / height, (columns.max() + 1) / width, (rows.max() + 1) / height]


def test_without_settings_items_are_unchanged() -> None:
    image, rows = one(transform())
    assert image.dtype == rows.dtype == np.float32
    assert (image == IMAGE).all() and rows.tolist() == ROWS.tolist()


def test_a_window_is_cut_out_with_the_objects_in_it() -> None:
    image, rows = one(transform(draw=Fixed(0.25, 0, 0.75, 0.5)))
    assert (image == IMAGE[:, :4, 4:12]).all()
    assert rows.tolist() == [[3, 0, 0, 0.5, 0.5, 1, 0]]


def test_a_window_beyond_the_image_is_clipped() -> None:
    image, rows = one(transform(draw=Fixed(0.5, -0.1, 1.0000001, 1.5)))
    assert (image == IMAGE[:, :, 8:]).all() and rows.tolist() == [[5, 1, 0.5, 0, 1, 0.5, 1]]


def test_objects_whose_center_is_cut_off_are_left_out() -> None:
    half = Fixed(0, 0, 0.375, 0.5)
    assert one(transform(draw=half))[1].tolist() == [[3, 0, np.float32(0.25) / np.float32(0.375), 0.5, 1, 1, 0]]
    center = "emit_constraint { emit_type: CENTER }"
    assert one(transform(center, half))[1].tolist() == one(transform(draw=half))[1].tolist()
    assert one(transform(center, Fixed(0, 0, 0.3125, 0.5)))[1].shape == (0, 7)


def test_boxes_are_mirrored_with_their_image() -> None:
    made = transform("mirror: true")
    images = [one(made, seed=seed) for seed in range(40)]
    for image, rows in images:
        assert [bounds(image, 0), bounds(image, 1)] == rows[:, 2:6].tolist()
    assert {tuple(rows[0, 2:6].tolist()) for _, rows in images} == {(0.25, 0.25, 0.5, 0.75), (0.5, 0.25, 0.75, 0.75)}
    assert images[0][1][:, [0, 1, 6]].tolist() == ROWS[:, [0, 1, 6]].tolist()


def test_a_crop_is_central_in_tests_and_random_in_training() -> None:
    text = "crop_h: 6 crop_w: 12 mean_value: 9 scale: 0.5"
    image, rows = one(transform(text))
    assert (image == (IMAGE[:, 1:7, 2:14].astype(np.float32) - 9) / 2).all()
    np.testing.assert_allclose(rows[:, 2:6], [[2 / 12, 1 / 6, 6 / 12, 5 / 6], [10 / 12, 0, 1, 3 / 6]], atol=1e-6)
    made = transform(text, train=True)
    drawn = [one(made, seed=seed) for seed in range(60)]
    for image, rows in drawn:
        np.testing.assert_allclose(rows[0, 2:6], bounds(image * 2 + 9, 0), atol=1e-6)
    assert len({tuple(rows[0, 2:4].tolist()) for _, rows in drawn}) == 3 * 5


def test_an_expanded_image_has_small_objects_and_the_mean_around_it() -> None:
    made = transform("expand_param { prob: 1 max_expand_ratio: 3 } mean_value: [50, 60, 70]")
    for seed in range(30):
        image, rows = one(made, seed=seed)
        height, width = image.shape[1:]
        assert height >= HEIGHT and abs(width - 2 * height) <= 1
        np.testing.assert_allclose(rows[:, 2:6], [bounds(image, 0), bounds(image, 1)], atol=1e-6)
        top, left = round(float(rows[0, 3]) * height) - 2, round(float(rows[0, 2]) * width) - 4
        assert (image[2, top : top + HEIGHT, left : left + WIDTH] == 9 - 70).all()
        rest = image[2].copy()
        rest[top : top + HEIGHT, left : left + WIDTH] = 0
        assert (rest == 0).all()


def test_only_the_image_is_distorted_and_not_what_is_around_it() -> None:
    text = "expand_param { prob: 1 max_expand_ratio: 4 } distort_param { brightness_prob: 1 brightness_delta: 99 }"
    image, rows = one(transform(text), seed=3)
    inner = image[2] != 0
    assert inner.sum() == HEIGHT * WIDTH and len(np.unique(image[2])) == 2 and image[2].max() != 9
    assert len(rows) == 2


def test_a_window_of_an_expanded_image_equals_caffes_cut() -> None:
    """The same draws, once with the whole canvas and once with a window of it."""
    text = "expand_param { prob: 1 max_expand_ratio: 3 } mean_value: 50"
    for seed in range(20):
        whole, whole_rows = one(transform(text), seed=seed)
        cut, rows = one(transform(text, Fixed(0.25, 0.25, 0.75, 1)), seed=seed)
        height, width = whole.shape[1:]
        top, left = int(np.float32(0.25) * height), int(np.float32(0.25) * width)
        assert (cut == whole[:, top : top + cut.shape[1], left : left + cut.shape[2]]).all()
        assert cut.shape[1:] == (int(0.75 * height), int(0.5 * width))
        seen = whole_rows[(whole_rows[:, 4] > 0.25) & (whole_rows[:, 2] < 0.75) & (whole_rows[:, 5] > 0.25)]
        expected = ((seen[:, 2:6] - [0.25, 0.25, 0.25, 0.25]) / [0.5, 0.75, 0.5, 0.75]).clip(0, 1)
        np.testing.assert_allclose(rows[:, 2:6], expected, atol=1e-6)


def test_resized_and_mirrored_boxes_still_contain_their_objects() -> None:
    resize = "resize_param { height: 32 width: 32 resize_mode: FIT_LARGE_SIZE_AND_PAD interp_mode: NEAREST }"
    image, rows = one(transform(resize))
    assert image.shape == (3, 32, 32) and not image[:, :8].any() and not image[:, 24:].any()
    assert rows[:, 2:6].tolist() == [[0.25, 0.375, 0.5, 0.625], [0.75, 0.25, 1, 0.5]]
    made = transform(f"{resize} mirror: true", BatchSamplers([pb.BatchSampler()]))
    for seed in range(10):
        image, rows = one(made, seed=seed)
        assert [bounds(image, 0), bounds(image, 1)] == rows[:, 2:6].tolist()


def test_boxes_of_covering_images_can_have_units() -> None:
    text = "resize_param { height: 8 width: 8 resize_mode: FIT_SMALL_SIZE height_scale: 4 width_scale: 2 }"
    image, rows = one(transform(text))
    assert image.shape == (3, 8, 16)
    assert rows[0, 2:6].tolist() == [0.25 * 8, 0.25 * 2, 0.5 * 8, 0.75 * 2]


SIZES = "".join(
    f"resize_param {{ prob: {prob} height: {size} width: {size} }} " for size, prob in ((4, 0.25), (6, 0.7), (9, 0.05))
)


def test_one_of_several_sizes_is_drawn_for_ten_batches_in_a_row() -> None:
    made = transform(SIZES)
    sizes = [one(made, seed=seed, batch=batch)[0].shape[1] for batch, seed in enumerate(range(12000 // 4))]
    runs = np.array(sizes).reshape(-1, 10)
    assert (runs == runs[:, :1]).all()
    shares = [(runs[:, 0] == size).mean() for size in (4, 6, 9)]
    np.testing.assert_allclose(shares, [0.25, 0.7, 0.05], atol=0.08)  # 300 draws
    assert one(transform("resize_param { prob: 0 height: 3 width: 3 }"))[0].shape == (3, 3, 3)


def test_a_label_in_place_of_rows_stays() -> None:
    label = np.array(7, np.float32)
    image, kept = one(transform("crop_size: 4", BatchSamplers([pb.BatchSampler()])), IMAGE, label)
    assert kept is label and image.shape == (3, 4, 4)


def test_integral_values_that_are_not_bytes_are_accepted() -> None:
    assert (one(transform(), IMAGE.astype(np.float32), ROWS)[0] == IMAGE).all()
    with pytest.raises(DataError, match="other values than whole numbers from 0 to 255"):
        one(transform(), IMAGE + 0.5, ROWS)


def test_a_class_map_is_transformed_with_its_image() -> None:
    values = np.where(IMAGE[0] > 0, 4, np.where(IMAGE[1] > 0, 6, 0)).astype(np.uint8)[None]
    maps = ClassMaps([[4], [5, 6]], divisor=2)
    text = (
        "mirror: true resize_param { height: 16 width: 16 interp_mode: NEAREST } expand_param { max_expand_ratio: 2 }"
    )
    for seed in range(20):
        image, rows, shown = one(transform(text, Fixed(0, 0, 1, 0.5), maps), IMAGE, ROWS, values, seed=seed)
        assert shown.shape == (2, 8, 8) and shown.dtype == np.float32
        for channel in range(2):
            seen = (image[channel] > 100).reshape(8, 2, 8, 2).mean((1, 3))
            assert np.abs(shown[channel] - seen).mean() < 0.15
        assert len(rows) in (1, 2)


def test_incompatible_settings_are_refused() -> None:
    maps = ClassMaps(None)
    for text in ("crop_size: 4", "resize_param { height: 4 width: 4 resize_mode: FIT_SMALL_SIZE }"):
        with pytest.raises(DataError, match="class maps only work with resize_mode WARP"):
            transform(text, maps=maps)
    with pytest.raises(DataError, match="image of 8 x 16 has a class map of 8 x 15"):
        one(transform(maps=maps), IMAGE, ROWS, np.zeros((1, 8, 15), np.uint8))
    with pytest.raises(DataError, match=r"add up to 0\.95; make them add up to 1"):
        transform(SIZES.replace("0.7", "0.65"))

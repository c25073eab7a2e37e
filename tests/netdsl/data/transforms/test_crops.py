"""Crops: TSN's parts of images, and Intel's random areas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import CaffeFile, write
from caffe_proto import caffe_pb2 as pb
from netdsl.data.sources.segmentation import image_labelmap_source
from netdsl.data.transforms.annotated_transform import AnnotatedTransform
from netdsl.data.transforms.crops import CropChoice, RandomArea
from netdsl.data.transforms.image_settings import Beforehand
from netdsl.data.transforms.lane_transform import LaneTransform
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError

CROP = 24


def sizes_of(height: int, width: int, ratios: list[float], apart: int) -> Iterator[tuple[int, int]]:
    """Return the sizes from TSN's loops."""
    base = min(height, width)
    for row, high in enumerate(ratios):
        for column, wide in enumerate(ratios):
            if abs(row - column) <= apart:
                sides = [int(np.float32(base) * np.float32(ratio)) for ratio in (high, wide)]
                yield sides[0] if abs(sides[0] - CROP) >= 3 else CROP, sides[1] if abs(sides[1] - CROP) >= 3 else CROP


def drawn(height: int, width: int, times: int = 900, **settings: object) -> set[tuple[int, ...]]:
    choice = CropChoice.of(pb.TransformationParameter(crop_size=CROP, **settings), (CROP, CROP))
    assert choice is not None
    random = np.random.default_rng(0)
    return {tuple(int(value) for value in choice(height, width, random)) for _ in range(times)}


@pytest.mark.parametrize(
    ("ratios", "apart"), [([], 1), ([], 0), ([1, 0.7], 1), ([0.9, 0.5, 0.3], 2), ([0.795, 0.765, 0.62], 2)]
)
def test_heights_and_widths_are_fractions_of_the_shorter_side(ratios: list[float], apart: int) -> None:
    settings = {"multi_scale": True, "max_distort": apart, "scale_ratios": ratios, "fix_crop": True}
    wanted = set(sizes_of(34, 40, ratios or [1, 0.875, 0.75, 0.66], apart))
    assert {(high, wide) for _, _, high, wide in drawn(34, 40, **settings)} == wanted


def test_places_are_corners_the_middle_and_points_between_them() -> None:
    corners = {(0, 0), (0, 16), (8, 0), (8, 16), (4, 8)}
    between = {(0, 8), (8, 8), (4, 0), (4, 16), (2, 4), (2, 12), (6, 4), (6, 12)}
    assert drawn(34, 43, fix_crop=True) == {(*place, CROP, CROP) for place in corners}
    assert drawn(34, 43, fix_crop=True, more_fix_crop=True) == {(*place, CROP, CROP) for place in corners | between}
    assert {place[:2] for place in drawn(26, 25, multi_scale=True, scale_ratios=[1], max_distort=0)} == {
        (top, left) for top in range(3) for left in range(2)
    }


def stack(channels: int, height: int = 40, width: int = 50) -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (channels, height, width), dtype=np.uint8)


def test_parts_of_other_sizes_are_resized_channel_by_channel() -> None:
    image = stack(9, 48, 50)
    settings = pb.TransformationParameter(
        crop_size=CROP, multi_scale=True, scale_ratios=[1], max_distort=0, fix_crop=True, mean_value=[10, 20, 30]
    )
    transform = Transform(settings, train=True)
    assert transform.shape(9, 48, 50) == (9, CROP, CROP)
    mean = np.array([10, 20, 30] * 3, np.float32)[:, None, None]
    lefts = [0, 0]  # a quarter of the two remaining columns rounds to 0
    wanted = [np.stack([cv2.resize(plane[:, left : left + 48], (CROP, CROP)) for plane in image]) for left in lefts]
    found = transform(image, np.random.default_rng(0))
    assert any(np.array_equal(found, each - mean) for each in wanted)


def test_mirroring_inverts_the_horizontal_flow_only() -> None:
    image = stack(4, 5, 6)
    transform = Transform(pb.TransformationParameter(mirror=True, is_flow=True, mean_value=[128]), train=False)
    seen = {transform(image, np.random.default_rng(seed)).tobytes() for seed in range(9)}
    mirrored = image[..., ::-1].astype(np.float32)
    mirrored[::2] = 255 - mirrored[::2]
    assert seen == {(image.astype(np.float32) - 128).tobytes(), (mirrored - 128).tobytes()}
    as_bytes = np.empty(image.shape, np.uint8)
    transform(image, np.random.default_rng(0), out=as_bytes)
    assert (as_bytes.astype(np.float32) - 128).tobytes() in seen


def test_parts_of_several_sizes_use_the_means_upper_left_corner(tmp_path: Path) -> None:
    mean, file = np.random.default_rng(2).random((1, 3, 40, 50), np.float32), CaffeFile(pb.BlobProto())
    file.blobs.put(file.message, mean)
    write(file, tmp_path / "mean.binaryproto")
    image, path = np.zeros((3, 40, 50), np.uint8), str(tmp_path / "mean.binaryproto")
    settings = pb.TransformationParameter(crop_size=CROP, mean_file=path, multi_scale=True)
    for train in (True, False):
        assert np.array_equal(Transform(settings, train=train)(image, np.random.default_rng(3)), -mean[0, :, :24, :24])
    settings.multi_scale = False
    assert np.array_equal(Transform(settings, train=False)(image, np.random.default_rng(3)), -mean[0, :, 8:32, 13:37])


def test_tests_use_the_middle() -> None:
    image = stack(3)
    settings = pb.TransformationParameter(crop_size=CROP, multi_scale=True, fix_crop=True, more_fix_crop=True)
    assert np.array_equal(Transform(settings, train=False)(image, np.random.default_rng(0)), image[:, 8:32, 13:37])


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"multi_scale": True}, "set crop_size"),
        ({"fix_crop": True}, "set crop_size"),
        ({"multi_scale": True, "crop_size": 3, "scale_ratios": [1, 1.5]}, "scale_ratios must be"),
        ({"multi_scale": True, "crop_size": 3, "max_distort": -1}, "max_distort is -1"),
    ],
)
def test_images_that_cannot_be_cropped_are_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(DataError, match=why):
        Transform(pb.TransformationParameter(**settings), train=True)


@pytest.mark.parametrize(
    ("use", "what"),
    [
        (lambda p: AnnotatedTransform(p, train=True), "images with boxes"),
        (lambda p: LaneTransform(p, None, divisor=1, map_size=None, train=True), "images with lanes"),
        (lambda p: image_labelmap_source(pb.ImageDataParameter(), p), "images with maps"),
        (lambda p: Beforehand.of(p, train=True), "BVLC's Caffe"),
    ],
)
@pytest.mark.parametrize("setting", ["is_flow", "multi_scale", "fix_crop"])
def test_image_settings_are_refused_for_other_data(
    use: Callable[[pb.TransformationParameter], object], what: str, setting: str
) -> None:
    with pytest.raises(DataError, match=f"{setting} doesn't work for {what}; remove it from transform_param"):
        use(pb.TransformationParameter(**{setting: True}))


pytest.importorskip("cv2")

# Each pixel encodes its row and column.
IMAGE = np.stack(np.meshgrid(np.arange(100), np.arange(160), indexing="ij")).astype(np.uint8)[[0, 1, 1]]


def area(**settings: float) -> RandomArea:
    return RandomArea(pb.RandomAspectRatioParameter(**settings), 50)


def parts(draw: RandomArea, count: int = 400) -> np.ndarray:
    """Return the height and width of the parts that each square shows."""
    random = np.random.default_rng(3)
    squares = np.stack([draw(IMAGE, random) for _ in range(count)]).astype(float)
    assert squares.shape == (count, 3, 50, 50)
    return np.ptp(squares[:, :2], axis=(2, 3)) + 1


def test_parts_have_the_requested_areas_and_proportions() -> None:
    sizes = parts(area(min_area_ratio=0.1, max_area_ratio=0.4, aspect_ratio_change=0.75))
    share, proportion = sizes.prod(1) / (100 * 160), sizes[:, 1] / sizes[:, 0]
    assert 0.08 < share.min() < 0.14 and 0.34 < share.max() < 0.42
    assert 0.5 < proportion.min() < 0.62 and 1.6 < proportion.max() < 2  # 0.75 twice, since it changes both sides


def test_parts_are_as_often_high_as_wide() -> None:
    sizes = parts(area(min_area_ratio=0.02, max_area_ratio=0.02, aspect_ratio_change=0.3))
    assert 0.4 < (sizes[:, 0] > sizes[:, 1]).mean() < 0.6


def test_parts_are_drawn_from_the_whole_image() -> None:
    draw, random = area(min_area_ratio=0.05, max_area_ratio=0.05), np.random.default_rng(0)
    squares = np.stack([draw(IMAGE, random) for _ in range(300)])
    assert squares[:, 0].min() == 0 and squares[:, 0].max() == 99
    assert squares[:, 1].min() == 0 and squares[:, 1].max() == 159


def test_an_image_without_a_fitting_part_is_used_whole() -> None:
    draw = area(min_area_ratio=1, max_area_ratio=1, max_attempt=3)
    assert draw(IMAGE, np.random.default_rng(0)).shape == (3, 50, 80)
    assert draw(IMAGE.transpose(0, 2, 1), np.random.default_rng(0)).shape == (3, 80, 50)


def test_a_transform_crops_images_and_states_their_shape() -> None:
    p = pb.TransformationParameter(crop_size=50, random_aspect_ratio_param={"max_attempt": 0}, mean_value=[1])
    transform = Transform(p, train=True)
    assert transform.shape(3, 20, 30) == (3, 50, 50) and not transform.constant
    lefts = {float(transform(IMAGE, np.random.default_rng(seed))[1, 0, 0]) for seed in range(30)}
    assert len(lefts) > 5  # anywhere in the 80 columns


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"min_area_ratio": 0}, "areas above 0"),
        ({"min_area_ratio": 0.5, "max_area_ratio": 0.4}, "in ascending order"),
        ({"aspect_ratio_change": 1.5}, "aspect_ratio_change above 0 and up to 1"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, float], words: str) -> None:
    with pytest.raises(DataError, match=words):
        area(**settings)


def test_random_areas_are_refused_without_a_crop_and_for_caffe() -> None:
    with pytest.raises(DataError, match="set crop_size"):
        Transform(pb.TransformationParameter(random_aspect_ratio_param={}), train=True)
    with pytest.raises(DataError, match="Caffe can't draw parts of images and resize them"):
        Beforehand.of(pb.TransformationParameter(crop_size=5, random_aspect_ratio_param={}), train=True)

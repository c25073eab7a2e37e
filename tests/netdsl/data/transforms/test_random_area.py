"""Parts of images of any size and proportions, as Intel's random_aspect_ratio_param draws them."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.crops import RandomArea
from netdsl.data.transforms.image_settings import Beforehand
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError

pytest.importorskip("cv2")

# Pixels say where they are: the row, the column.
IMAGE = np.stack(np.meshgrid(np.arange(100), np.arange(160), indexing="ij")).astype(np.uint8)[[0, 1, 1]]


def area(**settings: float) -> RandomArea:
    return RandomArea(pb.RandomAspectRatioParameter(**settings), 50)


def parts(draw: RandomArea, count: int = 400) -> np.ndarray:
    """The height and width of the parts that squares show."""
    random = np.random.default_rng(3)
    squares = np.stack([draw(IMAGE, random) for _ in range(count)]).astype(float)
    assert squares.shape == (count, 3, 50, 50)
    return np.ptp(squares[:, :2], axis=(2, 3)) + 1


def test_parts_have_the_areas_and_the_proportions_that_are_asked_for() -> None:
    sizes = parts(area(min_area_ratio=0.1, max_area_ratio=0.4, aspect_ratio_change=0.75))
    share, proportion = sizes.prod(1) / (100 * 160), sizes[:, 1] / sizes[:, 0]
    assert 0.08 < share.min() < 0.14 and 0.34 < share.max() < 0.42
    assert 0.5 < proportion.min() < 0.62 and 1.6 < proportion.max() < 2  # 0.75 twice: both sides change by it


def test_parts_are_as_often_high_as_wide() -> None:
    sizes = parts(area(min_area_ratio=0.02, max_area_ratio=0.02, aspect_ratio_change=0.3))
    assert 0.4 < (sizes[:, 0] > sizes[:, 1]).mean() < 0.6


def test_parts_are_anywhere() -> None:
    draw, random = area(min_area_ratio=0.05, max_area_ratio=0.05), np.random.default_rng(0)
    squares = np.stack([draw(IMAGE, random) for _ in range(300)])
    assert squares[:, 0].min() == 0 and squares[:, 0].max() == 99
    assert squares[:, 1].min() == 0 and squares[:, 1].max() == 159


def test_an_image_of_which_no_part_fits_is_shown_as_a_whole() -> None:
    draw = area(min_area_ratio=1, max_area_ratio=1, max_attempt=3)
    assert draw(IMAGE, np.random.default_rng(0)).shape == (3, 50, 80)
    assert draw(IMAGE.transpose(0, 2, 1), np.random.default_rng(0)).shape == (3, 80, 50)


def test_a_transform_crops_what_comes_of_it_and_says_its_shape() -> None:
    p = pb.TransformationParameter(crop_size=50, random_aspect_ratio_param={"max_attempt": 0}, mean_value=[1])
    transform = Transform(p, train=True)
    assert transform.shape(3, 20, 30) == (3, 50, 50) and not transform.constant
    lefts = {float(transform(IMAGE, np.random.default_rng(seed))[1, 0, 0]) for seed in range(30)}
    assert len(lefts) > 5  # anywhere in the 80 columns


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"min_area_ratio": 0}, "areas above 0"),
        ({"min_area_ratio": 0.5, "max_area_ratio": 0.4}, "the least first"),
        ({"aspect_ratio_change": 1.5}, "aspect_ratio_change up to 1"),
    ],
)
def test_settings_that_cant_be_are_refused(settings: dict[str, float], words: str) -> None:
    with pytest.raises(DataError, match=words):
        area(**settings)


def test_without_a_crop_and_for_caffe_it_is_refused() -> None:
    with pytest.raises(DataError, match="needs a crop_size"):
        Transform(pb.TransformationParameter(random_aspect_ratio_param={}), train=True)
    with pytest.raises(DataError, match="Caffe draws no parts of images that it resizes"):
        Beforehand.of(pb.TransformationParameter(crop_size=5, random_aspect_ratio_param={}), train=True)

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import CaffeFile, write
from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from netdsl.data.transforms.transform import Transform
from netdsl.errors import DataError

CHANNELS, HEIGHT, WIDTH = 3, 7, 9
IMAGE = np.random.default_rng(0).integers(0, 256, (CHANNELS, HEIGHT, WIDTH), dtype=np.uint8)
MEAN = np.random.default_rng(1).random((1, CHANNELS, HEIGHT, WIDTH), np.float32) * 200


@pytest.fixture
def mean_file(tmp_path: Path) -> str:
    file = CaffeFile(pb.BlobProto())
    file.blobs.put(file.message, MEAN)
    write(file, tmp_path / "mean.binaryproto")
    return str(tmp_path / "mean.binaryproto")


def naive(image: np.ndarray, top: int, left: int, size: tuple[int, int], mirror: bool, mean: np.ndarray, scale: float):
    """Apply Caffe's loop over every value, in float32."""
    result = np.empty((len(image), *size), np.float32)
    for c, h, w in np.ndindex(result.shape):
        value = np.float32(image[c, top + h, left + w]) - np.float32(mean[c, top + h, left + w])
        result[c, h, size[1] - 1 - w if mirror else w] = value * np.float32(scale)
    return result


def draws(train: bool, times: int = 60, **settings: object) -> list[np.ndarray]:
    transform, random = Transform(pb.TransformationParameter(**settings), train=train), np.random.default_rng(2)
    return [transform(IMAGE, random) for _ in range(times)]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("kind", ["nothing", "a value", "values", "a file"])
def test_a_test_image_is_cropped_in_the_middle_and_normalized(kind: str, dtype: type, mean_file: str) -> None:
    settings, mean = {
        "nothing": ({}, np.zeros(1)),
        "a value": ({"mean_value": [100.5]}, np.full(1, 100.5)),
        "values": ({"mean_value": [10, 20.25, 30]}, np.array([10, 20.25, 30]).reshape(3, 1, 1)),
        "a file": ({"mean_file": mean_file}, MEAN[0]),
    }[kind]
    image = IMAGE.astype(dtype)
    transform = Transform(pb.TransformationParameter(crop_size=4, scale=0.0039, **settings), train=False)
    expected = naive(image, 1, 2, (4, 4), False, np.broadcast_to(mean, image.shape), 0.0039)
    result = transform(image, np.random.default_rng(0))
    assert result.dtype == np.float32 and (result == expected).all()
    assert transform.shape(*image.shape) == result.shape


def test_without_settings_values_are_unchanged() -> None:
    (result,) = draws(True, 1)
    assert result.dtype == np.float32 and (result == IMAGE).all()


def test_a_training_image_is_randomly_cropped_and_mirrored_half_the_time(mean_file: str) -> None:
    """Every place and side occurs, and each is right: the mean stays aligned with its pixels."""
    results = draws(True, 400, crop_size=6, mirror=True, mean_file=mean_file, scale=0.5)
    places = [(top, left, mirror) for top in range(2) for left in range(4) for mirror in (False, True)]
    expected = {naive(IMAGE, top, left, (6, 6), mirror, MEAN[0], 0.5).tobytes() for top, left, mirror in places}
    assert len(expected) == len(places)
    assert {result.tobytes() for result in results} == expected


def test_a_test_image_is_mirrored_too() -> None:
    results = {result.tobytes() for result in draws(False, mirror=True)}
    assert results == {IMAGE.astype(np.float32).tobytes(), IMAGE[:, :, ::-1].astype(np.float32).tobytes()}


def test_the_same_random_numbers_give_the_same_image() -> None:
    first, second = (draws(True, crop_size=3, mirror=True) for _ in range(2))
    assert all((one == other).all() for one, other in zip(first, second, strict=True))


def test_a_batch_is_filled_in_place() -> None:
    batch = np.full((2, CHANNELS, 4, 4), -1, np.float32)
    transform = Transform(pb.TransformationParameter(crop_size=4, mean_value=[3], scale=2), train=False)
    transform(IMAGE, np.random.default_rng(0), out=batch[1])
    assert (batch[0] == -1).all() and (batch[1] == transform(IMAGE, np.random.default_rng(0))).all()


def test_crop_h_and_crop_w_crop_as_crop_size_does() -> None:
    (result,) = draws(False, 1, crop_h=2, crop_w=5)
    assert (result == IMAGE[:, 2:4, 2:7]).all()


def test_an_image_is_resized_before_it_is_cropped() -> None:
    resize = pb.ResizeParameter(height=14, width=12, interp_mode=[pb.ResizeParameter.NEAREST])
    p = pb.TransformationParameter(crop_h=14, crop_w=10, resize_param=[resize])
    transform = Transform(p, train=False)
    resized = cv2.resize(IMAGE.transpose(1, 2, 0).copy(), (12, 14), interpolation=cv2.INTER_NEAREST).transpose(2, 0, 1)
    for image in (IMAGE, IMAGE.astype(np.float32)):
        assert (transform(image, np.random.default_rng(0)) == resized[:, :, 1:11]).all()
    assert transform.shape(*IMAGE.shape) == (3, 14, 10)
    for image in (IMAGE + np.float32(0.5), IMAGE - np.float32(300), np.full_like(IMAGE, np.nan, np.float32)):
        with pytest.raises(DataError, match="other values than whole numbers from 0 to 255"):
            transform(image, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"mean_file": "x.binaryproto", "mean_value": [1]}, "both mean_file and mean_value"),
        ({"crop_size": 3, "crop_h": 3, "crop_w": 3}, "both crop_size and crop_h"),
        ({"crop_h": 3}, "only one of crop_h and crop_w"),
        ({"distort_param": {"hue_prob": 0.5}}, "distort_param only works for images with boxes"),
        ({"max_rotation_angle": 5, "noise_param": [{}]}, "noise_param, max_rotation_angle: not supported"),
        ({"resize_param": [{"height": 3, "resize_mode": 2}]}, "resize_param has no size; set a height and a width"),
        ({"resize_param": [{"height": 3, "width": 4}] * 2}, "more than one resize_param"),
        ({"mean_file": "gone.binaryproto"}, "gone.binaryproto: can't be opened"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object], why: str) -> None:
    with pytest.raises(CaffeError, match=why):
        Transform(pb.TransformationParameter(**settings), train=True)


def test_a_forks_setting_without_effect_is_accepted() -> None:
    Transform(pb.TransformationParameter(use_gpu_transform=True, max_rotation_angle=0, pad=0), train=True)


@pytest.mark.parametrize(
    ("settings", "shape", "why"),
    [
        ({"crop_size": 8}, (3, 7, 9), "a crop of 8 x 8 is larger than the image of 7 x 9"),
        ({"mean_value": [1, 2]}, (3, 7, 9), "2 mean_values for 3 channels"),
        ({"mean_file": True}, (3, 7, 8), "is 3 x 7 x 9, but the image is 3 x 7 x 8"),
        ({"mean_file": True}, (1, 7, 9), "is 3 x 7 x 9, but the image is 1 x 7 x 9"),
    ],
)
def test_a_mismatched_image_is_refused(
    settings: dict[str, object], shape: tuple[int, ...], why: str, mean_file: str
) -> None:
    settings = {name: mean_file if name == "mean_file" else value for name, value in settings.items()}
    transform = Transform(pb.TransformationParameter(**settings), train=True)
    with pytest.raises(DataError, match=why):
        transform(np.zeros(shape, np.uint8), np.random.default_rng(0))

"""Images, transformers, and arrays as messages."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Self

import numpy as np
import pytest

from caffe_proto.errors import FileError, MissingExtraError
from netdsl.errors import NetError
from netdsl.pycaffe import io
from netdsl.pycaffe.io import Transformer, load_image, oversample, resize_image
from netdsl.pycaffe.proto import caffe_pb2

RAMP = np.arange(12, dtype=np.float32).reshape(3, 4, 1)
RECORDED_AREAS = [[0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 3.0], [5.25, 7.25, 7.75, 8.25, 8.75, 9.25, 9.75, 7.5]]
RECORDED_POINTS = [[0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [8.0, 8.5, 9.0, 9.5, 10.0, 10.5, 11.0]]


def test_images_of_one_or_three_channels_are_resampled_as_areas() -> None:
    """The expected values are from scipy 1.17's zoom with grid_mode=True and mode='grid-constant', which scikit-image
    calls."""
    found = resize_image(RAMP, (2, 8))[:, :, 0]
    np.testing.assert_allclose(found, RECORDED_AREAS, atol=1e-6)
    np.testing.assert_allclose(resize_image(np.repeat(RAMP, 3, 2), (2, 8))[:, :, 1], RECORDED_AREAS, atol=1e-6)


def test_images_with_other_channels_are_resampled_as_points() -> None:
    """The expected values are from scipy 1.17's zoom."""
    found = resize_image(np.repeat(RAMP, 2, 2), (2, 7))
    np.testing.assert_allclose(found[:, :, 1], RECORDED_POINTS, atol=1e-6)


def test_the_nearest_pixel_is_used_on_request() -> None:
    assert resize_image(RAMP, (3, 8), interp_order=0)[0, :, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert resize_image(np.repeat(RAMP, 2, 2), (3, 2), 0)[0, :, 0].tolist() == [0, 3]
    with pytest.raises(NetError, match="interp_order 3"):
        resize_image(RAMP, (3, 8), 3)


def test_a_constant_image_stays_constant() -> None:
    found = resize_image(np.full((5, 4, 3), -7.5), (9, 3))
    assert found.shape == (9, 3, 3) and found.dtype == np.float32 and (found == -7.5).all()


def test_every_image_gets_ten_crops() -> None:
    images = [np.arange(7 * 6 * 2).reshape(7, 6, 2), np.arange(7 * 6 * 2).reshape(7, 6, 2) + 1000]
    crops = oversample(images, (4, 3))
    assert crops.shape == (20, 4, 3, 2) and crops.dtype == np.float32
    starts = [(0, 0), (0, 3), (3, 0), (3, 3), (1, 1)]
    for index, image in enumerate(images):
        for place, (top, left) in enumerate(starts):
            wanted = image[top : top + 4, left : left + 3]
            np.testing.assert_array_equal(crops[10 * index + place], wanted)
            np.testing.assert_array_equal(crops[10 * index + 5 + place], wanted[:, ::-1])


class Opened:
    """The part of Pillow's Image that the code uses."""

    def __init__(self, mode: str, pixels: np.ndarray, image_format: str = "PNG") -> None:
        self.mode, self.pixels, self.format = mode, pixels, image_format

    def convert(self, mode: str) -> np.ndarray:
        self.converted = mode
        return self.pixels

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None: ...


@pytest.fixture
def opened(monkeypatch):
    """Make Pillow return an image for a file that doesn't exist."""

    def use(image: Opened) -> Opened:
        pillow = ModuleType("PIL.Image")
        pillow.open = lambda name: image  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "PIL", SimpleNamespace(Image=pillow))
        monkeypatch.setitem(sys.modules, "PIL.Image", pillow)
        return image

    return use


@pytest.mark.parametrize(
    ("mode", "pixels", "converted", "first"),
    [
        ("RGB", np.full((2, 3, 3), 51, np.uint8), "RGB", 0.2),
        ("RGBA", np.full((2, 3, 3), 51, np.uint8), "RGB", 0.2),
        ("P", np.full((2, 3, 3), 51, np.uint8), "RGB", 0.2),
        ("L", np.full((2, 3), 51, np.uint8), "L", 0.2),
        ("1", np.full((2, 3), 255, np.uint8), "L", 1),
        ("LA", np.full((2, 3), 51, np.uint8), "L", 0.2),
        ("I;16", np.full((2, 3), 13107, np.uint16), "I;16", 0.2),
        ("I", np.full((2, 3), 13107, np.int32), "I", 0.2),
        ("F", np.full((2, 3), 0.25, np.float32), "F", 0.25),
    ],
)
def test_all_images_have_values_up_to_one_in_color_or_gray(opened, mode, pixels, converted, first) -> None:
    image = opened(Opened(mode, pixels))
    for color, channels in ((True, 3), (False, 1)):
        found = load_image("x.png", color)
        assert found.shape == (2, 3, channels) and found.dtype == np.float32 and image.converted == converted
        np.testing.assert_allclose(found, first, rtol=1e-6)


def test_gray_values_are_luminances(opened) -> None:
    opened(Opened("RGB", np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], np.uint8)))
    np.testing.assert_allclose(load_image("x.png", color=False).ravel(), [0.2125, 0.7154, 0.0721], rtol=1e-6)


def test_without_pillow_an_error_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "PIL.Image", raising=False)
    with pytest.raises(MissingExtraError, match=r"netdsl\[data\]"):
        load_image("x.png")


def test_real_files_are_loaded(tmp_path: Path) -> None:
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(1).integers(0, 255, (5, 4, 4)).astype(np.uint8)
    pillow.fromarray(pixels).save(tmp_path / "x.png")
    np.testing.assert_allclose(load_image(tmp_path / "x.png"), pixels[:, :, :3] / 255, rtol=1e-6)
    deep = np.arange(20, dtype=np.uint16).reshape(5, 4) * 3000
    pillow.fromarray(deep).save(tmp_path / "deep.png")
    np.testing.assert_allclose(load_image(tmp_path / "deep.png", False)[:, :, 0], deep / 65535, rtol=1e-6)
    (tmp_path / "y.png").write_text("no image")
    for name in ("y.png", "missing.png"):
        with pytest.raises(FileError, match=name):
            load_image(tmp_path / name)


VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_a_blob_has_values_and_gradients() -> None:
    blob = io.array_to_blobproto(VALUES, diff=2 * VALUES)
    np.testing.assert_array_equal(io.blobproto_to_array(blob), VALUES)
    np.testing.assert_array_equal(io.blobproto_to_array(blob, return_diff=True), 2 * VALUES)
    assert list(blob.shape.dim) == [2, 3, 4]


def test_old_blobs_have_four_dimensions_and_doubles_count() -> None:
    blob = caffe_pb2.BlobProto(num=1, channels=2, height=3, width=4, data=range(24))
    assert io.blobproto_to_array(blob).shape == (1, 2, 3, 4)
    double = caffe_pb2.BlobProto(double_data=[0.1, 0.2])
    double.shape.dim.append(2)
    assert io.blobproto_to_array(double).tolist() == [0.1, 0.2]


def test_a_blob_without_a_shape_is_one_number() -> None:
    assert io.blobproto_to_array(caffe_pb2.BlobProto(data=[123])) == 123
    with pytest.raises(ValueError, match="24 values"):
        io.blobproto_to_array(caffe_pb2.BlobProto(data=range(24)))


def test_several_arrays_go_into_one_string() -> None:
    arrays = [VALUES, VALUES[0], VALUES[0, 0]]
    back = io.blobprotovector_str_to_arraylist(io.arraylist_to_blobprotovector_str(arrays))
    for mine, theirs in zip(arrays, back, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_an_image_goes_into_a_datum_and_back(dtype) -> None:
    datum = io.array_to_datum(VALUES.astype(dtype), label=7)
    assert (datum.channels, datum.height, datum.width, datum.label) == (2, 3, 4, 7)
    assert bool(datum.data) == (dtype == np.uint8)
    back = io.datum_to_array(caffe_pb2.Datum.FromString(datum.SerializeToString()))
    np.testing.assert_array_equal(back, VALUES)
    back[0, 0, 0] = 5
    assert not io.array_to_datum(VALUES).HasField("label")


def test_arrays_that_are_not_images_are_refused() -> None:
    with pytest.raises(ValueError, match="3 axes"):
        io.array_to_datum(VALUES[0])
    with pytest.raises(ValueError, match="encoded"):
        io.datum_to_array(caffe_pb2.Datum(encoded=True, data=b"JPEG"))


IMAGE = np.random.default_rng(5).random((4, 6, 3)).astype(np.float32)


def transformer() -> Transformer:
    made = Transformer({"data": (10, 3, 4, 6)})
    made.set_transpose("data", (2, 0, 1))
    made.set_channel_swap("data", (2, 1, 0))
    made.set_raw_scale("data", 255)
    made.set_mean("data", np.array([104.0, 117, 123]))
    made.set_input_scale("data", 0.5)
    return made


def test_the_steps_run_in_order() -> None:
    before = IMAGE.copy()
    wanted = (IMAGE[:, :, ::-1].transpose(2, 0, 1) * 255 - np.array([104.0, 117, 123])[:, None, None]) * 0.5
    found = transformer().preprocess("data", IMAGE)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
    assert found.dtype == np.float32 and found.shape == (3, 4, 6)
    np.testing.assert_array_equal(IMAGE, before)


def test_deprocess_is_the_inverse() -> None:
    made = transformer()
    back = made.deprocess("data", made.preprocess("data", IMAGE)[np.newaxis])
    np.testing.assert_allclose(back, IMAGE, atol=1e-6)


def test_only_resizing_happens_without_a_setting() -> None:
    made = Transformer({"data": (1, 3, 8, 5)})
    np.testing.assert_array_equal(made.preprocess("data", IMAGE), resize_image(IMAGE, (8, 5)))
    assert made.preprocess("data", (IMAGE * 255).astype(np.uint8)).dtype == np.float32


def test_a_mean_is_a_value_for_each_channel_or_an_image_of_any_size() -> None:
    made = Transformer({"data": (1, 3, 4, 6)})
    made.set_transpose("data", (2, 0, 1))
    image = np.random.default_rng(6).random((3, 4, 6))
    made.set_mean("data", image)
    np.testing.assert_allclose(made.preprocess("data", IMAGE), IMAGE.transpose(2, 0, 1) - image, atol=1e-6)
    made.set_mean("data", np.random.default_rng(6).random((3, 8, 9)) * 100 + 50)
    assert made.mean["data"].shape == (3, 4, 6) and 50 <= made.mean["data"].min() < made.mean["data"].max() <= 150
    made.set_mean("data", np.full((3, 8, 9), 7.0))
    assert (made.mean["data"] == 7).all()
    made.set_mean("data", np.ones((1, 8, 9)))
    assert made.preprocess("data", IMAGE).shape == (3, 4, 6)


@pytest.mark.parametrize(
    ("call", "value", "why"),
    [
        ("set_transpose", (1, 0), "2 axes, but an item of 'data' has 3"),
        ("set_channel_swap", (1, 0), "2 channels, but 'data' has 3"),
        ("set_mean", np.zeros(2), "2 channels, but 'data' has 3"),
        ("set_mean", np.zeros((1, 2, 3, 4)), "4 axes"),
        ("set_mean", np.zeros((2, 8, 9)), "doesn't fit"),
        ("set_mean", np.zeros((8, 9)), "doesn't fit"),
    ],
)
def test_settings_that_do_not_fit_are_refused(call: str, value, why: str) -> None:
    with pytest.raises(NetError, match=why):
        getattr(transformer(), call)("data", value)


def test_only_inputs_have_settings() -> None:
    made = transformer()
    for call in ("set_transpose", "set_channel_swap", "set_raw_scale", "set_mean", "set_input_scale", "preprocess"):
        with pytest.raises(NetError, match="'label' isn't an input; name one of data"):
            getattr(made, call)("label", IMAGE)
    with pytest.raises(NetError):
        made.deprocess("label", IMAGE)

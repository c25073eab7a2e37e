"""A net that classifies windows of images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl import pycaffe
from netdsl.errors import NetError
from netdsl.pycaffe import detector

MEANS = """
input: "data" input_shape { dim: 2 dim: 3 dim: 12 dim: 12 }
layer { type: "Pooling" name: "mean" bottom: "data" top: "mean" pooling_param { pool: AVE global_pooling: true } }
layer { type: "Scale" name: "scale" bottom: "mean" top: "prob" scale_param { filler { value: 1 } } }
"""
IMAGE = np.random.default_rng(7).random((30, 40, 3)).astype(np.float32)


@pytest.fixture
def files(make_net, tmp_path: Path) -> tuple[str, str]:
    make_net(MEANS).save(tmp_path / "x.caffemodel")
    return str(tmp_path / "net.prototxt"), str(tmp_path / "x.caffemodel")


def test_every_window_of_every_image_is_classified(files, monkeypatch) -> None:
    monkeypatch.setattr(detector, "load_image", lambda name: IMAGE * len(name))
    net = pycaffe.Detector(*files)
    windows = [np.array([0, 0, 12, 12]), np.array([3, 8, 15, 20])]
    found = net.detect_windows(iter([("a", windows), ("bb", windows[:1])]))
    assert [(each["filename"], each["window"] is windows[0]) for each in found] == [
        ("a", True),
        ("a", False),
        ("bb", True),
    ]
    wanted = [IMAGE[:12, :12].mean((0, 1)), IMAGE[3:15, 8:20].mean((0, 1)), 2 * IMAGE[:12, :12].mean((0, 1))]
    for each, mean in zip(found, wanted, strict=True):
        np.testing.assert_allclose(each["prediction"].ravel(), mean, rtol=1e-4)
    assert net.detect_windows([]) == []


def test_context_surrounds_the_window(files) -> None:
    """11 x 11 pixels with a border of 2 become 12 x 12. The scale is 12 / 8, so the crop has 18 x 18 pixels."""
    net = pycaffe.Detector(*files, context_pad=2)
    found = net.crop(IMAGE, np.array([10, 15, 21, 26]))
    wanted = pycaffe.io.resize_image(IMAGE[7:25, 12:30], (12, 12))
    assert found.shape == (12, 12, 3)
    np.testing.assert_allclose(found, wanted, atol=1e-5)


def test_the_mean_fills_pixels_outside_the_image(files) -> None:
    mean = np.array([10.0, 20, 30])
    net = pycaffe.Detector(*files, context_pad=2, mean=mean, raw_scale=10, channel_swap=(2, 1, 0))
    found = net.crop(IMAGE, [0, 0, 11, 11])
    np.testing.assert_allclose(found[:2, :, :].reshape(-1, 3), np.tile([3, 2, 1], (24, 1)))
    np.testing.assert_allclose(found[:, :2, :].reshape(-1, 3), np.tile([3, 2, 1], (24, 1)))
    assert (found[2:, 2:] <= 1).all()
    at_the_end = net.crop(IMAGE, [18, 28, 29, 39])
    assert at_the_end[-1, -1].tolist() == [3, 2, 1] and (at_the_end[:8, :8] <= 1).all()


def test_rounding_leaves_no_more_than_the_input(make_net, tmp_path: Path) -> None:
    """Two rows of padding and ten of the image would be one row too many for eleven."""
    make_net(MEANS.replace("dim: 12", "dim: 11")).save(tmp_path / "y.caffemodel")
    net = pycaffe.Detector(str(tmp_path / "net.prototxt"), str(tmp_path / "y.caffemodel"), context_pad=2)
    found = net.crop(IMAGE, [1, 11, 13, 17])
    assert found.shape == (11, 11, 3) and not found[:2].any()
    np.testing.assert_allclose(found[2:], pycaffe.io.resize_image(IMAGE[0:18, 9:20], (9, 11)), atol=1e-6)


def test_a_window_outside_of_the_image_is_an_error(files) -> None:
    net = pycaffe.Detector(*files, context_pad=2)
    with pytest.raises(NetError, match="outside the image of 30 x 40"):
        net.crop(IMAGE, [100, 100, 111, 111])


def test_selective_search_needs_its_program(files) -> None:
    with pytest.raises(NetError, match="detect_windows"):
        pycaffe.Detector(*files).detect_selective_search(["x.png"])

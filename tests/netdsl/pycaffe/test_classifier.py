"""A net that classifies images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl import pycaffe

# Each class's score is the mean of one channel, so that the image shows the prediction.
MEANS = """
input: "data" input_shape { dim: 4 dim: 3 dim: 4 dim: 5 }
layer { type: "Pooling" name: "mean" bottom: "data" top: "mean" pooling_param { pool: AVE global_pooling: true } }
layer { type: "Scale" name: "scale" bottom: "mean" top: "prob" scale_param { filler { value: 1 } } }
"""
IMAGES = np.random.default_rng(7).random((3, 8, 9, 3)).astype(np.float32)


@pytest.fixture
def files(make_net, tmp_path: Path) -> tuple[str, str]:
    make_net(MEANS).save(tmp_path / "x.caffemodel")
    return str(tmp_path / "net.prototxt"), str(tmp_path / "x.caffemodel")


def test_the_center_is_classified(files) -> None:
    net = pycaffe.Classifier(*files, image_dims=(8, 9), raw_scale=255, channel_swap=(2, 1, 0), mean=np.arange(3.0))
    found = net.predict(list(IMAGES), oversample=False)
    wanted = IMAGES[:, 2:6, 2:7, ::-1].mean((1, 2)) * 255 - np.arange(3)
    np.testing.assert_allclose(found.reshape(3, 3), wanted, rtol=1e-4)


def test_ten_crops_are_averaged(files) -> None:
    net = pycaffe.Classifier(*files, image_dims=[8, 9], input_scale=2)
    crops = pycaffe.io.oversample(IMAGES, (4, 5)).reshape(3, 10, 4, 5, 3)
    found = net.predict(IMAGES)
    assert found.shape == (3, 3)
    np.testing.assert_allclose(found, 2 * crops.mean((1, 2, 3)), rtol=1e-4)


def test_images_of_other_sizes_are_resized_to_the_input_by_default(files) -> None:
    net = pycaffe.Classifier(*files)
    assert list(net.image_dims) == [4, 5]
    found = net.predict([IMAGES[0], IMAGES[1, :5]], oversample=False)
    wanted = pycaffe.io.resize_image(IMAGES[1, :5], (4, 5)).mean((0, 1))
    np.testing.assert_allclose(found.reshape(2, 3)[1], wanted, rtol=1e-5)

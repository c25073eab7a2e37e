"""EuclideanLossHeatmap: a mean of squares whose gradient is the difference."""

from __future__ import annotations

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl import Net
from netdsl.errors import ShapeError

NET = """layer { name: 'x' type: 'Input' top: 'x' top: 'y' top: 'image'
    input_param { shape { dim: [2, 3, 4, 4] } shape { dim: [2, 3, 4, HEIGHT] } shape { dim: [2, 3, 8, 8] } } }
  layer { name: 'p' type: 'Scale' bottom: 'x' top: 'p' }
  layer { name: 'l' type: 'EuclideanLossHeatmap' bottom: 'p' bottom: 'y' bottom: 'image' top: 'l' loss_weight: 3 }"""


def net(height: int = 4) -> Net:
    return Net(from_text(NET.replace("HEIGHT", str(height)), pb.NetParameter))


def test_the_loss_is_a_mean_and_the_gradient_the_full_difference() -> None:
    random = np.random.default_rng(0)
    x, y = (random.normal(size=(2, 3, 4, 4)).astype(np.float32) for _ in range(2))
    made = net()
    tops = made.forward(x=x, y=y, image=np.zeros((2, 3, 8, 8), np.float32))
    assert np.isclose(tops["l"], ((x - y) ** 2).mean(), rtol=1e-5)
    made.set_training_data([{"x": x, "y": y, "image": np.zeros((2, 3, 8, 8), np.float32)}])
    made.train(1, base_lr=0.01)
    step = ((x - y) * x).sum((0, 2, 3))  # without the loss_weight and without a division
    assert np.allclose(made.get_weights()["p"][0], 1 - 0.01 * step, rtol=1e-4)


def test_maps_must_have_one_shape() -> None:
    with pytest.raises(ShapeError, match="both bottoms must be maps of the same shape"):
        net(5)

"""Layers as scripts see them."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from netdsl import pycaffe
from netdsl.errors import NetError, ShapeError


class Counting(pycaffe.Layer):
    """Multiplies by a factor that can be changed from outside, and counts its passes."""

    def setup(self, bottom, top) -> None:
        self.factor, self.passes = 10, 0
        self.blobs.add_blob(1)

    def reshape(self, bottom, top) -> None:
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom, top) -> None:
        self.passes += 1
        top[0].data[...] = self.factor * bottom[0].data

    def backward(self, top, propagate_down, bottom) -> None:
        bottom[0].diff[...] = self.factor * top[0].diff
        self.blobs[0].diff[0] = 1


@pytest.fixture
def counting(make_net, monkeypatch) -> pycaffe.Net:
    module = ModuleType("counting_layers")
    module.Counting = Counting  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "counting_layers", module)
    return make_net(
        """
        force_backward: true
        input: "x" input_shape { dim: 2 dim: 3 }
        layer { type: "Python" name: "one" bottom: "x" top: "one"
          python_param { module: "counting_layers" layer: "Counting" } }
        layer { type: "Python" name: "two" bottom: "one" top: "two"
          python_param { module: "counting_layers" layer: "Counting" } }
        """
    )


def test_layers_in_python_run_forward_and_back(counting) -> None:
    counting.blobs["two"].diff[...] = 7
    counting.backward()
    assert (counting.blobs["x"].diff == 700).all()
    counting.blobs["x"].reshape(4, 5)
    assert (counting.forward(x=np.ones((4, 5)))["two"] == 100).all()
    assert counting.params["one"][0].data[0] == 0 and counting.params["one"][0].diff[0] == 1


def test_what_a_layer_in_python_has_can_be_reached_through_the_net(counting) -> None:
    layer = counting.layers[1]
    assert (layer.type, layer.factor, len(layer.blobs)) == ("Python", 10, 1)
    counting.layer_dict["two"].factor = 3
    before = layer.passes
    assert (counting.forward(x=np.ones((2, 3)))["two"] == 30).all()
    assert layer.passes == before + 1


def test_other_layers_have_what_pycaffe_shows(learning) -> None:
    layer = learning.layer_dict["conv"]
    assert layer.type == "Convolution" and layer.blobs[0] is learning.params["conv"][0]
    assert not hasattr(layer, "factor")
    layer.note = "mine"
    assert layer.note == "mine"


def test_a_layer_can_be_set_up_and_reshaped_by_itself(learning) -> None:
    layer, data, conv = learning.layer_dict["conv"], learning.blobs["data"], learning.blobs["conv"]
    data.reshape(2, 2, 6, 5)
    layer.setup([data], [conv])
    layer.reshape([data], [conv])
    assert conv.shape == (2, 7, 5, 4)
    data.reshape(2, 2, 1, 1)
    with pytest.raises(ShapeError, match=r"net.prototxt:5: layer 'conv': its kernel reaches"):
        layer.reshape([data], [conv])
    with pytest.raises(NetError, match="layer 'conv': "):
        layer.setup([data, data], [conv])


def test_setup_and_reshape_of_a_layer_in_python_are_its_own(counting) -> None:
    layer, x, one = counting.layers[1], counting.blobs["x"], counting.blobs["one"]
    x.reshape(4, 5)
    layer.reshape([x], [one])
    assert one.shape == (4, 5)

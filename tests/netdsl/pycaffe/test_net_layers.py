"""Layers as scripts see them, where their passes differ from autograd's own, and which gradients are computed."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from netdsl import pycaffe
from netdsl.errors import NetError, ShapeError


class Counting(pycaffe.Layer):
    """Multiplies by a factor that the test can change, and counts its passes."""

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


def test_python_layers_run_forward_and_backward(counting) -> None:
    counting.blobs["two"].diff[...] = 7
    counting.backward()
    assert (counting.blobs["x"].diff == 700).all()
    counting.blobs["x"].reshape(4, 5)
    assert (counting.forward(x=np.ones((4, 5)))["two"] == 100).all()
    assert counting.params["one"][0].data[0] == 0 and counting.params["one"][0].diff[0] == 1


def test_a_python_layers_attributes_are_accessible_through_the_net(counting) -> None:
    layer = counting.layers[1]
    assert (layer.type, layer.factor, len(layer.blobs)) == ("Python", 10, 1)
    counting.layer_dict["two"].factor = 3
    before = layer.passes
    assert (counting.forward(x=np.ones((2, 3)))["two"] == 30).all()
    assert layer.passes == before + 1


def test_other_layers_have_pycaffes_attributes(learning) -> None:
    layer = learning.layer_dict["conv"]
    assert layer.type == "Convolution" and layer.blobs[0] is learning.params["conv"][0]
    assert not hasattr(layer, "factor")
    layer.note = "mine"
    assert layer.note == "mine"


def test_a_layer_can_be_set_up_and_reshaped_alone(learning) -> None:
    layer, data, conv = learning.layer_dict["conv"], learning.blobs["data"], learning.blobs["conv"]
    data.reshape(2, 2, 6, 5)
    layer.setup([data], [conv])
    layer.reshape([data], [conv])
    assert conv.shape == (2, 7, 5, 4)
    data.reshape(2, 2, 1, 1)
    with pytest.raises(ShapeError, match=r"net.prototxt:5: layer 'conv': the kernel covers"):
        layer.reshape([data], [conv])
    with pytest.raises(NetError, match="layer 'conv': "):
        layer.setup([data, data], [conv])


def test_setup_and_reshape_call_a_python_layers_own_methods(counting) -> None:
    layer, x, one = counting.layers[1], counting.blobs["x"], counting.blobs["one"]
    x.reshape(4, 5)
    layer.reshape([x], [one])
    assert one.shape == (4, 5)


def test_values_written_between_the_passes_count_in_the_second(learning) -> None:
    learning.forward()
    values = np.random.default_rng(4).standard_normal(learning.blobs["conv"].shape, np.float32)
    learning.blobs["conv"].data[...] = values
    learning.blobs["scores"].diff[...] = 1
    learning.backward(start="ip", end="ip")
    wanted = np.tile(values.reshape(5, -1).sum(0), (6, 1))
    np.testing.assert_allclose(learning.params["ip"][0].diff, wanted, rtol=1e-4, atol=1e-5)


def test_a_layer_that_runs_again_before_the_backward_pass_counts_once(learning) -> None:
    learning.forward()
    learning.backward()
    wanted = learning.params["conv"][0].diff.copy()
    learning.clear_param_diffs()
    learning.forward(start="relu", end="relu")
    learning.forward(start="relu")
    learning.backward()
    np.testing.assert_allclose(learning.params["conv"][0].diff, wanted, rtol=1e-6)


def test_an_in_place_scale_learns_from_the_values_that_it_read(make_net) -> None:
    net = make_net(
        """
        force_backward: true
        input: "x" input_shape { dim: 2 dim: 3 }
        layer { type: "Power" name: "p" bottom: "x" top: "p" power_param { scale: 2 } }
        layer { type: "Scale" name: "s" bottom: "p" top: "p" scale_param { filler { value: 5 } } }
        """
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    shown = net.blobs["p"].data
    for _ in range(2):
        net.forward(x=x)
    net.backward(p=np.ones((2, 3)))
    np.testing.assert_array_equal(shown, 10 * x)
    np.testing.assert_array_equal(net.params["s"][0].diff, 2 * x.sum(0))
    assert (net.blobs["x"].diff == 10).all()


def test_a_layer_without_tops_sends_zeros(make_net) -> None:
    net = make_net(
        """
        force_backward: true
        input: "x" input_shape { dim: 2 dim: 3 }
        layer { type: "Silence" name: "s" bottom: "x" }
        """
    )
    net.blobs["x"].diff[...] = 1
    net.forward()
    assert not net.backward()["x"].any()


def test_a_parameter_that_two_layers_share_has_the_sum_of_their_gradients(make_net) -> None:
    layer = """layer { type: "InnerProduct" name: "%s" bottom: "%s" top: "%s" param { name: "w" }
      inner_product_param { num_output: 3 bias_term: false weight_filler { type: "gaussian" std: 1 } } }"""
    net = make_net(
        'input: "x" input_shape { dim: 2 dim: 3 } input: "y" input_shape { dim: 2 dim: 3 }'
        + layer % ("one", "x", "a")
        + layer % ("two", "a", "b")
        + 'layer { type: "EuclideanLoss" name: "loss" bottom: "b" bottom: "y" top: "loss" }'
    )
    net.forward(x=np.ones((2, 3)), y=np.zeros((2, 3)))
    net.backward()
    a, b = net.blobs["a"], net.blobs["b"]
    wanted = b.diff.T @ a.data + a.diff.T @ net.blobs["x"].data
    for name in ("one", "two"):
        np.testing.assert_allclose(net.params[name][0].diff, wanted, rtol=1e-5)
    net.params["one"][0].data[...] = 2
    assert (net.params["two"][0].data == 2).all()


@pytest.mark.parametrize("name", ["Split", "Slice"])
def test_every_top_of_a_layer_can_be_written_separately(make_net, name: str) -> None:
    net = make_net(
        f"""
        input: "x" input_shape {{ dim: 1 dim: 4 }}
        layer {{ type: "{name}" name: "s" bottom: "x" top: "a" top: "b" }}
        """
    )
    net.forward(x=np.ones((1, 4)))
    net.blobs["a"].data[...] = 5
    assert (net.blobs["x"].data == 1).all() and (net.blobs["b"].data == 1).all()


def test_a_passed_on_blob_is_independent_of_the_original(make_net) -> None:
    net = make_net(
        """
        force_backward: true
        input: "x" input_shape { dim: 2 dim: 3 }
        layer { type: "Dropout" name: "d" bottom: "x" top: "d" }
        """,
        pycaffe.TEST,
    )
    net.blobs["x"].data[...] = 1
    net.blobs["d"].diff[...] = 2
    net._forward(0, 1)
    net._backward(1, 0)
    net.blobs["x"].data[...] = 7
    net.blobs["d"].diff[...] = 7
    assert (net.blobs["d"].data == 1).all() and (net.blobs["x"].diff == 2).all()


def test_an_error_while_running_names_the_layer(learning) -> None:
    learning.blobs["data"].reshape(5, 3, 3, 4)
    with pytest.raises(NetError, match="layer 'conv': the weights are for 2 channels"):
        learning.forward()


def test_a_top_may_be_reshaped_between_the_passes(learning) -> None:
    learning.forward()
    learning.blobs["scores"].reshape(30)
    learning.blobs["scores"].diff[...] = 1
    learning.backward(start="ip", end="ip")
    assert (learning.params["ip"][1].diff == 5).all()


INPUTS = 'input: "x" input_shape { dim: 2 dim: 3 } input: "y" input_shape { dim: 2 dim: 3 }'
IP = """layer { type: "InnerProduct" name: "%s" bottom: "%s" top: "%s" %s
  inner_product_param { num_output: 3 weight_filler { type: "gaussian" std: 1 } } }"""
LOSS = 'layer { type: "EuclideanLoss" name: "loss" bottom: "%s" bottom: "y" top: "loss" %s }'


def touched(net) -> set[str]:
    """Return the blobs and layers whose gradients a backward pass wrote."""
    for blob in [*net.blobs.values(), *(blob for blobs in net.params.values() for blob in blobs)]:
        blob.diff[...] = 1e6
    net.forward(x=np.ones((2, 3)), y=np.zeros((2, 3)))
    net.backward()
    blobs = {name for name, blob in net.blobs.items() if (blob.diff != 1e6).any()}
    return blobs | {name.upper() for name, own in net.params.items() if (own[0].diff != 1e6).any()}


def test_gradients_flow_from_the_loss_only_as_far_as_layers_that_learn(make_net) -> None:
    assert touched(make_net(INPUTS + IP % ("a", "x", "a", "") + IP % ("b", "a", "b", "") + LOSS % ("b", ""))) == {
        "a", "b", "A", "B"
    }  # fmt: skip


def test_a_layer_that_does_not_learn_passes_gradients_at_no_cost(make_net) -> None:
    frozen = "param { lr_mult: 0 } param { lr_mult: 0 }"
    net = make_net(INPUTS + IP % ("a", "x", "a", frozen) + IP % ("b", "a", "b", "") + LOSS % ("b", ""))
    assert touched(net) == {"b", "B"}
    net = make_net(INPUTS + IP % ("a", "x", "a", "") + IP % ("b", "a", "b", frozen) + LOSS % ("b", ""))
    assert touched(net) == {"a", "b", "A"}


def test_without_a_loss_backward_runs_only_if_forced(make_net) -> None:
    net = (
        INPUTS
        + IP % ("a", "x", "a", "")
        + 'layer { type: "Power" name: "p" bottom: "a" top: "p" power_param { scale: 2 } }'
    )
    assert touched(make_net(net)) == set()
    assert touched(make_net("force_backward: true " + net)) == {"x", "a", "A"}


def test_a_branch_without_a_loss_is_left_out(make_net) -> None:
    net = INPUTS + IP % ("a", "x", "a", "") + IP % ("b", "x", "b", "") + LOSS % ("a", "")
    assert touched(make_net(net)) == {"a", "A"}


def test_a_layer_without_a_gradient_from_any_top_is_left_out(make_net) -> None:
    """One top of the slice has no loss, and the gradient of the other is stopped, so Caffe doesn't run the layer's
    backward pass."""
    six = """layer { type: "InnerProduct" name: "a" bottom: "x" top: "a" inner_product_param { num_output: 6
      weight_filler { type: "gaussian" std: 1 } } } layer { type: "Slice" name: "s" bottom: "a" top: "b" top: "c" }"""
    for first, wanted in (
        (LOSS % ("c", "propagate_down: false propagate_down: false"), set()),
        (LOSS % ("c", ""), {"a", "c", "A"}),
    ):
        assert (
            touched(make_net(INPUTS + six + 'layer { type: "Power" name: "q" bottom: "b" top: "q" }' + first)) == wanted
        )


def test_propagate_down_stops_and_sends_gradients(make_net) -> None:
    stopped = INPUTS + IP % ("a", "x", "a", "") + IP % ("b", "a", "b", "propagate_down: false") + LOSS % ("b", "")
    assert touched(make_net(stopped)) == {"b", "B"}
    assert "A" in touched(make_net("force_backward: true " + stopped))
    sent = INPUTS + IP % ("a", "x", "a", "propagate_down: true") + LOSS % ("a", "")
    assert touched(make_net(sent)) == {"x", "a", "A"}


def test_labels_get_no_gradient_even_if_forced(make_net) -> None:
    net = make_net(
        """
        force_backward: true
        input: "x" input_shape { dim: 2 dim: 3 }
        input: "y" input_shape { dim: 2 }
        layer { type: "SoftmaxWithLoss" name: "loss" bottom: "x" bottom: "y" top: "loss" }
        """
    )
    net.blobs["y"].diff[...] = 7
    net.forward()
    found = net.backward()
    assert found["x"].any() and (found["y"] == 7).all()

"""One layer's passes, where they differ from what autograd does by itself."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl import pycaffe
from netdsl.errors import NetError


def test_what_is_written_between_the_passes_counts_in_the_second(learning) -> None:
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


def test_a_scale_in_place_learns_from_what_it_read(make_net) -> None:
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
def test_every_top_of_a_layer_can_be_written_to_by_itself(make_net, name: str) -> None:
    net = make_net(
        f"""
        input: "x" input_shape {{ dim: 1 dim: 4 }}
        layer {{ type: "{name}" name: "s" bottom: "x" top: "a" top: "b" }}
        """
    )
    net.forward(x=np.ones((1, 4)))
    net.blobs["a"].data[...] = 5
    assert (net.blobs["x"].data == 1).all() and (net.blobs["b"].data == 1).all()


def test_what_a_layer_only_passes_on_stays_when_the_other_blob_is_written_to(make_net) -> None:
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
    with pytest.raises(NetError, match="layer 'conv': takes 2 channels"):
        learning.forward()


def test_a_top_may_be_reshaped_between_the_passes(learning) -> None:
    learning.forward()
    learning.blobs["scores"].reshape(30)
    learning.blobs["scores"].diff[...] = 1
    learning.backward(start="ip", end="ip")
    assert (learning.params["ip"][1].diff == 5).all()

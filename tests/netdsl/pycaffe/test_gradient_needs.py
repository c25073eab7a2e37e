"""Which gradients are computed, by the rules of Caffe's Net::Init."""

from __future__ import annotations

import numpy as np

INPUTS = 'input: "x" input_shape { dim: 2 dim: 3 } input: "y" input_shape { dim: 2 dim: 3 }'
IP = """layer { type: "InnerProduct" name: "%s" bottom: "%s" top: "%s" %s
  inner_product_param { num_output: 3 weight_filler { type: "gaussian" std: 1 } } }"""
LOSS = 'layer { type: "EuclideanLoss" name: "loss" bottom: "%s" bottom: "y" top: "loss" %s }'


def touched(net) -> set[str]:
    """The blobs and layers that a backward pass wrote gradients of."""
    for blob in [*net.blobs.values(), *(blob for blobs in net.params.values() for blob in blobs)]:
        blob.diff[...] = 1e6
    net.forward(x=np.ones((2, 3)), y=np.zeros((2, 3)))
    net.backward()
    blobs = {name for name, blob in net.blobs.items() if (blob.diff != 1e6).any()}
    return blobs | {name.upper() for name, own in net.params.items() if (own[0].diff != 1e6).any()}


def test_gradients_go_from_the_loss_to_what_learns_and_no_further(make_net) -> None:
    assert touched(make_net(INPUTS + IP % ("a", "x", "a", "") + IP % ("b", "a", "b", "") + LOSS % ("b", ""))) == {
        "a", "b", "A", "B"
    }  # fmt: skip


def test_a_layer_that_does_not_learn_stops_nothing_but_costs_nothing(make_net) -> None:
    frozen = "param { lr_mult: 0 } param { lr_mult: 0 }"
    net = make_net(INPUTS + IP % ("a", "x", "a", frozen) + IP % ("b", "a", "b", "") + LOSS % ("b", ""))
    assert touched(net) == {"b", "B"}
    net = make_net(INPUTS + IP % ("a", "x", "a", "") + IP % ("b", "a", "b", frozen) + LOSS % ("b", ""))
    assert touched(net) == {"a", "b", "A"}


def test_without_a_loss_there_is_nothing_to_do_unless_it_is_forced(make_net) -> None:
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


def test_a_layer_whose_tops_all_end_or_are_stopped_is_left_out(make_net) -> None:
    """One part of the slice has no loss and the gradient of the other is stopped, so Caffe doesn't visit it."""
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


def test_labels_get_no_gradient_even_if_it_is_forced(make_net) -> None:
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

"""Arrays that a script holds on to."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.pycaffe.memory import ArrayMemory

CPU = torch.device("cpu")


def test_an_array_that_was_asked_for_once_shows_what_is_computed_later(learning) -> None:
    held = {name: learning.blobs[name].data for name in ("conv", "scores", "loss")}
    held_diff = learning.blobs["conv"].diff
    out = learning.forward()
    first = {name: array.copy() for name, array in held.items()}
    learning.backward()
    assert all(array.any() for array in first.values()) and held_diff.any()
    learning.blobs["data"].data[...] *= 3
    learning.forward()
    for name, array in held.items():
        assert not np.array_equal(array, first[name])
        np.testing.assert_array_equal(array, learning.blobs[name].data)
    assert out["loss"] == held["loss"]


def test_holding_arrays_changes_no_gradient(learning) -> None:
    learning.blobs["data"].data[...] = np.random.default_rng(3).standard_normal((5, 2, 3, 4))
    learning.forward()
    learning.backward()
    wanted = learning.params["conv"][0].diff.copy()
    learning.clear_param_diffs()
    shown = [(blob.data, blob.diff) for blob in learning.blobs.values()]
    for _ in range(2):
        learning.forward()
    learning.backward()
    assert shown
    np.testing.assert_allclose(learning.params["conv"][0].diff, wanted, rtol=1e-6)


def test_a_blob_that_another_layer_only_passes_on_has_values_of_its_own(make_net) -> None:
    net = make_net(
        """
        input: "x" input_shape { dim: 2 dim: 3 }
        layer { type: "Power" name: "p" bottom: "x" top: "p" power_param { shift: 1 } }
        layer { type: "Dropout" name: "d" bottom: "p" top: "d" }
        layer { type: "ReLU" name: "r" bottom: "d" top: "d" }
        """,
        1,
    )
    net.blobs["x"].data[...] = -3
    for _ in range(2):
        arrays = {name: blob.data for name, blob in net.blobs.items()}
        net.forward()
    assert (arrays["p"] == -2).all() and (arrays["d"] == 0).all()
    arrays["p"][...] = 5
    assert (net.blobs["d"].data == 0).all()


def test_a_smaller_shape_keeps_the_memory_and_a_bigger_one_takes_more() -> None:
    store = ArrayMemory((2, 3), CPU)
    held = store.show().numpy()
    held[...] = np.arange(6).reshape(2, 3)
    store.resize((3, 2))
    assert store.show().tolist() == [[0, 1], [2, 3], [4, 5]]
    store.resize((2,))
    store.show()[0] = 9
    assert held[0, 0] == 9
    store.resize((2, 3))
    assert store.show().numpy()[1, 2] == 5
    store.resize((7,))
    assert store.show().tolist() == [0] * 7


@pytest.mark.parametrize("look", [False, True])
def test_values_remain_when_a_blob_is_reshaped(learning, look: bool) -> None:
    learning.forward()
    if look:
        assert learning.blobs["scores"].data.any()
    learning.blobs["scores"].reshape(3, 10)
    values = learning.blobs["scores"].data.copy()
    learning.forward()
    np.testing.assert_array_equal(learning.blobs["scores"].data.ravel(), values.ravel())


def test_a_parameter_can_be_reshaped(learning) -> None:
    blob = learning.params["ip"][0]
    learning.forward()
    learning.backward()
    values, gradient = blob.data.copy(), blob.diff.copy()
    blob.reshape(*values.shape[::-1])
    assert blob.shape == values.shape[::-1] and blob.count == values.size
    np.testing.assert_array_equal(blob.data.ravel(), values.ravel())
    np.testing.assert_array_equal(blob.diff.ravel(), gradient.ravel())
    blob.reshape(100, 100)
    assert blob.data.shape == blob.diff.shape == (100, 100)

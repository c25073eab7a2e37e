"""Blobs: their legacy names, arrays that a script keeps, and tensors that aren't in main memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from netdsl.errors import ShapeError
from netdsl.pycaffe.blob import ArrayMemory, ArrayMirror


def test_legacy_axis_names_work(make_net) -> None:
    net = make_net(
        'input: "x" input_shape { dim: 2 dim: 3 } input: "y" input_shape { dim: 1 dim: 1 dim: 1 dim: 1 dim: 1 }'
    )
    blob = net.blobs["x"]
    assert (blob.num, blob.channels, blob.height, blob.width, blob.count) == (2, 3, 1, 1, 6)
    with pytest.raises(ShapeError, match="4 axes"):
        _ = net.blobs["y"].num


def test_a_shape_has_no_negative_axis(learning) -> None:
    with pytest.raises(ShapeError, match="contains a negative length"):
        learning.blobs["data"].reshape(2, -1)


class Remote:
    """A tensor on a device whose memory numpy can't access."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.data, self.device, self.shape = tensor, SimpleNamespace(type="cuda"), tensor.shape

    def detach(self) -> Remote:
        return self

    def cpu(self) -> torch.Tensor:
        return self.data.clone()


def test_an_array_of_a_remote_tensor_is_copied_there_and_back() -> None:
    remote, mirror = Remote(torch.zeros(2, 3)), ArrayMirror()
    held = mirror.show(remote)
    held[0, 1] = 5
    assert mirror.show(remote)[0, 1] == 5 and remote.data[0, 1] == 0
    mirror.flush()
    assert remote.data[0, 1] == 5
    remote.data.fill_(7)
    mirror.flush()
    assert (remote.data == 7).all()
    assert mirror.show(remote) is held and (held == 7).all()
    assert mirror.show(Remote(torch.ones(4))).shape == (4,)
    assert isinstance(held, np.ndarray)


CPU = torch.device("cpu")


def test_an_array_that_a_script_keeps_shows_later_values(learning) -> None:
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


def test_keeping_arrays_changes_no_gradient(learning) -> None:
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


def test_a_blob_that_a_layer_passes_on_has_its_own_values(make_net) -> None:
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

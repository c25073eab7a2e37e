"""The arrays of a MemoryData layer."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import NetError

MEMORY = """
layer { type: "MemoryData" name: "m" top: "data" top: "label"
  memory_data_param { batch_size: 2 channels: 1 height: 1 width: 3 } }
layer { type: "Power" name: "p" bottom: "data" top: "p" power_param { scale: 2 } }
"""


def test_batches_come_in_turn_and_again(make_net) -> None:
    net = make_net(MEMORY)
    data = np.arange(18, dtype=np.float32).reshape(6, 1, 1, 3)
    net.set_input_arrays(data, np.arange(6, dtype=np.float32))
    for first in (0, 2, 4, 0):
        assert net.forward()["p"].ravel().tolist() == (2 * data[first : first + 2]).ravel().tolist()
        assert net.blobs["label"].data.tolist() == [first, first + 1]
    net.forward(start="p")
    assert net.blobs["label"].data.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("data", "labels", "why"),
    [
        (np.zeros((2, 1, 1, 3)), np.zeros(2, np.float32), "data must be float32"),
        (np.zeros((2, 3, 1, 1), np.float32).T.copy().T, np.zeros(2, np.float32), "C-contiguous"),
        (np.zeros((2, 1, 1, 4), np.float32), np.zeros(2, np.float32), "N x 1 x 1 x 3"),
        (np.zeros((2, 1, 1, 3), np.float32), np.zeros((2, 3), np.float32), "labels must have"),
        (np.zeros((2, 1, 1, 3), np.float32), np.zeros(4, np.float32), "2 items and 4 labels"),
        (np.zeros((3, 1, 1, 3), np.float32), np.zeros(3, np.float32), "no whole number of batches of 2"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(make_net, data, labels, why: str) -> None:
    with pytest.raises(NetError, match=why):
        make_net(MEMORY).set_input_arrays(data, labels)


def test_only_a_memory_data_layer_takes_arrays(learning) -> None:
    with pytest.raises(NetError, match="MemoryData"):
        learning.set_input_arrays(np.zeros((2, 1, 1, 3), np.float32), np.zeros(2, np.float32))

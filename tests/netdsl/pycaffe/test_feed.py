"""What pycaffe's nets read: the arrays of a MemoryData layer, and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl import pycaffe
from netdsl.errors import DataError, NetError

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


@pytest.fixture
def reading(make_net, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that makes a net which reads rows of 3 x 2 numbers, all equal to the row's label."""
    h5py = pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    with h5py.File("rows.h5", "w") as file:
        file["data"] = np.arange(30, dtype=np.float32).repeat(6).reshape(30, 3, 2)
        file["label"] = np.arange(30, dtype=np.float32)
    Path("files.txt").write_text("rows.h5\n")
    text = """
    layer {{ type: "HDF5Data" name: "d" top: "data" top: "label"
      hdf5_data_param {{ source: "files.txt" batch_size: 4 {} }} }}
    layer {{ type: "Power" name: "p" bottom: "data" top: "p" power_param {{ scale: 2 }} }}
    """
    return lambda settings="", phase=pycaffe.TEST: make_net(text.format(settings), phase)


def test_a_net_reads_a_batch_whenever_its_data_layer_runs(reading) -> None:
    net = reading()
    assert {name: blob.shape for name, blob in net.blobs.items()} == {"data": (4, 3, 2), "label": (4,), "p": (4, 3, 2)}
    assert net.inputs == []
    held = net.blobs["label"].data
    for first in (0, 4, 8):
        assert net.forward()["p"][:, 2, 1].tolist() == [2 * (first + at) for at in range(4)]
        assert held.tolist() == [first + at for at in range(4)]
    net.forward(start="p")
    net.forward(end="d")
    assert held.tolist() == [12, 13, 14, 15]


def test_the_seed_is_the_one_of_caffe(reading) -> None:
    orders = []
    for seed in (3, 3, 4):
        pycaffe.set_random_seed(seed)
        net = reading("shuffle: true")
        net.forward()
        orders.append(net.blobs["label"].data.tolist())
    assert orders[0] == orders[1] != orders[2]


def test_solvers_share_what_they_train_on(reading, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pycaffe.modes._mode, "solver_count", 3)
    monkeypatch.setattr(pycaffe.modes._mode, "solver_rank", 1)
    for phase, wanted in ((pycaffe.TRAIN, [1, 4, 7, 10]), (pycaffe.TEST, [0, 1, 2, 3])):
        net = reading(phase=phase)
        net.forward()
        assert net.blobs["label"].data.tolist() == wanted


def test_a_net_needs_its_files(make_net) -> None:
    text = 'layer { type: "Data" name: "d" top: "x" data_param { source: "nowhere" backend: LMDB batch_size: 2 } }'
    with pytest.raises(DataError, match="layer 'd': nowhere"):
        make_net(text)

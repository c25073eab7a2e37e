"""A net on a pretended GPU through its public interfaces: `Net`, pycaffe, and snapshots that are resumed there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pytest
import torch
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl import Net, pycaffe
from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.model import Model
from netdsl.prediction.scoring import RowScore, Scorer
from netdsl.solver.solver import Solver
from netdsl.solver.state import restore
from tests.netdsl.test_training_on_a_gpu import CPU, SETTINGS, net_on
from tests.pretend_gpu import GPU, on_gpu, pretend_gpu

Arrays = dict[str, NDArray[np.float32]]
ROUNDING = 1e-6  # a CPU adds losses and updates weights in fewer operations, which rounds differently

NET = """
layer { name: "in" type: "Input" top: "x" top: "label" input_param { shape { dim: 6 dim: 3 } shape { dim: 6 } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
        inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
layer { name: "norm" type: "BatchNorm" bottom: "ip" top: "ip" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
"""
BATCH = {"x": np.arange(18, dtype=np.float32).reshape(6, 3) % 5, "label": np.arange(6, dtype=np.float32) % 4}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "net.prototxt"
    file.write_text(NET)
    return file


def trained(path: Path, device: torch.device) -> tuple[list[NDArray[np.float32]], dict[str, float], float]:
    """Return the weights, the test results and an output of a net that was trained, saved and loaded again."""
    torch.manual_seed(6)
    net = Net(path, phase="TRAIN").to(device)
    net.set_training_data([BATCH])
    net.train(4, base_lr=0.1)
    weights = path.with_suffix(".caffemodel")
    net.save(weights)
    again = Net(path, weights=weights, phase="TRAIN").to(device)
    again.set_validation_data([BATCH])
    again.set_weights(net.get_weights())
    output = again.forward(**BATCH)["loss"]
    assert again.device == output.device == device
    return [blob for blobs in again.get_weights().values() for blob in blobs], again.test(2), float(output)


def test_a_net_is_trained_tested_and_saved(path: Path) -> None:
    expected = trained(path, CPU)
    with pretend_gpu():
        found = trained(path, GPU)
    for one, other in zip(found[0], expected[0], strict=True):
        np.testing.assert_allclose(one, other, rtol=ROUNDING, atol=ROUNDING)
    for one, other in zip(found[1:], expected[1:], strict=True):
        assert one == pytest.approx(other, rel=ROUNDING)


def gradients(path: Path) -> Arrays:
    """Return pycaffe's arrays after a forward and a backward pass."""
    net = pycaffe.Net(str(path), pycaffe.TRAIN)
    for name, blobs in net.params.items():
        for blob in blobs:
            blob.data[...] = np.linspace(-1, 1, blob.count, dtype=np.float32).reshape(blob.shape) if name == "ip" else 0
    for name, value in BATCH.items():
        net.blobs[name].data[...] = value
    net.forward()
    net.backward()
    return {
        "top": net.blobs["ip"].data.copy(),
        "bottom": net.blobs["ip"].diff.copy(),
        "weights": net.params["ip"][0].diff.copy(),
        "sums": net.params["norm"][0].data.copy(),
    }


def test_scripts_of_pycaffe_read_and_write_arrays(path: Path) -> None:
    expected = gradients(path)
    with pretend_gpu():
        pycaffe.set_mode_gpu()
        try:
            found = gradients(path)
        finally:
            pycaffe.set_mode_cpu()
    assert any(value.any() for value in expected.values())
    for name, value in found.items():
        np.testing.assert_array_equal(value, expected[name])


def test_a_snapshot_is_resumed_to_the_same_bits(tmp_path: Path) -> None:
    param = pb.SolverParameter(**SETTINGS, type="Adam", snapshot_prefix=str(tmp_path / "saved"))
    with pretend_gpu():
        first = Solver(param, net_on(GPU))
        first.step(2)
        saved = first.snapshot()
        first.step(2)
        second = Solver(param, net_on(GPU))
        restore(second, saved.state)
        assert not torch.equal(first.weights.buffer, second.weights.buffer)
        second.step(2)
        assert on_gpu(second.weights.buffer)
        assert torch.equal(first.weights.buffer, second.weights.buffer)
        for solver in (first, second):
            solver.net.close()


def scored(device: torch.device) -> RowScore:
    net = from_text(NET, pb.NetParameter)
    weights = {"ip": [np.eye(4, 3, dtype=np.float32), np.zeros(4, np.float32)]}
    weights["norm"] = [np.zeros(4, np.float32), np.ones(4, np.float32), np.ones(1, np.float32)]
    columns = {"x": pyarrow.array(list(BATCH["x"])), "label": pyarrow.array(BATCH["label"])}
    return Scorer(Model(net, weights), {}, device).score([pyarrow.record_batch(columns)], "the table")


def test_rows_are_scored_with_one_wait_for_each_batch() -> None:
    expected = scored(CPU)
    with pretend_gpu() as gpu:
        found = scored(GPU)
    assert found.rows == expected.rows
    assert found.outputs.keys() == expected.outputs.keys()
    assert found.loss == pytest.approx(expected.loss, rel=ROUNDING)
    assert found.outputs["loss"] == pytest.approx(expected.outputs["loss"], rel=ROUNDING)
    assert [stop.operation for stop in gpu.stops if "scoring.py" in stop.where] == ["Tensor.tolist"]


CODE = """
from netdsl.pycaffe.python_layer import Layer


class Squared(Layer):
    def setup(self, bottom, top):
        self.blobs.add_blob(1)
        self.blobs[0].data[...] = 3

    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)

    def forward(self, bottom, top):
        top[0].data[...] = bottom[0].data ** 2 * self.blobs[0].data

    def backward(self, top, propagate_down, bottom):
        self.blobs[0].diff[...] += (top[0].diff * bottom[0].data ** 2).sum()
        bottom[0].diff[...] = 2 * top[0].diff * bottom[0].data * self.blobs[0].data
"""
SQUARED = """
layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 6 dim: 3 } } }
layer { name: "own" type: "Python" bottom: "x" top: "y" python_param { module: "squared_layer" layer: "Squared" } }
"""


def squared(device: torch.device) -> list[list[float]]:
    """Return a top, and the gradients of the bottom and of a blob."""
    with PYTHON_LAYERS.allowing({"squared_layer": ""}):
        module = Net(from_text(SQUARED, pb.NetParameter)).to(device).module
        x = torch.from_numpy(BATCH["x"]).to(device).requires_grad_()
        top = module(x)["y"]
        top.sum().backward()
        (blob,) = module.parameters()
        assert top.device == x.grad.device == blob.grad.device == device
        return [tensor.flatten().tolist() for tensor in (top, x.grad, blob.grad)]


def test_a_users_code_runs_on_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "squared_layer.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    expected = squared(CPU)
    with pretend_gpu():
        assert squared(GPU) == expected

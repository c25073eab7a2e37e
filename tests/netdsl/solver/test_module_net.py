"""A module with its data, on one device and on several."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import NetError
from netdsl.net.compute_precision import ComputePrecision
from netdsl.solver.module_net import Compute, ModuleNet

NET = """
layer {{ name: "data" type: "HDF5Data" top: "x" top: "y" hdf5_data_param {{ source: "{list}" batch_size: {batch} }} }}
layer {{ name: "ip" type: "InnerProduct" bottom: "x" top: "p" inner_product_param {{ num_output: 2 }} }}
layer {{ name: "loss" type: "EuclideanLoss" bottom: "p" bottom: "y" top: "loss" loss_weight: 2 }}
layer {{ name: "out" type: "Power" bottom: "x" top: "double" power_param {{ scale: 2 }} }}
"""
CPU = torch.device("cpu")


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    x = np.random.default_rng(3).normal(size=(12, 3)).astype(np.float32)
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["x"], file["y"] = x, x[:, :2] + 1
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'rows.h5'}\n")
    return tmp_path / "list.txt"


def net_of(listed: Path, batch: int) -> pb.NetParameter:
    net = from_text(NET.format(list=listed, batch=batch), pb.NetParameter)
    net.state.phase = pb.TRAIN
    return net


def test_it_runs_on_what_its_data_layers_read(listed: Path) -> None:
    net = ModuleNet(net_of(listed, 4))
    assert (net.batch_size, net.built.shapes[0]) == (4, (4, 3))
    loss = net.forward()
    with h5py.File(listed.parent / "rows.h5") as file:
        first = file["x"][:4]
        expected = 2 * np.square(file["y"][:4]).sum() / 8  # weights are zero
    assert loss.item() == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(net.outputs()["double"], first * 2)
    assert net.loss_weights() == {"loss": 2}
    assert net.positions() == {"data": 1}
    net.seek({"data": 0})
    assert net.forward().item() == pytest.approx(expected, rel=1e-6)
    net.close()


def test_bfloat16_computes_coarsely_and_keeps_weights_whole(listed: Path) -> None:
    net = ModuleNet(net_of(listed, 4), Compute(precision=ComputePrecision.BF16))
    net.forward_backward()
    layer = net.built.layers[1]
    assert layer.weight.dtype == layer.weight.grad.dtype == torch.float32
    exact = ModuleNet(net_of(listed, 4))
    exact.forward_backward()
    gap = (exact.built.layers[1].weight.grad - layer.weight.grad).abs().max()
    assert 0 < gap < 0.05
    net.close()
    exact.close()


@pytest.mark.parametrize("precision", list(ComputePrecision))
def test_products_are_rounded_to_tf32_only_if_that_is_asked_for(listed: Path, precision: ComputePrecision) -> None:
    seen = []

    def look(*_: object) -> None:
        seen.append((torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32))

    before = torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32
    net = ModuleNet(net_of(listed, 4), Compute(precision=precision))
    net.built.layers[1].register_forward_hook(look)
    net.built.layers[1].weight.register_hook(look)
    net.forward_backward()
    wanted = precision is ComputePrecision.TF32
    assert seen == [(wanted, wanted)] * 2
    assert (torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32) == before
    net.close()


def test_a_label_out_of_range_is_told_with_the_layer(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        file["x"], file["y"] = np.zeros((4, 3), np.float32), np.array([0, 1, 7, 1], np.float32)
    (tmp_path / "list.txt").write_text(f"{tmp_path / 'rows.h5'}\n")
    net = net_of(tmp_path / "list.txt", 4)
    net.layer[2].type = "SoftmaxWithLoss"
    running = ModuleNet(net)
    with pytest.raises(NetError, match=r"layer 'loss': label 7 is none of 2 classes, which are 0 to 1"):
        running.forward_backward()
    running.close()

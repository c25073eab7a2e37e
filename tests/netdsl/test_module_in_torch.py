"""netdsl's modules support torch's usual operations: compile, export, autocast, other layouts and types, copies."""

from __future__ import annotations

import copy
import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from netdsl import (
    LRN,
    BatchNorm,
    Concat,
    ConvLayer,
    Dropout,
    Eltwise,
    HDF5Output,
    LinearLayer,
    Net,
    NetParams,
    PoolLayer,
    RDDLayer,
    ReLU,
    Scale,
    Softmax,
)
from netdsl.dsl import Average
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule

MSRA = {"type": "msra"}
IMAGE = (3, 17, 15)
PARAMS = NetParams(
    "small",
    RDDLayer("data", shape=[2, *IMAGE]),
    ConvLayer("conv1", ["data"], kernel=3, num_filters=8, pad=1, bias_term=False, weight_filler=MSRA),
    BatchNorm("norm1", ["conv1"], in_place=True),
    Scale("scale1", ["conv1"], in_place=True, bias_term=True),
    ReLU("relu1", ["conv1"], in_place=True),
    PoolLayer("pool1", ["conv1"], kernel=3, stride=2),
    LRN("lrn1", ["pool1"], local_size=5, alpha=0.1, beta=0.75),
    ConvLayer("conv2a", ["lrn1"], kernel=1, num_filters=4, weight_filler=MSRA),
    ReLU("relu2a", ["conv2a"], in_place=True),
    ConvLayer("conv2b", ["lrn1"], kernel=3, num_filters=4, pad=1, weight_filler=MSRA),
    Eltwise("sum", ["conv2a", "conv2b"]),
    Concat("both", ["sum", "lrn1"]),
    PoolLayer("pool2", ["both"], kernel=2, stride=2, pool=Average),  # leaves a partial last row
    LinearLayer("ip1", ["pool2"], num_outputs=7, weight_filler=MSRA),
    ReLU("relu3", ["ip1"], in_place=True),
    Dropout("drop", ["ip1"], in_place=True),
    LinearLayer("ip2", ["ip1"], num_outputs=5, weight_filler=MSRA),
    Softmax("prob", ["ip2"]),
)


def small(phase: Phase = Phase.TEST) -> NetModule:
    net = Net(PARAMS, phase=phase).module
    for each in net.buffers():  # gives the sums values, as after training
        each.copy_(torch.rand_like(each) + 0.5)
    return net


def batch(size: int = 2) -> Tensor:
    return torch.randn(size, *IMAGE)


def gradients(net: nn.Module, x: Tensor) -> list[Tensor]:
    net.zero_grad()
    net(x)["prob"].square().sum().backward()
    return [parameter.grad.clone() for parameter in net.parameters()]


@pytest.fixture
def _compiler() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.usefixtures("_compiler")
@pytest.mark.parametrize(
    "backend", ["eager", pytest.param("inductor", marks=[pytest.mark.slow, pytest.mark.filterwarnings("ignore")])]
)
def test_it_compiles_in_one_piece_and_learns_the_same(backend: str) -> None:
    net, x = small(), batch()
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), net(x))
    for found, expected in zip(gradients(compiled, x), gradients(net, x), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)  # compiled sums are in another order


@pytest.mark.usefixtures("_compiler")
def test_layers_that_cannot_be_compiled_run_normally(tmp_path: Path) -> None:
    """A layer that writes a file stays outside the compiled graphs around it."""
    params = NetParams(
        "writes",
        RDDLayer("x", shape=[2, 3]),
        RDDLayer("y", shape=[2]),
        LinearLayer("ip", ["x"], num_outputs=3, weight_filler=MSRA),
        HDF5Output("out", ["ip", "y"], file_name=str(tmp_path / "rows.h5")),
        ReLU("relu", ["ip"]),
    )
    net, x, y = Net(params).module, torch.randn(2, 3), torch.ones(2)
    with torch.no_grad():
        compiled_top = torch.compile(net, backend="eager")(x, y)["relu"]
        torch.testing.assert_close(compiled_top, net(x, y)["relu"])
    with h5py.File(tmp_path / "rows.h5") as file:
        assert np.array_equal(file["data"][:2], file["data"][2:]) and len(file["data"]) == 4


TRAINING = """
import sys
from google.protobuf import text_format
from caffe_proto import caffe_pb2 as pb
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import open_settings

settings = text_format.Parse(sys.argv[1], pb.SolverParameter())
with open_solver(open_settings(settings)) as solver:
    solver.step(1)
print(*{"torch._dynamo", "torch._inductor", "sympy", "sklearn", "pandas", "scipy"} & {*sys.modules})
"""
SETTINGS = """
base_lr: 0.01 lr_policy: "fixed" max_iter: 1 net_param {
  layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "digits:train" batch_size: 2 } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
    convolution_param { num_output: 2 kernel_size: 3 } }
  layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { kernel_size: 2 stride: 2 } }
  layer { name: "norm" type: "LRN" bottom: "pool" top: "norm" }
  layer { name: "ip" type: "InnerProduct" bottom: "norm" top: "ip" inner_product_param { num_output: 10 } }
  layer { name: "drop" type: "Dropout" bottom: "ip" top: "ip" }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" } }
"""


def test_training_loads_no_slow_unused_modules() -> None:
    """An example is torch's compiler, which is loaded where products of tensors without memory determine a shape."""
    assert subprocess.check_output([sys.executable, "-c", TRAINING, SETTINGS], text=True) == "\n"


@pytest.mark.usefixtures("_compiler")
def test_a_net_compiles_once_for_all_batch_sizes() -> None:
    net, x, graphs = small(), batch(6), []

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]) -> Callable[..., Any]:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(net, backend=backend, fullgraph=True, dynamic=True)
    with torch.no_grad():
        for size in (2, 6, 3):
            torch.testing.assert_close(compiled(x[:size]), net(x[:size]))
    assert len(graphs) == 1


@pytest.mark.usefixtures("_compiler")
def test_it_is_exported_for_any_batch_size_and_can_be_trained_on() -> None:
    net, x = small(), batch(6)
    size = torch.export.Dim("size", min=1, max=64)
    exported = torch.export.export(net, (x[:2],), dynamic_shapes={"inputs": ({0: size},)}).module()
    with torch.no_grad():
        torch.testing.assert_close(exported(x), net(x))
    torch.testing.assert_close(gradients(exported, x), gradients(net, x), rtol=1e-4, atol=1e-6)


def test_autocast_computes_in_half_precision_and_learns_in_single() -> None:
    net, x = small(), batch()
    expected = net(x)["prob"].detach()
    with torch.autocast("cpu", torch.bfloat16):
        found = net(x)["prob"]
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=0.02)  # bfloat16 has 8 bits
    found.float().square().sum().backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in net.parameters())


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.double, 1e-6), (torch.half, 2e-3), (torch.bfloat16, 0.02)])
def test_other_number_types_are_supported(dtype: torch.dtype, tolerance: float) -> None:
    net, x = small(), batch()
    with torch.no_grad():
        expected = net(x)["prob"]
        found = net.to(dtype)(x.to(dtype))["prob"]
    assert found.dtype == dtype
    torch.testing.assert_close(found.float(), expected, rtol=0, atol=tolerance)


def test_in_half_precision_the_sums_of_a_thousand_batches_are_kept() -> None:
    net, x = small(), batch()
    norm = net.layers["norm1"]
    with torch.no_grad():
        for name in ("mean", "variance", "factor"):
            getattr(norm, name).mul_(1e6)  # the averages stay the same
        expected = net(x)["prob"]
        torch.testing.assert_close(net.half()(x.half())["prob"].float(), expected, rtol=0, atol=2e-3)
    assert norm.mean.dtype == torch.float32 and net.layers["conv1"].weight.dtype == torch.float16


def test_channels_last_is_kept_and_gives_the_same_results() -> None:
    net, x = small(), batch()
    expected = net(x)["prob"]
    kept = {}
    for name, layer in net.layers.items():
        layer.register_forward_hook(
            lambda _, bottoms, top, name=name: kept.update({name: top.is_contiguous(memory_format=torch.channels_last)})
        )
    found = net.to(memory_format=torch.channels_last)(x.to(memory_format=torch.channels_last))["prob"]
    torch.testing.assert_close(found, expected)
    assert all(kept[name] for name in ("conv1", "relu1", "pool1", "lrn1", "conv2a", "conv2b", "sum", "both", "pool2"))


def test_the_state_is_loaded_from_a_file_into_a_new_module() -> None:
    net, other, x, file = small(), Net(PARAMS).module, batch(), io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True), strict=True)
    with torch.no_grad():
        assert torch.equal(other(x)["prob"], net(x)["prob"])
    assert list(net.state_dict())[:5] == [
        "layers.conv1.weight",
        "layers.norm1.mean",
        "layers.norm1.variance",
        "layers.norm1.factor",
        "layers.scale1.weight",
    ]


def test_shared_parameters_appear_twice_in_the_state_and_count_once() -> None:
    specs = [{"name": "shared"}]
    siamese = NetParams(
        "siamese",
        RDDLayer("data", shape=[2, 6]),
        LinearLayer("ip1", ["data"], num_outputs=6, bias_term=False, weight_filler=MSRA, param=specs),
        LinearLayer("ip2", ["ip1"], num_outputs=6, bias_term=False, weight_filler=MSRA, param=specs),
    )
    net, other = Net(siamese).module, Net(siamese).module
    assert list(net.state_dict()) == ["layers.ip1.weight", "layers.ip2.weight"]
    other.load_state_dict(net.state_dict())
    twin = copy.deepcopy(other)
    twin.load_state_dict({name: value + 1 for name, value in other.state_dict().items()})
    for each in (other, twin.half()):
        assert each.layers["ip1"].weight is each.layers["ip2"].weight
        assert len(list(each.parameters())) == 1
    x = torch.randn(2, 6)
    assert torch.equal(net(x)["ip2"], other(x)["ip2"])


def test_a_deep_copy_is_independent() -> None:
    net, x = small(), batch()
    with torch.no_grad():
        expected = net(x)["prob"]
        twin = copy.deepcopy(net)
        assert torch.equal(twin(x)["prob"], expected)
        for parameter in twin.parameters():
            parameter.zero_()
        assert torch.equal(net(x)["prob"], expected)
    assert all(layer is twin.layers[key] for key, layer in zip(twin.keys, twin.built.layers, strict=True))


def test_a_net_in_training_draws_and_keeps_sums() -> None:
    net, x = small(Phase.TRAIN), batch()
    before = net.layers["norm1"].factor.clone()
    assert not torch.equal(net(x)["prob"], net(x)["prob"])
    assert not torch.equal(net.layers["norm1"].factor, before)
    net.eval()
    assert torch.equal(net(x)["prob"], net(x)["prob"])

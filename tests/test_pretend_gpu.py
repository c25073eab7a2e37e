"""The pretended GPU detects errors that a real one would show, and accepts correct programs."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.layer import Layer
from netdsl.net.build import build
from netdsl.net.graph import Phase, resolve
from netdsl.net.module import NetModule
from tests.pretend_gpu import GPU, PretendedGPU, StopKind, WrongDeviceError, on_gpu, pretend_gpu
from tests.registered import registered

NET = """layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 4 dim: 3 } } }
         layer { name: "planted" type: "Planted" bottom: "x" top: "y" }"""


def run_planted(gpu: PretendedGPU, forward: Any) -> list[str]:
    """Run a net with one faulty layer, forward and backward."""
    planted = type("Planted", (Layer,), {"forward": lambda self, x: forward(x)})
    with registered(Planted=planted):
        net = NetModule(build(resolve(from_text(NET, pb.NetParameter), Phase.TEST)))
    x = torch.rand(4, 3, device=GPU, requires_grad=True)
    gpu.stops.clear()
    net.allocate(GPU)(x)["y"].sum().backward()
    return gpu.own_stops()


@pytest.fixture(autouse=True)
def _shapes_without_running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Layer, "top_shapes", lambda self, bottoms: list(bottoms))


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x + torch.ones(3),
        lambda x: torch.cat((x, torch.zeros(1, 3))),
        lambda x: x @ torch.eye(3),
        lambda x: torch.where(torch.tensor([True, False, True]), x, 0),
        lambda x: torch.zeros(4, 3).add_(x),
        lambda x: torch.zeros(()).add_(x.sum()),
        lambda x: x.gather(1, torch.zeros(4, 3, dtype=torch.long)),
        lambda x: x.index_select(0, torch.tensor(1)),
        lambda x: torch.stack((x.sum(), torch.tensor(1.0))),
    ],
)
def test_a_layers_tensor_on_the_wrong_device_is_detected(forward) -> None:
    with pretend_gpu() as gpu, pytest.raises(WrongDeviceError, match=r"aten\.\w+ mixes .* in layer 'planted', at"):
        run_planted(gpu, forward)


class WrongBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x * 2

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return gradients[0] * torch.full(gradients[0].shape, 2.0)


def test_a_backward_passs_tensor_on_the_wrong_device_is_detected() -> None:
    with (
        pretend_gpu() as gpu,
        pytest.raises(WrongDeviceError, match=r"in the gradient WrongBackwardBackward, at tests/"),
    ):
        run_planted(gpu, WrongBackward.apply)


@pytest.mark.parametrize(
    ("forward", "operation"),
    [
        (lambda x: x * x.sum().item(), "aten._local_scalar_dense"),
        (lambda x: x if x.sum() > 0 else -x, "aten._local_scalar_dense"),
        (lambda x: x[: x.argmax()], "aten._local_scalar_dense"),
        (lambda x: x[x > 0.5], "aten.index with a mask"),
        (lambda x: x.masked_select(x > 0.5), "aten.masked_select"),
        (lambda x: x * len(x.nonzero()), "aten.nonzero"),
        (lambda x: x * len(torch.where(x > 0)), "aten.nonzero"),
        (lambda x: x * len(torch.unique(x.detach())), "aten._unique2"),
        (lambda x: x * torch.equal(x, x), "aten.equal"),
        (lambda x: x * x.new_tensor([1, 2, 3]), "torch.new_tensor of values on the host"),
        (lambda x: x * torch.tensor([1, 2, 3], device=x.device), "torch.tensor of values on the host"),
        (lambda x: x * torch.ones(3).to(x.device), "Tensor.to from the host"),
        (lambda x: x[[0, 1]], "aten.index with places on the host"),
        (lambda x: x.repeat_interleave(torch.ones(4, device=x.device).long(), 0), "aten.repeat_interleave"),
    ],
)
def test_a_layer_that_waits_is_detected(forward, operation: str) -> None:
    with pretend_gpu() as gpu:
        first = run_planted(gpu, forward)[0]
    assert first.startswith(f"{operation} is a wait, in layer 'planted', at tests/test_pretend_gpu.py:")


@pytest.mark.parametrize(
    ("forward", "operation"),
    [
        (lambda x: x * x.tolist()[0][0], "Tensor.tolist"),
        (lambda x: x * x.detach().cpu().numpy()[0, 0].item(), "Tensor.to"),
        (lambda x: x * x.to("cpu")[0, 0], "Tensor.to"),
        (lambda x: x * torch.zeros(4, 3).copy_(x)[0, 0], "aten.copy_"),
    ],
)
def test_a_layer_that_copies_to_the_host_is_detected(forward, operation: str) -> None:
    with pretend_gpu() as gpu:
        run_planted(gpu, forward)
    first = gpu.stops[0]
    assert (first.kind, first.operation) == (StopKind.COPY_TO_HOST, operation)
    assert first.where.startswith("in layer 'planted', at tests/test_pretend_gpu.py:")


def test_arrays_are_refused_as_torch_does() -> None:
    with pretend_gpu():
        x = torch.zeros(3, device=GPU)
        for array in (Tensor.numpy, np.asarray):
            with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
                array(x)


@pytest.mark.parametrize(
    "forward",
    [
        lambda x: x * 2 + torch.tensor(3.0),  # zero-dimensional tensors may be on the host
        lambda x: torch.where(x > 0.5, x, 0.0),
        lambda x: x + torch.arange(3, device=x.device) + torch.ones(3, device="cuda"),
        lambda x: x + x.new_zeros(3) + torch.zeros_like(x).fill_(2),
        lambda x: x[:, torch.zeros(2, dtype=torch.long, device=x.device)],
        lambda x: x.clone().masked_fill_(x > 0.5, torch.tensor(0.0)).fill_(torch.tensor(1.0)),
        lambda x: torch.zeros_like(x).index_put((x > 0.5,), torch.tensor(1.0)) * x,
        lambda x: x + torch.ones(3).to(x.device, non_blocking=True),
        lambda x: x.repeat_interleave(torch.ones(4, device=x.device).long(), 0, output_size=4),
        lambda x: x.topk(2).values.cumsum(0),
    ],
)
def test_correct_layers_are_accepted(forward) -> None:
    with pretend_gpu() as gpu:
        assert run_planted(gpu, forward) == []


def test_a_tensor_reports_its_device() -> None:
    with pretend_gpu():
        here, there = torch.zeros(2, 3), torch.zeros(2, 3, device="cuda")
        assert (here.device.type, here.is_cpu, here.is_cuda, here.get_device()) == ("cpu", True, False, -1)
        views = there, there.T[0], torch.nn.Parameter(there), there.to(GPU), here.cuda(), there.bfloat16()
        assert {(each.device, each.is_cpu, each.is_cuda, each.get_device()) for each in views} == {
            (GPU, False, True, 0)
        }
        assert {each.device.type for each in (there.cpu(), there.to("cpu"), there.new_zeros(1, device="cpu"))} == {
            "cpu"
        }
        assert there.to(GPU) is there
        assert there.to(torch.float64).device == here.to(there).device == GPU


def test_a_module_can_be_moved_there_and_back() -> None:
    with pretend_gpu():
        module = torch.nn.Linear(3, 2)
        weight = module.weight
        assert module.to(GPU).weight is weight
        assert weight.device == GPU
        weight.data = torch.zeros(2, 3)
        assert weight.device.type == module.cpu().bias.device.type == "cpu"


def test_backward_passes_do_not_see_thread_local_state() -> None:
    threads = []
    with pretend_gpu():
        x = torch.ones(3, device=GPU, requires_grad=True)
        x.register_hook(lambda gradient: threads.append(threading.current_thread()))
        (x * 2).sum().backward()
        assert torch.autograd.grad((x * 3).sum(), x)[0].tolist() == [3, 3, 3]
        assert on_gpu(x.grad)
    assert len(threads) == 2
    assert threading.current_thread() not in threads


def test_threads_that_start_inside_have_the_gpu_too() -> None:
    found = []
    with pretend_gpu():
        thread = threading.Thread(target=lambda: found.append(torch.zeros(1, device="cuda").device))
        thread.start()
        thread.join()
    assert found == [GPU]

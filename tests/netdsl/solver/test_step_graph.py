"""Steps that a pretended GPU replays from a recording: the same bits as normal steps, or a line that gives the reason
for not recording."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import from_text
from netdsl.errors import SolverError
from netdsl.layer import Layer
from netdsl.model.model import Model
from netdsl.net.compute_precision import ComputePrecision
from netdsl.solver.events import Event, Notice, TrainingProgress
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, ModuleNet
from netdsl.solver.update import StepFactors
from tests.netdsl.test_training_on_a_gpu import SOLVERS
from tests.pretend_gpu import GPU, PretendedGPU, pretend_gpu
from tests.registered import registered

STEPS, WARM_UP = 9, 3
NET = """
layer { name: "d" type: "Input" top: "x" top: "y"
        input_param { shape { dim: 4 dim: 2 dim: 5 dim: 5 } shape { dim: 4 } } }
layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
        convolution_param { num_output: 4 kernel_size: 2 bias_term: false weight_filler { type: "xavier" } } }
layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "norm" }
layer { name: "scale" type: "Scale" bottom: "norm" top: "norm" scale_param { bias_term: true }
        param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 } }
layer { name: "relu" type: "ReLU" bottom: "norm" top: "norm" }
layer { name: "drop" type: "Dropout" bottom: "norm" top: "norm" }
MORE
layer { name: "ip" type: "InnerProduct" bottom: "norm" top: "ip" param { lr_mult: 1 } param { lr_mult: 2 }
        inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "y" top: "loss" }
layer { name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "y" top: "accuracy" }
"""
PLAIN_NET = NET.replace("MORE", "")
RECURRENT = """
layer { name: "d" type: "Input" top: "x" top: "cont" top: "y"
        input_param { shape { dim: 3 dim: 4 dim: 2 } shape { dim: 3 dim: 4 } shape { dim: 3 dim: 4 dim: 5 } } }
layer { name: "lstm" type: "LSTM" bottom: "x" bottom: "cont" top: "h"
        recurrent_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "h" bottom: "y" top: "loss" }
"""
SETTINGS = {"base_lr": 0.05, "lr_policy": "fixed", "weight_decay": 0.01, "max_iter": 20}
POLICIES: dict[str, dict[str, Any]] = {
    "step": {"lr_policy": "step", "gamma": 0.5, "stepsize": 4},
    "multistep": {"lr_policy": "multistep", "gamma": 0.5, "stepvalue": [4, 6]},
    "poly": {"lr_policy": "poly", "power": 2},
    "inv": {"lr_policy": "inv", "gamma": 0.1, "power": 0.5},
}


def batches(items: int = 4, count: int = 5) -> Iterator[dict[str, Tensor]]:
    """Return this many batches, repeating a few different ones."""
    random = torch.Generator().manual_seed(4)
    made = [
        {
            "x": torch.randn(items, 2, 5, 5, generator=random),
            "y": torch.randint(3, (items,), generator=random).float(),
        }
        for _ in range(count)
    ]
    return cycle(made)


def sequences() -> Iterator[dict[str, Tensor]]:
    random = torch.Generator().manual_seed(4)
    cont = torch.ones(3, 4)
    cont[1, 2] = 0
    made = [
        {
            "x": torch.randn(3, 4, 2, generator=random),
            "cont": cont,
            "y": torch.randn(3, 4, 5, generator=random),
        }
        for _ in range(4)
    ]
    return cycle(made)


def solver_on(
    device: torch.device, values: Iterator[dict[str, Tensor]], net: str = PLAIN_NET, *, graph: bool = True,
    events: list[Event] | None = None, precision: ComputePrecision = ComputePrecision.EXACT, layer: Any = None,
    **settings: Any,
) -> Solver:  # fmt: skip
    message = from_text(net, pb.NetParameter)
    message.state.phase = pb.TRAIN
    torch.manual_seed(4)
    compute = Compute(device, precision, cuda_graph=graph)
    with registered(**({"Planted": layer} if layer else {})):
        module = ModuleNet.open(Model(message), compute, values=values)
    listen = (lambda event: None) if events is None else events.append
    return Solver(pb.SolverParameter(**SETTINGS | settings), module, listen=listen)


def bits(solver: Solver) -> list[Tensor]:
    """Return the bits of everything that a step changes."""
    scale = [] if solver.net.loss_scale is None else [torch.tensor(solver.net.loss_scale.numbers())]
    loss = torch.tensor(solver.loss, dtype=torch.double)
    tensors = [solver.weights.buffer, *solver.updater.histories, loss, torch.get_rng_state(), *scale]
    return [tensor.clone() for tensor in tensors]


def trained(
    graph: bool, during: Callable[[Solver], object] = id, make: Callable[[], Any] = batches, **how: Any
) -> tuple[list[Tensor], PretendedGPU]:
    """Return the results of training. `during` is called in the middle, when steps are already replayed if possible."""
    with pretend_gpu() as gpu:
        solver = solver_on(GPU, make(), graph=graph, **how)
        torch.manual_seed(5)  # for dropout
        solver.step(WARM_UP + 2)
        during(solver)
        solver.step(STEPS - WARM_UP - 2)
        return bits(solver), gpu


def same_bits(repeated: int = STEPS - WARM_UP, **how: Any) -> bool:
    """Return whether replayed steps have the same bits as normal ones."""
    expected, _ = trained(False, **how)
    found, gpu = trained(True, **how)
    assert sum(graph.replays for graph in gpu.graphs) == repeated
    assert len(found) == len(expected)
    return all(map(torch.equal, found, expected))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", SOLVERS)
def test_replayed_steps_have_the_bits_of_normal_steps(kind: str, policy: str) -> None:
    assert same_bits(type=kind, **SOLVERS[kind], **POLICIES[policy])


@pytest.mark.parametrize(
    "settings",
    [
        {"momentum": 0.9, "clip_gradients": 0.05},
        {"momentum": 0.9, "iter_size": 2, "clip_gradients": 0.5, "lr_policy": "inv", "gamma": 0.1, "power": 0.5},
        {"momentum": 0.9, "regularization_type": "L1", "average_loss": 3},
        {"type": "Adam", "momentum": 0.9, "precision": ComputePrecision.BF16},
        {"type": "Adam", "momentum": 0.9, "iter_size": 2, "precision": ComputePrecision.FP16},
        {"net": RECURRENT, "make": sequences, "momentum": 0.9},
    ],
    ids=lambda settings: " ".join(settings),
)
def test_replayed_steps_have_the_bits_of_normal_steps_with_other_settings(settings: dict[str, Any]) -> None:
    assert same_bits(**settings)


def test_float16_overflows_skip_replayed_steps_too() -> None:
    def raise_scale(solver: Solver) -> None:
        assert solver.net.loss_scale is not None
        solver.net.loss_scale.restore([2.0**18, 0, 0])

    how = {"precision": ComputePrecision.FP16, "during": raise_scale, "momentum": 0.9}
    assert same_bits(**how)
    scale, _, skipped = trained(True, **how)[0][-1].tolist()
    assert (0 < skipped < STEPS - WARM_UP - 2) and scale == 2.0 ** (18 - skipped)


def test_displayed_values_are_read_from_a_recording_and_are_the_only_waits() -> None:
    told: list[list[Event]] = []
    for graph in (False, True):
        with pretend_gpu() as gpu:
            events: list[Event] = []
            solver = solver_on(GPU, batches(), graph=graph, events=events, display=2, average_loss=3, momentum=0.9)
            torch.manual_seed(5)
            solver.step(5)
            gpu.stops.clear()
            solver.step(4)
        told.append([event for event in events if isinstance(event, TrainingProgress)])
        assert len(gpu.own_stops()) == (2 + 2) + (3 + 2)  # the losses and outputs of two displays
    assert told[0] == told[1]


def test_weights_set_and_read_in_between_are_the_recordings() -> None:
    def halve(solver: Solver) -> None:
        solver.weights.buffer.mul_(0.5)
        solver.param.base_lr = 0.01

    assert same_bits(during=halve, momentum=0.9)


# A replay keeps every value that Python passed while the step was recorded, so each of these must be detected.


def test_a_recorded_constant_rate_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    def set_numbers(factors: StepFactors, numbers: list[float]) -> None:
        factors._values = numbers

    monkeypatch.setattr(StepFactors, "set", set_numbers)
    assert same_bits()  # with a constant rate
    assert not same_bits(**POLICIES["inv"])


def planted(forward: Callable[[Layer, Tensor], Tensor], **more: Any) -> dict[str, Any]:
    """Return a net with a layer that calls this function."""
    layer = type("Planted", (Layer,), {"forward": forward, "top_shapes": lambda self, bottoms: list(bottoms), **more})
    text = 'layer { name: "planted" type: "Planted" bottom: "norm" top: "other" }'
    return {"net": NET.replace("MORE", text).replace('"InnerProduct" bottom: "norm"', '"InnerProduct" bottom: "other"'),
            "layer": layer}  # fmt: skip


def test_a_python_counter_is_detected() -> None:
    def count(layer: Any, x: Tensor) -> Tensor:
        layer.passes = getattr(layer, "passes", 0) + 1
        return x * layer.passes

    assert not same_bits(**planted(count))


def test_a_mask_drawn_only_during_the_recording_is_detected() -> None:
    def mask(layer: Any, x: Tensor) -> Tensor:
        layer.passes = getattr(layer, "passes", 0) + 1
        if layer.passes == WARM_UP + 1:
            layer.mask = torch.rand(x.shape[1:], device=x.device)
        return x * layer.mask if layer.passes > WARM_UP else x

    assert not same_bits(**planted(mask))


@pytest.mark.parametrize(
    ("forward", "says"),
    [
        (lambda layer, x: x * x.sum().item(), "is a wait, which isn't permitted while recording, in layer 'planted'"),
        (lambda layer, x: x + torch.ones(4).to(x.device, non_blocking=True), "a copy from memory of the host"),
    ],
)
def test_an_undeclared_wait_in_a_layer_prevents_recording(
    forward: Callable[[Layer, Tensor], Tensor], says: str
) -> None:
    with pytest.raises(SolverError, match=rf"recorded as a CUDA graph \(.*{says}.*train with --no-cuda-graph"):
        trained(True, **planted(forward))


def test_threads_record_one_after_the_other() -> None:
    others = list[threading.Thread]()

    def start_another_thread(layer: Any, x: Tensor) -> Tensor:
        layer.passes = getattr(layer, "passes", 0) + 1
        if layer.passes == WARM_UP + 1 and not others:
            others.append(threading.Thread(target=second.step, args=(1,)))
            others[0].start()
            others[0].join(0.2)  # waits until this recording is over
        return x

    with pretend_gpu() as gpu:
        first, second = (solver_on(GPU, batches(), **planted(start_another_thread)) for _ in range(2))
        second.step(WARM_UP)
        first.step(WARM_UP + 1)
        others[0].join()
        assert [graph.replays for graph in gpu.graphs] == [1, 1]


def test_a_step_starts_without_autograds_state_from_the_last_one() -> None:
    kept = list[Any]()

    def look(layer: Any, x: Tensor) -> Tensor:
        kept.append(solver.net.last_outputs)
        return x

    with pretend_gpu():
        solver = solver_on(GPU, batches(), debug_info=True, display=2, **planted(look))
        solver.step(WARM_UP + 3)
    assert kept == [{}] * (WARM_UP + 3)  # two run for their debug_info, three to warm up, and one recorded


# Steps that run normally, with a line that gives the reason.


def notices(events: list[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def check_left_alone(reason: str, repeated: int, **how: Any) -> None:
    """Check that this many steps are replayed, that others run normally with one line that gives the reason, and that
    all bits are the same."""
    events: list[Event] = []
    assert same_bits(repeated, events=events, **how)
    (line,) = notices(events)
    assert line.endswith(f"the step isn't repeated as a CUDA graph: {reason}")


def test_a_declared_wait_in_a_layer_prevents_recording() -> None:
    waiting = planted(lambda layer, x: x * x.sum().item(), waits="looks at what comes")
    check_left_alone("layer 'planted' looks at what comes", 0, **waiting)


def test_a_batch_of_another_shape_runs_normally() -> None:
    def some_shorter() -> Iterator[dict[str, Tensor]]:
        whole, shorter = batches(4), batches(3)
        for number in range(STEPS):
            yield next(shorter) if number in (6, 7) else next(whole)

    reason = "the batch's shape changed since the step was recorded"
    check_left_alone(reason, STEPS - WARM_UP - 2, make=some_shorter, momentum=0.9)


def evaluate(solver: Solver) -> None:
    solver.net.built.layers[5].eval()


def freeze(solver: Solver) -> None:
    solver.net.built.layers[1].weight.requires_grad_(False)


def move(solver: Solver) -> None:
    (weight, *_) = solver.net.built.layers[1].blob_tensors()
    weight.data = weight.data.clone()


def decay_less(solver: Solver) -> None:
    solver.param.weight_decay = 0.001


def hook(solver: Solver) -> None:
    solver.net.built.layers[1].register_forward_hook(lambda layer, bottoms, top: top * 2)


def watch(solver: Solver) -> None:
    solver.on_gradients_ready.append(lambda: solver.updater.gradients.buffer.mul_(2))


@pytest.mark.parametrize(
    ("during", "reason"),
    [
        (evaluate, "the phase of a layer changed since the step was recorded"),
        (freeze, "the set of learned blobs changed since the step was recorded"),
        (move, "the address of a blob changed since the step was recorded"),
        (decay_less, "a setting of the solver changed since the step was recorded"),
        (hook, "there is a hook on layer 'conv'"),
        (watch, "gradients are read or changed before the update"),
    ],
)
def test_changes_between_steps_are_detected(during: Callable[[Solver], object], reason: str) -> None:
    check_left_alone(reason, 2, during=during, momentum=0.9)


def test_debug_info_needs_normal_steps() -> None:
    settings = {"debug_info": True, "display": 4, "momentum": 0.9}
    check_left_alone("debug_info reads all blobs", STEPS - WARM_UP - 3, **settings)  # all except 0, 4 and 8


def test_without_the_setting_no_step_is_recorded_and_no_message_printed() -> None:
    events: list[Event] = []
    _, gpu = trained(False, events=events)
    assert gpu.graphs == [] == notices(events)

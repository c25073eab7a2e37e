"""Measuring this machine: real steps of training of made-up nets, with the time of every operation.

Operations are timed where they stand in a step, so that their inputs are in the caches or not, and the memory of their
outputs is new or not, as it is in training.
"""

from __future__ import annotations

import os
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from caffe_proto import caffe_pb2 as pb
from netdsl.checking.sample_inputs import sample_input
from netdsl.dsl import NetParams
from netdsl.net.build import build, running
from netdsl.net.graph import Phase, connect, filter_layers, state_of
from netdsl.net.module import NetModule
from netdsl.planner.device import Arithmetic, Device, MeasuredOperation, NumberType
from netdsl.planner.operations import OperationKind, OperationRecorder, TensorOperation
from netdsl.planner.sample_nets import sample_nets, tiny_net
from netdsl.planner.step_time import measured_name, sizes_of, update_operation
from netdsl.solver.flat import FlatWeights
from netdsl.solver.update import Updater

_ROUNDS = 3
_REPEATS = 12  # of what takes no time
_LONG = 1 << 27  # bytes that no cache holds
_SOLVER = pb.SolverParameter(type="SGD", momentum=0.9, weight_decay=5e-4)
_RATE = 1e-7  # so small that weights stay about what they are

Timed = tuple[TensorOperation, float]


def measure_device(
    name: str = "this-machine",
    nets: Iterable[NetParams] | None = None,
    *,
    rounds: int = _ROUNDS,
    done: Callable[[float], object] = lambda part: None,
) -> Device:
    """What this machine's processor takes for the operations of training, in a minute or two.

    Every sample net runs several times, in turns, and the least time of each operation counts, since others use a
    machine too. For the same reason it is the processor's time of this thread, which has a share of everything that is
    computed and waits for other threads. `done` is told which part of the work was done.
    """
    samples = [SampleNet(net.message) for net in nets or sample_nets()]
    for _ in range(rounds):
        for sample in samples:
            sample.measure()
            done(1 / (rounds * len(samples)))
    timed = [each for sample in samples for each in sample.operations()]
    return _device(name, timed, _overhead(), memory_bandwidth())


class TrainingStep:
    """Steps of training of a net whose inputs say their shapes, on made-up data."""

    def __init__(self, net: pb.NetParameter, param: pb.SolverParameter) -> None:
        graph = connect(filter_layers(net, state_of(net, Phase.TRAIN)))
        self.module = NetModule(build(graph)).allocate()
        self.updater = Updater(param, FlatWeights(self.module.built))
        self._inputs = {edge: sample_input(self.module.built, edge) for edge in self.module.inputs.values()}

    def differentiate(self) -> None:
        """Compute the gradients of all blobs."""
        self.module.zero_grad()
        self.updater.begin(_RATE)
        with running(self.module.built):
            self.module.loss(self.module.run(dict(self._inputs))).backward()  # type: ignore[no-untyped-call]

    def update(self) -> None:
        """Change the weights by the gradients."""
        self.updater.apply(_RATE, 0)

    def run(self) -> None:
        """Run a whole step."""
        self.differentiate()
        self.update()


class _Stopwatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the seconds of what a recorder notes. It is entered first, so that its own time isn't counted."""

    def __init__(self, recorder: OperationRecorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder
        self.calls: list[tuple[int, float]] = []  # how many operations there were before, and the seconds

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        before, start = len(self._recorder.operations), time.thread_time()
        result = func(*args, **(kwargs or {}))
        self.calls.append((before, time.thread_time() - start))
        return result


class SampleNet:
    """A net with the least seconds of its steps and of each operation of them.

    It has memory only while it is measured. If other nets had some too, then what they let go would be used again, and
    training would seem quicker than it is alone, when much of its memory is new in every step.
    """

    def __init__(self, net: pb.NetParameter) -> None:
        self._net = net
        self._update: TensorOperation | None = None
        self._updates: list[float] = []
        self._rounds: list[list[Timed]] = []

    def measure(self) -> None:
        """Run a step to warm up, and one in which operations are timed.

        The weights are the same each time, since losses look at values before they choose how to compute.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            step = TrainingStep(self._net, _SOLVER)
        self._update = update_operation(step.module.built, _SOLVER)
        step.run()
        self._updates.append(_seconds(step.update))
        self._rounds.append(timed_operations(step.differentiate))

    def operations(self) -> list[Timed]:
        """All operations and the update, each with its least seconds."""
        names = [operation for operation, _ in self._rounds[0]]
        least = [min(seconds) for seconds in zip(*([each for _, each in turn] for turn in self._rounds), strict=True)]
        assert self._update is not None
        return [*zip(names, least, strict=True), (self._update, min(self._updates))]


def timed_operations(task: Callable[[], object]) -> list[Timed]:
    """The operations of a task with their seconds. Those that torch does at once share the time by their arithmetic."""
    recorder = OperationRecorder()
    with _Stopwatch(recorder) as watch, recorder:
        task()
    ends = [*(before for before, _ in watch.calls[1:]), len(recorder.operations)]
    found: list[Timed] = []
    for (start, seconds), end in zip(watch.calls, ends, strict=True):
        operations = recorder.operations[start:end]
        parts = [max(operation.flops, 1) for operation in operations]
        found += [(each, seconds * part / sum(parts)) for each, part in zip(operations, parts, strict=True)]
    return found


def _overhead() -> float:
    """The seconds of a step in which nothing is computed, for each operation, in a net that computes little."""
    sample, step = SampleNet(tiny_net().message), TrainingStep(tiny_net().message, _SOLVER)
    whole = min(_seconds(step.differentiate) for _ in range(_REPEATS))
    for _ in range(_REPEATS):
        sample.measure()
    *operations, _ = sample.operations()
    return max(0.0, whole - sum(seconds for _, seconds in operations)) / len(operations)


def memory_bandwidth() -> float:
    """Bytes a second that are read and written when a long tensor is copied into memory that is there."""
    source = torch.ones(_LONG // 4)
    target = torch.ones_like(source)
    return 2 * _LONG / min(_seconds(lambda: target.copy_(source)) for _ in range(_REPEATS))


def _device(name: str, timed: Iterable[Timed], overhead: float, bandwidth: float) -> Device:
    groups: dict[tuple[str, tuple[float, ...], int, int], list[float]] = defaultdict(list)
    best = dict.fromkeys(OperationKind, 0.0)  # operations a second
    for operation, seconds in timed:
        sizes = tuple(map(_rounded, sizes_of(operation)))
        key = measured_name(operation), sizes, operation.flops, operation.bytes
        groups[key].append(max(seconds, 1e-9))
        best[operation.kind] = max(best[operation.kind], operation.flops / seconds)
    peak = max(best[OperationKind.CONVOLUTION], best[OperationKind.PRODUCT])
    parts = [(best[kind] or peak) / peak for kind in (OperationKind.CONVOLUTION,) * 2 + (OperationKind.PRODUCT,)]
    source = f"measured with torch {torch.__version__} and {torch.get_num_threads()} threads"
    facts = ("bandwidth", "bandwidth_share", "arithmetic", "overhead", "measured")
    return Device(
        name=name,
        title=f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors",
        type="cpu",
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        bandwidth=bandwidth,
        bandwidth_share=1.0,
        arithmetic={NumberType.FLOAT32: Arithmetic(peak, *parts)},
        tile=1,
        overhead=overhead,
        sources=dict.fromkeys(facts, source) | {"memory": "the operating system", "tile": "not known"},
        measured=tuple(MeasuredOperation(*key, _rounded(fmean(seconds))) for key, seconds in groups.items()),
    )


def _rounded(value: float) -> float:
    """To five digits, so that a file can be read by people too."""
    return float(f"{value:.5g}")


def _seconds(task: Callable[[], object]) -> float:
    start = time.thread_time()
    task()
    return time.thread_time() - start

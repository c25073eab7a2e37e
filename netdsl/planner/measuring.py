"""Measures this machine with real training steps of sample nets, and times every operation.

Operations are timed within a step. Their inputs are therefore cached, and their outputs' memory is new, as often as in
training. The nets contain layers of all common kinds and sizes.
"""

from __future__ import annotations

import os
import platform
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl import (
    LRN,
    Average,
    BatchNorm,
    Concat,
    ConvLayer,
    Dropout,
    Eltwise,
    LinearLayer,
    Max,
    NetParams,
    PoolLayer,
    RDDLayer,
    ReLU,
    Scale,
    SoftmaxWithLoss,
)
from netdsl.net.build import build, running
from netdsl.net.graph import Phase, connect, filter_layers, state_of
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import sample_tensors
from netdsl.planner.device import Arithmetic, Device, MeasuredOperation, NumberType
from netdsl.planner.operations import OperationKind, OperationRecorder, TensorOperation
from netdsl.planner.step_time import measured_name, sizes_of, update_operation
from netdsl.solver.flat import FlatWeights
from netdsl.solver.update import Updater

_FILLER = pb.FillerParameter(type="msra")
_ROUNDS = 3
_REPEATS = 12  # repetitions of short measurements
_LONG = 1 << 27  # bytes; larger than any cache
_SOLVER = pb.SolverParameter(type="SGD", momentum=0.9, weight_decay=5e-4)
_RATE = 1e-7  # so small that weights hardly change
Timed = tuple[TensorOperation, float]


def measure_device(
    name: str = "this-machine",
    nets: Iterable[NetParams] | None = None,
    *,
    rounds: int = _ROUNDS,
    done: Callable[[float], object] = lambda part: None,
) -> Device:
    """Measure this machine's CPU with the operations of training, which takes a minute or two.

    Every sample net runs several times, in turns, and the shortest time of each operation counts, since other processes
    also use the machine. For the same reason it is the CPU time of this thread, which does a share of all computation
    and waits for the other threads. Calls `done` with the fraction of the work that was done.
    """
    samples = [SampleNet(net.message) for net in nets or sample_nets()]
    for _ in range(rounds):
        for sample in samples:
            sample.measure()
            done(1 / (rounds * len(samples)))
    timed = [each for sample in samples for each in sample.operations()]
    return _measured_device(name, timed, _operation_overhead(), memory_bandwidth())


class TrainingStep:
    """Training steps of a net on random data. The net's inputs must state their shapes."""

    def __init__(self, net: pb.NetParameter, param: pb.SolverParameter) -> None:
        graph = connect(filter_layers(net, state_of(net, Phase.TRAIN)))
        self.module = NetModule(build(graph)).allocate()
        self.updater = Updater(param, FlatWeights(self.module.built))
        self._inputs = sample_tensors(self.module.built, self.module.inputs.values())

    def differentiate(self) -> None:
        """Compute the gradients of all blobs."""
        self.module.zero_grad()
        self.updater.begin(_RATE)
        with running(self.module.built):
            self.module.loss(self.module.run(dict(self._inputs))).backward()  # type: ignore[no-untyped-call]

    def update(self) -> None:
        """Update the weights with the gradients."""
        self.updater.apply(_RATE, 0)

    def run(self) -> None:
        """Run a whole step."""
        self.differentiate()
        self.update()


class _Stopwatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Measures the seconds of the operations that a recorder notes. Enter it before the recorder, to exclude the
    recorder's time."""

    def __init__(self, recorder: OperationRecorder) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._recorder = recorder
        self.calls: list[tuple[int, float]] = []  # the number of earlier operations, and the seconds

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        before, start = len(self._recorder.operations), time.thread_time()
        result = func(*args, **(kwargs or {}))
        self.calls.append((before, time.thread_time() - start))
        return result


class SampleNet:
    """A net with the shortest times of its steps and of their operations.

    The net has memory only while it is measured. Memory that other nets release would otherwise be reused, and training
    would seem faster than it is alone, where each step needs much new memory.
    """

    def __init__(self, net: pb.NetParameter) -> None:
        self._net = net
        self._update: TensorOperation | None = None
        self._updates: list[float] = []
        self._rounds: list[list[Timed]] = []

    def measure(self) -> None:
        """Run a warm-up step, then a step in which operations are timed.

        The weights are the same each time, since the speed of losses can depend on values.
        """
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            step = TrainingStep(self._net, _SOLVER)
        self._update = update_operation(step.module.built, _SOLVER)
        step.run()
        self._updates.append(_processor_seconds(step.update))
        self._rounds.append(timed_operations(step.differentiate))

    def operations(self) -> list[Timed]:
        """Return all operations and the update, each with its shortest time. Ignores rare steps with other
        operations."""
        rounds = [tuple(zip(*turn, strict=True)) for turn in self._rounds]
        names, _ = Counter(names for names, _ in rounds).most_common(1)[0]
        least = [min(each) for each in zip(*(seconds for found, seconds in rounds if found == names), strict=True)]
        assert self._update is not None
        return [*zip(names, least, strict=True), (self._update, min(self._updates))]


def timed_operations(task: Callable[[], object]) -> list[Timed]:
    """Return the operations of a task with their seconds. Operations of a single call share its time by their
    arithmetic."""
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


def _operation_overhead() -> float:
    """Return the overhead of an operation in seconds, measured in a net that computes little."""
    sample, step = SampleNet(tiny_net().message), TrainingStep(tiny_net().message, _SOLVER)
    whole = min(_processor_seconds(step.differentiate) for _ in range(_REPEATS))
    for _ in range(_REPEATS):
        sample.measure()
    *operations, _ = sample.operations()
    return max(0.0, whole - sum(seconds for _, seconds in operations)) / len(operations)


def memory_bandwidth() -> float:
    """Return the bytes per second that are read and written when a long tensor is copied into existing memory."""
    source = torch.ones(_LONG // 4)
    target = torch.ones_like(source)
    return 2 * _LONG / min(_processor_seconds(lambda: target.copy_(source)) for _ in range(_REPEATS))


def _measured_device(name: str, timed: Iterable[Timed], overhead: float, bandwidth: float) -> Device:
    groups: dict[tuple[str, tuple[float, ...], int, int], list[float]] = defaultdict(list)
    best = dict.fromkeys(OperationKind, 0.0)  # in operations per second
    for operation, seconds in timed:
        sizes = tuple(map(_five_digits, sizes_of(operation)))
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
        sources=dict.fromkeys(facts, source) | {"memory": "the operating system", "tile": "unknown"},
        measured=tuple(MeasuredOperation(*key, _five_digits(fmean(seconds))) for key, seconds in groups.items()),
    )


def _five_digits(value: float) -> float:
    """Round a number to five digits, which keeps files readable."""
    return float(f"{value:.5g}")


def _processor_seconds(task: Callable[[], object]) -> float:
    start = time.thread_time()
    task()
    return time.thread_time() - start


def sample_nets() -> Iterator[NetParams]:
    """Yield the sample nets, each with several batch sizes."""
    for make, batches in _BATCHES.items():
        for batch in batches:
            yield make(batch)


def tiny_net() -> NetParams:
    """Return a net whose operations take hardly any time."""
    return _small_net(2)


class _Chain:
    """A net that is built layer by layer. `blob` is the top of the last layer."""

    def __init__(self, batch: int, channels: int, size: int) -> None:
        self.layers = [RDDLayer("data", shape=[batch, channels, size, size]), RDDLayer("label", shape=[batch])]
        self.blob = "data"

    def add(self, layer: pb.LayerParameter) -> None:
        self.layers.append(layer)
        self.blob = layer.top[0]

    def name(self) -> str:
        return f"layer{len(self.layers)}"

    def convolve(self, filters: int, kernel: int, *, stride: int = 1, group: int = 1, pad: int | None = None) -> None:
        pad = kernel // 2 if pad is None else pad
        self.add(
            ConvLayer(
                self.name(),
                [self.blob],
                kernel=kernel,
                num_filters=filters,
                stride=stride,
                pad=pad,
                group=group,
                weight_filler=_FILLER,
            )
        )

    def rectify(self) -> None:
        self.add(ReLU(self.name(), [self.blob], in_place=True))

    def normalize(self) -> None:
        self.add(BatchNorm(self.name(), [self.blob], in_place=True))
        self.add(Scale(self.name(), [self.blob], in_place=True, bias_term=True))

    def respond(self) -> None:
        self.add(LRN(self.name(), [self.blob], local_size=5, alpha=1e-4, beta=0.75))

    def pool(self, kernel: int, stride: int, *, pad: int = 0) -> None:
        self.add(PoolLayer(self.name(), [self.blob], pool=Max, kernel=kernel, stride=stride, pad=pad))

    def connect(self, outputs: int) -> None:
        self.add(LinearLayer(self.name(), [self.blob], num_outputs=outputs, weight_filler=_FILLER))

    def connect_with_dropout(self, *widths: int) -> None:
        for outputs in widths:
            self.connect(outputs)
            self.rectify()
            self.add(Dropout(self.name(), [self.blob], in_place=True))

    def finish(self, classes: int) -> NetParams:
        self.connect(classes)
        self.add(SoftmaxWithLoss("loss", [self.blob, "label"]))
        return NetParams("sample", *self.layers)


def _plain_net(batch: int) -> NetParams:
    """Return a net of 3x3 convolutions, which double the filters when the size halves."""
    net = _Chain(batch, 3, 176)
    for filters in (48, 96, 192, 384, 640):
        for _ in range(2):
            net.convolve(filters, 3)
            net.rectify()
        net.pool(2, 2)
    net.connect_with_dropout(2000, 1500)
    return net.finish(300)


def _grouped_net(batch: int) -> NetParams:
    """Return a net with large windows first and groups later."""
    net = _Chain(batch, 3, 199)
    for filters, kernel, stride, group in ((80, 11, 4, 1), (224, 5, 1, 2)):
        net.convolve(filters, kernel, stride=stride, group=group, pad=0 if stride > 1 else None)
        net.rectify()
        net.respond()
        net.pool(3, 2)
    for filters, group in ((320, 1), (320, 2), (224, 2)):
        net.convolve(filters, 3, group=group)
        net.rectify()
    net.pool(3, 2)
    net.connect_with_dropout(3000, 2500)
    return net.finish(800)


def _residual_net(batch: int) -> NetParams:
    """Return a net of bottlenecks whose tops are added to their bottoms."""
    net = _Chain(batch, 3, 192)
    net.convolve(48, 7, stride=2)
    net.normalize()
    net.rectify()
    net.pool(3, 2)
    for width, stride in ((48, 1), (96, 2), (192, 2), (384, 2)):
        for first in (True, False):
            bottom = shortcut = net.blob
            if first:
                net.convolve(4 * width, 1, stride=stride)
                net.normalize()
                shortcut = net.blob
            net.blob = bottom
            for filters, kernel in ((width, 1), (width, 3), (4 * width, 1)):
                net.convolve(filters, kernel, stride=stride if first and filters == width and kernel == 1 else 1)
                net.normalize()
                if filters == width:
                    net.rectify()
            net.add(Eltwise(net.name(), [shortcut, net.blob]))
            net.rectify()
    net.add(PoolLayer(net.name(), [net.blob], pool=Average, kernel=6, stride=1))
    return net.finish(700)


def _branched_net(batch: int) -> NetParams:
    """Return a net of parallel convolutions with different windows."""
    net = _Chain(batch, 3, 192)
    net.convolve(48, 7, stride=2)
    net.rectify()
    net.pool(3, 2)
    net.respond()
    net.convolve(48, 1)
    net.rectify()
    net.convolve(160, 3)
    net.rectify()
    net.respond()
    for width in (1, 2):
        net.pool(3, 2)
        for _ in range(2):
            _add_branches(net, width)
    net.add(PoolLayer(net.name(), [net.blob], pool=Average, kernel=6, stride=1, pad=0))
    return net.finish(700)


def _add_branches(net: _Chain, width: int) -> None:
    bottom, tops = net.blob, []
    for reduction, filters, kernel in ((0, 56, 1), (72, 112, 3), (12, 24, 5), (-1, 40, 1)):
        net.blob = bottom
        if reduction > 0:
            net.convolve(reduction * width, 1)
            net.rectify()
        elif reduction < 0:
            net.pool(3, 1, pad=1)
        net.convolve(filters * width, kernel)
        net.rectify()
        tops.append(net.blob)
    net.add(Concat(net.name(), tops))


def _separable_net(batch: int) -> NetParams:
    """Return a net of convolutions with one group for each channel, followed by 1x1 convolutions."""
    net = _Chain(batch, 3, 160)
    net.convolve(24, 3, stride=2)
    for filters, stride in ((56, 1), (112, 2), (240, 2), (480, 2)):
        net.normalize()
        net.rectify()
        net.convolve(_channels_of(net), 3, stride=stride, group=_channels_of(net))
        net.normalize()
        net.rectify()
        net.convolve(filters, 1)
    net.add(PoolLayer(net.name(), [net.blob], pool=Average, kernel=10, stride=1))
    return net.finish(200)


def _channels_of(net: _Chain) -> int:
    """Return the number of channels of the last blob, which the last convolution computed."""
    return next(
        layer.convolution_param.num_output for layer in reversed(net.layers) if layer.convolution_param.num_output
    )


def _small_net(batch: int) -> NetParams:
    """Return a net on small images, with too few filters to fill a vector register."""
    net = _Chain(batch, 1, 32)
    for filters in (18, 44):
        net.convolve(filters, 5, pad=0)
        net.pool(2, 2)
    net.connect(400)
    net.rectify()
    return net.finish(12)


_BATCHES: dict[Callable[[int], NetParams], tuple[int, ...]] = {
    _small_net: (48, 192),
    _separable_net: (6,),
    _grouped_net: (5, 14),
    _branched_net: (5, 14),
    _residual_net: (5, 14),
    _plain_net: (3, 10),
}

"""The seconds of a training step on a device, as the sum over all operations, and the total cost of a pass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import MemoryBoundError, NetError
from netdsl.net.build import Built, set_batch
from netdsl.net.compute_precision import ComputePrecision
from netdsl.net.learning import learned_blobs
from netdsl.planner.algorithms import (
    AlgorithmChoice,
    AlgorithmCost,
    AlgorithmOption,
    ConvolutionAlgorithm,
    algorithm_costs,
    choose_algorithms,
)
from netdsl.planner.device import Device, MeasuredOperation, NumberType
from netdsl.planner.layer_costs import LayerCost, layer_costs
from netdsl.planner.memory import MemoryUse, training_memory
from netdsl.planner.operations import ConvolutionPass, ConvolutionShape, OperationKind, TensorOperation
from netdsl.solver.rules import rule_of

UPDATE = "update"  # the name of a solver's update of all weights, which counts as one operation

_NEAREST = 4  # number of measured operations from which the speed of another one is estimated
_LIKENESS = 3  # weight of a similar kind of work, relative to similar sizes
_INSTANT = 1e-9  # seconds
_SAME = 1e-6  # added to the distance between operations; that of equal sizes is 0
_FLOAT32_BYTES = 4
# Number types of products.
NUMBERS = {
    ComputePrecision.EXACT: NumberType.FLOAT32,
    ComputePrecision.TF32: NumberType.TF32,
    ComputePrecision.BF16: NumberType.BFLOAT16,
    ComputePrecision.FP16: NumberType.FLOAT16,
}


class MemoryLayout(Enum):
    """The order of a blob's values in memory."""

    CHANNELS_FIRST = "channels-first"
    CHANNELS_LAST = "channels-last"


@dataclass(frozen=True)
class LayerSeconds:
    """The seconds of one layer."""

    name: str
    type: str
    forward: float
    backward: float


@dataclass(frozen=True)
class StepTime:
    """The seconds of a step: all layers forward and backward, the update, and the transfer of the data to the
    device."""

    layers: tuple[LayerSeconds, ...]
    update: float
    transfer: float

    @property
    def forward(self) -> float:
        """The seconds of the forward pass."""
        return sum(layer.forward for layer in self.layers)

    @property
    def backward(self) -> float:
        """The seconds of the backward pass."""
        return sum(layer.backward for layer in self.layers)

    @property
    def seconds(self) -> float:
        """The seconds of the step."""
        return self.forward + self.backward + self.update + self.transfer


def step_time(
    costs: Iterable[LayerCost],
    update: TensorOperation,
    device: Device,
    number_type: NumberType = NumberType.FLOAT32,
    layout: MemoryLayout = MemoryLayout.CHANNELS_FIRST,
    *,
    input_bytes: int = 0,
) -> StepTime:
    """Return the time of a step whose layers have these costs. `input_bytes` is the size of a batch, which the host
    loads."""
    speed = Speed(device, number_type, layout)
    layers = tuple(
        LayerSeconds(cost.name, cost.type, speed.total(cost.forward), speed.total(cost.backward)) for cost in costs
    )
    transfer = input_bytes / device.host_link if device.host_link else 0.0
    return StepTime(layers, Speed(device, NumberType.FLOAT32, layout).seconds(update), transfer)


def update_operation(built: Built, param: pb.SolverParameter) -> TensorOperation:
    """Return a solver's update as an operation. It reads gradients, and reads and writes weights and histories."""
    learned = {id(blob): blob.numel() for layer in built.layers for blob in learned_blobs(layer)}
    values, histories = sum(learned.values()), rule_of(param).histories
    return TensorOperation(UPDATE, (2 + 3 * histories) * values, (3 + 2 * histories) * _FLOAT32_BYTES * values)


def sizes_of(operation: TensorOperation) -> tuple[float, ...]:
    """Return the sizes on which the speed of an operation depends.

    For an operation that is neither a product nor a convolution, the ratio of values to bytes and the window count more
    than its length. Operations with equal ratios do the same work. Torch computes pooling with overlapping windows in
    another way, for example.
    """
    shape = operation.convolution
    flops, moved = max(operation.flops, 1), max(operation.bytes, 1)
    if operation.kind is OperationKind.PRODUCT:
        return flops, moved
    if shape is None:
        return moved, (flops / moved) ** _LIKENESS, operation.window**_LIKENESS
    return (
        shape.channels / shape.groups,
        shape.filters / shape.groups,
        shape.groups,
        shape.kernel_height * shape.kernel_width,
        shape.stride[0] * shape.stride[1],
        shape.top_height * shape.top_width,
        shape.batch,
    )


def measured_name(operation: TensorOperation) -> str:
    """Return the name under which operations of one kind are measured. Each pass of a convolution has its own name."""
    part = operation.convolution_pass
    return operation.name if part is None else f"convolution: {part.value}"


def _least_seconds(flops: float, bytes_: float, rate: float, bandwidth: float) -> float:
    """Return the larger of the times for arithmetic and for moving bytes, which happen at the same time. The result is
    never 0."""
    return max(flops / rate, bytes_ / bandwidth, _INSTANT)


class Speed:
    """The time of operations on a device, with one number type and one layout."""

    def __init__(
        self, device: Device, number_type: NumberType, layout: MemoryLayout = MemoryLayout.CHANNELS_FIRST
    ) -> None:
        if number_type not in device.arithmetic:
            known = ", ".join(each.value for each in device.arithmetic)
            raise NetError(
                f"device '{device.name}' doesn't support {number_type.value}, only {known}; leave out "
                "--precision, or choose another device"
            )
        self.device, self.number_type, self.layout = device, number_type, layout
        self.measured: Mapping[str, _Samples] = {}
        if number_type is NumberType.FLOAT32:
            self.measured = _samples_of(device.measured, device.arithmetic[number_type].peak, device.bandwidth)

    def total(self, operations: Iterable[TensorOperation]) -> float:
        """Return the total seconds of operations that run one after the other."""
        return sum(map(self.seconds, operations))

    def seconds(self, operation: TensorOperation) -> float:
        """Return the seconds of an operation with its overhead, from measured operations or from the data sheet."""
        samples = self.measured.get(measured_name(operation))
        if samples is None:
            return self.device.overhead + self._by_data_sheet(operation)
        peak = self.device.arithmetic[self.number_type].peak
        least = _least_seconds(operation.flops, operation.bytes, peak, self.device.bandwidth)
        return self.device.overhead + least * samples.slowness(sizes_of(operation))

    def _by_data_sheet(self, operation: TensorOperation) -> float:
        moved = operation.bytes * self.number_type.bytes / _FLOAT32_BYTES
        bandwidth = self.device.bandwidth * self.device.bandwidth_share
        if operation.kind is OperationKind.OTHER:
            return moved / bandwidth
        arithmetic = self.device.arithmetic[self.number_type]
        if operation.kind is OperationKind.PRODUCT:
            return _least_seconds(operation.flops, moved, arithmetic.peak * arithmetic.product, bandwidth)
        assert operation.convolution is not None
        top = operation.convolution_pass is ConvolutionPass.TOP
        part = arithmetic.convolution if top else arithmetic.convolution_gradient
        rate = arithmetic.peak * part * _filled(operation.convolution, self.device.tile)
        conversion = 2 * moved if self._converts_layout() else 0.0
        return _least_seconds(operation.flops, moved, rate, bandwidth) + conversion / bandwidth

    def _converts_layout(self) -> bool:
        """Return whether convolutions convert their blobs to another layout and back, since fast units need channels
        last."""
        return self.number_type is not NumberType.FLOAT32 and self.layout is MemoryLayout.CHANNELS_FIRST


def _filled(shape: ConvolutionShape, tile: int) -> float:
    """Return the part of tiles that isn't padding when a convolution's channels and filters are cut into tiles."""
    depth = shape.channels // shape.groups * shape.kernel_height * shape.kernel_width
    filters = shape.filters // shape.groups
    return math.prod(size / (-(-size // tile) * tile) for size in (depth, filters))


class _Samples:
    """Measured operations of one name, with the ratio of each one's time to the shortest possible time."""

    def __init__(self, sizes: Sequence[tuple[float, ...]], slowness: Sequence[float]) -> None:
        self._places: NDArray[np.float64] = np.log2(np.array(sizes, float))
        self._slowness: NDArray[np.float64] = np.log2(np.array(slowness))

    def slowness(self, sizes: tuple[float, ...]) -> float:
        """Return the slowness of an operation with these sizes.

        It is a weighted mean of the nearest measured operations, in logarithms.
        """
        distances = np.square(self._places - np.log2(np.array(sizes, float))).sum(1)
        nearest = np.argsort(distances)[:_NEAREST]
        weights = 1 / (distances[nearest] + _SAME)
        return float(2 ** ((self._slowness[nearest] * weights).sum() / weights.sum()))


def _samples_of(measured: tuple[MeasuredOperation, ...], peak: float, bandwidth: float) -> Mapping[str, _Samples]:
    """Return the measured operations, grouped by name."""
    groups: dict[str, list[MeasuredOperation]] = {}
    for operation in measured:
        groups.setdefault(operation.name, []).append(operation)
    return {
        name: _Samples(
            [each.sizes for each in group],
            [each.seconds / _least_seconds(each.flops, each.bytes, peak, bandwidth) for each in group],
        )
        for name, group in groups.items()
    }


@dataclass(frozen=True)
class PassCost:
    """The cost of a forward and a backward pass over a batch, and of the update afterwards.

    `saved` is the seconds that the chosen algorithms save, compared with an implicit GEMM everywhere.
    """

    batch: int
    time: StepTime
    memory: MemoryUse
    choice: AlgorithmChoice | None = None
    saved: float = 0.0

    @property
    def seconds(self) -> float:
        """The seconds of the pass without the update."""
        return self.time.seconds - self.time.update - self.saved

    @property
    def backward(self) -> float:
        """The seconds of the backward pass. Algorithms are assumed to save the same share of both passes."""
        return self.time.backward * self.seconds / (self.seconds + self.saved)

    @property
    def bytes(self) -> int:
        """The memory in bytes, including the workspaces of the algorithms."""
        return self.memory.total + (0 if self.choice is None else self.choice.bytes)

    @property
    def algorithms(self) -> dict[str, str]:
        """The algorithms by layer name. The value is empty if the device doesn't have several."""
        return {} if self.choice is None else {name: way.algorithm.value for name, way in self.choice.options.items()}

    def iteration(self, iter_size: int) -> float:
        """Return the seconds of an iteration with this many passes."""
        return iter_size * self.seconds + self.time.update


def pass_cost(
    built: Built, param: pb.SolverParameter, device: Device, precision: ComputePrecision, batch: int
) -> PassCost:
    """Return the cost of a pass with a batch. Raises a `MemoryBoundError` if the device is too small.

    The net keeps this batch.
    """
    set_batch(built, batch)
    memory = training_memory(built, param, device.type, precision=precision)
    room = device.memory - memory.total
    if room < 0:
        raise MemoryBoundError(
            f"a batch of {batch} takes {memory.total / 1e9:,.2f} GB, but {device.title} has "
            f"{device.memory / 1e9:,.2f} GB; lower --batch"
        )
    number_type = NUMBERS[precision]
    costs, speed = layer_costs(built, device.type), Speed(device, number_type)
    time = step_time(costs, update_operation(built, param), device, number_type, input_bytes=memory.data)
    cost = PassCost(batch, time, memory)
    if device.type != "cuda":  # a CPU's library has one algorithm for each shape, whose time was measured
        return cost
    options = {each.name: ways for each in costs if (ways := _ways(each, speed, number_type))}
    choice = choose_algorithms(options, room)
    return replace(cost, choice=choice, saved=_plain_seconds(costs, options, speed) - choice.seconds)


def _ways(cost: LayerCost, speed: Speed, number_type: NumberType) -> Sequence[AlgorithmOption]:
    """Return the ways to compute all passes of a layer. Returns an empty sequence if it isn't a convolution."""
    operations = _convolutions(cost)
    if not operations:
        return ()
    shapes = {operation.convolution for operation in operations}
    costs = [each for shape in shapes if shape is not None for each in algorithm_costs(shape, number_type.bytes)]
    return [
        AlgorithmOption(
            each.algorithm,
            sum(speed.seconds(_computed_by(each, operation)) for operation in operations),
            each.workspace,
        )
        for each in costs
    ]


def _convolutions(cost: LayerCost) -> list[TensorOperation]:
    return [operation for operation in (*cost.forward, *cost.backward) if operation.convolution is not None]


def _computed_by(cost: AlgorithmCost, operation: TensorOperation) -> TensorOperation:
    """Return the operation with an algorithm's products, and with the traffic of its workspace.

    Transforms are limited by memory, so their arithmetic takes no extra time. A workspace of im2col is for one image.
    """
    assert operation.convolution is not None
    times = operation.convolution.batch if cost.algorithm is ConvolutionAlgorithm.IM2COL else 1
    products = round(cost.flops - cost.transform_flops)
    return replace(operation, flops=products, bytes=operation.bytes + 2 * times * cost.workspace)


def _plain_seconds(costs: Iterable[LayerCost], names: Iterable[str], speed: Speed) -> float:
    """Return the seconds of convolutions as `step_time` computes them."""
    chosen = set(names)
    return sum(speed.total(_convolutions(cost)) for cost in costs if cost.name in chosen)

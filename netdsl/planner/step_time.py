"""The seconds that a step of training takes on a device: those of all operations, one after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.net.build import Built
from netdsl.net.learning import learned_blobs
from netdsl.planner.device import Device, MeasuredOperation, NumberType
from netdsl.planner.layer_costs import LayerCost
from netdsl.planner.operations import ConvolutionPass, ConvolutionShape, OperationKind, TensorOperation
from netdsl.solver.rules import rule_of

UPDATE = "update"  # the name of a solver's update of all weights, as one operation

_NEAREST = 4  # measured operations that say how fast another one is
_LIKENESS = 3  # how much more than sizes it counts that operations do the same
_INSTANT = 1e-9  # seconds
_SAME = 1e-6  # the distance of operations of the same sizes
_FLOAT32_BYTES = 4


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
    """The seconds of a step: all layers forward and backward, the update, and the way of the data to the device."""

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
    """The time of a step whose layers have these costs. `input_bytes` is the size of a batch, which the host loads."""
    speed = Speed(device, number_type, layout)
    layers = tuple(
        LayerSeconds(cost.name, cost.type, speed.total(cost.forward), speed.total(cost.backward)) for cost in costs
    )
    transfer = input_bytes / device.host_link if device.host_link else 0.0
    return StepTime(layers, Speed(device, NumberType.FLOAT32, layout).seconds(update), transfer)


def update_operation(built: Built, param: pb.SolverParameter) -> TensorOperation:
    """A solver's update: gradients are read, and weights and the rule's histories are read and written."""
    learned = {id(blob): blob.numel() for layer in built.layers for blob in learned_blobs(layer)}
    values, histories = sum(learned.values()), rule_of(param).histories
    return TensorOperation(UPDATE, (2 + 3 * histories) * values, (3 + 2 * histories) * _FLOAT32_BYTES * values)


def sizes_of(operation: TensorOperation) -> tuple[float, ...]:
    """The sizes that the speed of an operation depends on.

    What neither is a product nor a convolution is as quick as others that do the same, so that the values for each byte
    and the window count more than how long it takes: pooling with overlapping windows goes another way in torch.
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
    """The name under which operations of one kind are measured; each pass of a convolution is one."""
    part = operation.convolution_pass
    return operation.name if part is None else f"convolution: {part.value}"


def _least_seconds(flops: float, bytes_: float, rate: float, bandwidth: float) -> float:
    """The time for so much arithmetic and so many bytes, which go on at the same time; never none."""
    return max(flops / rate, bytes_ / bandwidth, _INSTANT)


class Speed:
    """How long a device takes for operations on one type of number and in one layout."""

    def __init__(
        self, device: Device, number_type: NumberType, layout: MemoryLayout = MemoryLayout.CHANNELS_FIRST
    ) -> None:
        if number_type not in device.arithmetic:
            known = ", ".join(each.value for each in device.arithmetic)
            raise NetError(f"device '{device.name}' has no arithmetic in {number_type.value}; it has {known}")
        self.device, self.number_type, self.layout = device, number_type, layout
        self.measured: Mapping[str, _Samples] = {}
        if number_type is NumberType.FLOAT32:
            self.measured = _samples_of(device.measured, device.arithmetic[number_type].peak, device.bandwidth)

    def total(self, operations: Iterable[TensorOperation]) -> float:
        """The seconds of operations one after the other."""
        return sum(map(self.seconds, operations))

    def seconds(self, operation: TensorOperation) -> float:
        """The overhead, and what the operation takes itself: by those that were measured, or by the data sheet."""
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
        turned = 2 * moved if self._turns() else 0.0
        return _least_seconds(operation.flops, moved, rate, bandwidth) + turned / bandwidth

    def _turns(self) -> bool:
        """Whether convolutions bring their blobs into another layout and back: fast units need channels last."""
        return self.number_type is not NumberType.FLOAT32 and self.layout is MemoryLayout.CHANNELS_FIRST


def _filled(shape: ConvolutionShape, tile: int) -> float:
    """The part of tiles that isn't padding, when a convolution's channels and filters are cut into tiles."""
    depth = shape.channels // shape.groups * shape.kernel_height * shape.kernel_width
    filters = shape.filters // shape.groups
    return math.prod(size / (-(-size // tile) * tile) for size in (depth, filters))


class _Samples:
    """Measured operations of one name: how many times longer than the least time each took."""

    def __init__(self, sizes: Sequence[tuple[float, ...]], slowness: Sequence[float]) -> None:
        self._places: NDArray[np.float64] = np.log2(np.array(sizes, float))
        self._slowness: NDArray[np.float64] = np.log2(np.array(slowness))

    def slowness(self, sizes: tuple[float, ...]) -> float:
        """That of an operation of these sizes: the mean of the nearest that were measured, all in logarithms."""
        distances = np.square(self._places - np.log2(np.array(sizes, float))).sum(1)
        nearest = np.argsort(distances)[:_NEAREST]
        weights = 1 / (distances[nearest] + _SAME)
        return float(2 ** ((self._slowness[nearest] * weights).sum() / weights.sum()))


def _samples_of(measured: tuple[MeasuredOperation, ...], peak: float, bandwidth: float) -> Mapping[str, _Samples]:
    """By names of operations."""
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

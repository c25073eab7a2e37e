"""What a pass of a net takes on a device at a batch: seconds, memory, and the algorithms of its convolutions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import MemoryBoundError
from netdsl.net.build import Built, set_batch
from netdsl.net.compute_precision import ComputePrecision
from netdsl.planner.algorithms import AlgorithmCost, ConvolutionAlgorithm, algorithm_costs
from netdsl.planner.device import Device, NumberType
from netdsl.planner.integer_program import AlgorithmChoice, AlgorithmOption, choose_algorithms
from netdsl.planner.layer_costs import LayerCost, layer_costs
from netdsl.planner.memory import MemoryUse, training_memory
from netdsl.planner.operations import TensorOperation
from netdsl.planner.step_time import Speed, StepTime, step_time, update_operation

NUMBERS = {
    ComputePrecision.EXACT: NumberType.FLOAT32,
    ComputePrecision.TF32: NumberType.TF32,
    ComputePrecision.BF16: NumberType.BFLOAT16,
    ComputePrecision.FP16: NumberType.FLOAT16,
}  # of products


@dataclass(frozen=True)
class PassCost:
    """A forward and a backward pass over a batch, and the update after it.

    `saved` are the seconds that the chosen algorithms take less than an implicit GEMM everywhere.
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
        """The seconds of the backward pass, of which algorithms save the same part as of the whole."""
        return self.time.backward * self.seconds / (self.seconds + self.saved)

    @property
    def bytes(self) -> int:
        """The memory, with what the algorithms take."""
        return self.memory.total + (0 if self.choice is None else self.choice.bytes)

    @property
    def algorithms(self) -> dict[str, str]:
        """The algorithms by the names of layers; none where the device doesn't have several."""
        return {} if self.choice is None else {name: way.algorithm.value for name, way in self.choice.options.items()}

    def iteration(self, iter_size: int) -> float:
        """The seconds of an iteration of so many passes."""
        return iter_size * self.seconds + self.time.update


def pass_cost(
    built: Built, param: pb.SolverParameter, device: Device, precision: ComputePrecision, batch: int
) -> PassCost:
    """The cost of a pass at a batch; a MemoryBoundError if the device is too small.

    The net is left at this batch.
    """
    set_batch(built, batch)
    memory = training_memory(built, param, device.type, precision=precision)
    room = device.memory - memory.total
    if room < 0:
        raise MemoryBoundError(
            f"a batch of {batch} takes {memory.total / 1e9:,.2f} GB, and {device.title} has "
            f"{device.memory / 1e9:,.2f} GB"
        )
    number_type = NUMBERS[precision]
    costs, speed = layer_costs(built, device.type), Speed(device, number_type)
    time = step_time(costs, update_operation(built, param), device, number_type, input_bytes=memory.data)
    cost = PassCost(batch, time, memory)
    if device.type != "cuda":  # a CPU's library has one algorithm for each shape, which is what was measured
        return cost
    options = {each.name: ways for each in costs if (ways := _ways(each, speed, number_type))}
    choice = choose_algorithms(options, room)
    return replace(cost, choice=choice, saved=_plain_seconds(costs, options, speed) - choice.seconds)


def _ways(cost: LayerCost, speed: Speed, number_type: NumberType) -> Sequence[AlgorithmOption]:
    """The ways to compute all passes of a layer that is a convolution."""
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
    """The same operation with an algorithm's products, and its workspace written and read besides.

    Transforms are bound by memory, so that their arithmetic costs nothing more. A workspace of im2col is for one image.
    """
    assert operation.convolution is not None
    times = operation.convolution.batch if cost.algorithm is ConvolutionAlgorithm.IM2COL else 1
    products = round(cost.flops - cost.transform_flops)
    return replace(operation, flops=products, bytes=operation.bytes + 2 * times * cost.workspace)


def _plain_seconds(costs: Iterable[LayerCost], names: Iterable[str], speed: Speed) -> float:
    """The seconds of convolutions as `step_time` counts them."""
    chosen = set(names)
    return sum(speed.total(_convolutions(cost)) for cost in costs if cost.name in chosen)

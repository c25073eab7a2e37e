"""The memory that a training step takes at its peak, found by following every tensor from its birth to its end."""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Loading
from netdsl.layer.data import DataOrigin
from netdsl.net.build import Built
from netdsl.net.compute_precision import ComputePrecision
from netdsl.net.module import NetModule
from netdsl.planner.layer_costs import VALUE_BYTES
from netdsl.planner.operations import ConvolutionPass, TensorOperation, operations_of, tensors_in, without_values
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute, LossScale, ModuleNet

_UNIT = 512  # bytes, of which the sizes of all blocks are multiples
_SMALL = 1 << 20  # bytes up to which a block is cut out of a small segment
_SMALL_SEGMENT = 2 << 20
_MEDIUM = 10 << 20  # bytes from which a block is a segment of its own
_MEDIUM_SEGMENT = 20 << 20
_LARGE_UNIT = 2 << 20  # bytes, of which the sizes of such segments are multiples
WorkspaceRule = Callable[[TensorOperation], int]  # bytes
_BYTES = 4  # of a value
_BLOCK = 16  # channels, as many as a register of AVX-512 has values
_COLOURS = 4
_LOADING = Loading()


class MemoryKind(Enum):
    """What memory is taken for."""

    PARAMETERS = "parameters"  # all blobs, also those that aren't learned
    GRADIENTS = "gradients"  # of blobs
    HISTORY = "history"  # of the solver, and what else it keeps from step to step
    DATA = "data"  # batches, also those that are made before they are needed
    ACTIVATIONS = "activations"  # tops, their gradients, and what is kept for the backward pass
    WORKSPACE = "workspace"  # of one operation
    ROUNDING = "rounding"  # what an allocator takes beyond what it is asked for


@dataclass(frozen=True)
class MemoryUse:
    """Bytes at the moment at which a training step takes most.

    `rounding` is what a GPU's allocator takes in whole blocks beyond that.
    """

    parameters: int
    gradients: int
    history: int
    data: int
    activations: int
    workspace: int
    rounding: int

    @property
    def total(self) -> int:
        """All of it."""
        return sum(vars(self).values())


def training_memory(
    built: Built,
    param: pb.SolverParameter,
    device: torch.device | str = "cpu",
    *,
    precision: ComputePrecision = ComputePrecision.EXACT,
    loading: Loading = _LOADING,
    workspace: WorkspaceRule | None = None,
) -> MemoryUse:
    """Return the memory that a step of a solver takes on a device of this type in a precision, with the net at its
    batch.

    `workspace` says what an operation takes beside its tensors: by default what oneDNN does on a CPU, and nothing on a
    GPU, where that depends on the algorithms that are chosen. What torch and its libraries take however small the net
    is, such as a GPU's context, isn't in it. Nothing is computed, and the net stays as it is.
    """
    device = torch.device(device)
    on_cpu = device.type == "cpu"
    watch = _MemoryWatch(workspace or (onednn_workspace if on_cpu else no_workspace))
    with without_values(built, device, precision), watch:
        _follow_step(built, param, precision, watch)
    peak = watch.peak(Allocation() if on_cpu else CachedAllocation())
    if on_cpu:  # those for a GPU are made in the memory of its CPU
        peak[MemoryKind.DATA] += loading.prefetch * _bytes_read(built)
    sizes = {kind.value: peak[kind] for kind in MemoryKind}
    return MemoryUse(**sizes)


def _follow_step(built: Built, param: pb.SolverParameter, precision: ComputePrecision, watch: _MemoryWatch) -> None:
    """Let a solver do a step on batches without values."""

    def next_batch() -> dict[int, Tensor]:
        batch = {edge: torch.empty(built.shapes[edge], device="meta") for edge in built.input_edges()}
        watch.mark(MemoryKind.DATA, batch.values())
        return batch

    trained = ModuleNet(NetModule(built), next_batch, Compute())
    trained.loss_scale = LossScale("meta") if precision is ComputePrecision.FP16 else None
    solver = Solver(_without_output(param), trained)
    watch.mark_all(MemoryKind.HISTORY)
    watch.mark(MemoryKind.PARAMETERS, [solver.weights.buffer])
    solver.iterate()
    blobs = (blob.tensor for blob in solver.weights.blobs if blob.learns)
    watch.mark(MemoryKind.GRADIENTS, [blob.grad for blob in blobs if blob.grad is not None])


def _without_output(param: pb.SolverParameter) -> pb.SolverParameter:
    """Return the same settings for a solver that neither displays nor saves anything, with one batch in an
    iteration."""
    quiet = copy_of(param)
    quiet.iter_size = 1  # all batches take the same memory: gradients are added up in one place
    quiet.ClearField("display")
    quiet.ClearField("snapshot")
    return quiet


def _bytes_read(built: Built) -> int:
    """Return the bytes of a batch, as far as it is read from files."""
    edges = [edge for node, layer in built.data_layers() if layer.data_origin is DataOrigin.FILES for edge in node.tops]
    return VALUE_BYTES * sum(math.prod(built.shapes[edge]) for edge in edges)


@dataclass(frozen=True)
class _Change:
    """Memory that is taken, or let go if `size` is negative; an operation's own is only there for a moment."""

    storage: int
    size: int
    workspace: int = 0


class _MemoryWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes when the memory of tensors is taken and let go, and what operations take beside it."""

    def __init__(self, workspace: WorkspaceRule) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._workspace = workspace
        self._changes: list[_Change] = []
        self._kinds: dict[int, MemoryKind] = {}
        self._numbers: dict[int, int] = {}  # of the storages that are there, by their addresses
        self._count = 0

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        for tensor in tensors_in(result):
            self._note_taken(tensor.untyped_storage())
        workspace = max(map(self._workspace, operations_of(func, args, kwargs, result)), default=0)
        if workspace:
            self._changes.append(_Change(0, 0, workspace))
        return result

    def _note_taken(self, storage: torch.UntypedStorage) -> None:
        address = storage._cdata
        if address not in self._numbers:
            self._count += 1
            self._numbers[address] = self._count
            self._changes.append(_Change(self._count, storage.nbytes()))
            weakref.finalize(storage, self._note_let_go, address, storage.nbytes())

    def _note_let_go(self, address: int, size: int) -> None:
        self._changes.append(_Change(self._numbers.pop(address), -size))

    def mark(self, kind: MemoryKind, tensors: Iterable[Tensor]) -> None:
        """Say what the memory of these tensors is for."""
        for tensor in tensors:
            self._kinds[self._numbers[tensor.untyped_storage()._cdata]] = kind

    def mark_all(self, kind: MemoryKind) -> None:
        """Say what all memory is for that there is."""
        self._kinds.update(dict.fromkeys(self._numbers.values(), kind))

    def peak(self, allocation: Allocation) -> Counter[MemoryKind]:
        """Return the bytes of each kind when most were taken, counting what an allocator takes for them."""
        sizes, peak, most = Counter[MemoryKind](), Counter[MemoryKind](), 0
        for change in self._changes:
            kind = self._kinds.get(change.storage, MemoryKind.ACTIVATIONS)
            sizes[kind] += change.size
            allocation.change(change.size)
            total = allocation.total + change.workspace
            if total > most:
                most, peak = total, sizes.copy()
                peak[MemoryKind.WORKSPACE] = change.workspace
                peak[MemoryKind.ROUNDING] = allocation.total - sizes.total()
        return peak


class Allocation:
    """Memory that is taken as it is asked for, as a CPU's is but for some pages."""

    def __init__(self) -> None:
        self._bytes = 0

    def change(self, size: int) -> None:
        """Take memory of this size, or give it back if the size is negative."""
        self._bytes += size

    @property
    def total(self) -> int:
        """The bytes that are taken from the device."""
        return self._bytes


class CachedAllocation(Allocation):
    """Memory as torch's caching allocator takes it from a GPU: in segments, of which blocks are parts.

    It is as much as is needed if blocks always fit into what is left of segments. Where they don't, the allocator
    takes more as long as there is more, and gives back what it doesn't use before it says that there is none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._small, self._medium, self._large = 0, 0, 0

    def change(self, size: int) -> None:
        """Take a block for this size, or give it back if the size is negative."""
        sign, block = 1 if size > 0 else -1, _rounded_up(abs(size), _UNIT)
        if block <= _SMALL:
            self._small += sign * block
        elif block < _MEDIUM:
            self._medium += sign * block
        else:
            self._large += sign * _rounded_up(block, _LARGE_UNIT)

    @property
    def total(self) -> int:
        """The bytes of all segments."""
        return _rounded_up(self._small, _SMALL_SEGMENT) + _rounded_up(self._medium, _MEDIUM_SEGMENT) + self._large


def _rounded_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit


def no_workspace(operation: TensorOperation) -> int:
    """Nothing."""
    return 0


def onednn_workspace(operation: TensorOperation) -> int:
    """Return the copies that oneDNN, a CPU's library of convolutions, makes in its own layout with channels in blocks.

    The two tensors that an operation reads are copied, and the third is computed in that layout, before torch has
    memory for it in the usual one. Then the copies are let go, and the result is copied. An image in colours is read as
    it is.
    """
    if operation.convolution is None:
        return 0
    shape = operation.convolution
    pixels, top_pixels = shape.height * shape.width, shape.top_height * shape.top_width
    kernel = shape.kernel_height * shape.kernel_width
    bottom = _copied_bytes(shape.batch * pixels, shape.channels)
    top = _copied_bytes(shape.batch * top_pixels, shape.filters)
    weight = _BYTES * kernel * shape.channels // shape.groups * shape.filters
    match operation.convolution_pass:
        case ConvolutionPass.TOP:
            read, result, plain = bottom + weight, top, shape.batch * top_pixels * shape.filters
        case ConvolutionPass.BOTTOM_GRADIENT:
            read, result, plain = top + weight, bottom, shape.batch * pixels * shape.channels
        case _:
            return bottom + top
    return max(read + result - _BYTES * plain, result)


def _copied_bytes(places: int, channels: int) -> int:
    """Return the bytes of a copy of images with channels in blocks."""
    return 0 if channels <= _COLOURS else _BYTES * places * -(-channels // _BLOCK) * _BLOCK

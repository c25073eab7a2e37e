"""The peak memory of a training step, found by following every tensor from its creation to its release."""

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

_UNIT = 512  # bytes; the sizes of all blocks are multiples of it
_SMALL = 1 << 20  # bytes; blocks up to this size are part of a small segment
_SMALL_SEGMENT = 2 << 20
_MEDIUM = 10 << 20  # bytes; blocks of this size or more are segments of their own
_MEDIUM_SEGMENT = 20 << 20
_LARGE_UNIT = 2 << 20  # bytes; the sizes of large segments are multiples of it
WorkspaceRule = Callable[[TensorOperation], int]  # returns bytes
_BYTES = 4  # bytes of a value
_BLOCK = 16  # channels; the number of values in an AVX-512 register
_COLORS = 4
_LOADING = Loading()


class MemoryKind(Enum):
    """The uses of memory."""

    PARAMETERS = "parameters"  # all blobs, including those that aren't learned
    GRADIENTS = "gradients"  # gradients of blobs
    HISTORY = "history"  # the solver's history, and everything else that it keeps between steps
    DATA = "data"  # batches, including prefetched ones
    ACTIVATIONS = "activations"  # tops, their gradients, and values that are kept for the backward pass
    WORKSPACE = "workspace"  # the workspace of one operation
    ROUNDING = "rounding"  # memory that an allocator takes in excess of a request


@dataclass(frozen=True)
class MemoryUse:
    """The bytes in use at the peak of a training step.

    `rounding` is the additional memory of a GPU's allocator, which takes memory in whole blocks.
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
        """The sum of all uses."""
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
    """Return the memory of a solver's step on a device of this type in a precision, with the net's batch.

    `workspace` returns an operation's memory in addition to its tensors. By default it is oneDNN's on a CPU. It is 0 on
    a GPU, where it depends on the chosen algorithms. The result excludes the fixed memory of torch and its libraries,
    such as a GPU's context. Computes nothing and doesn't change the net.
    """
    device = torch.device(device)
    on_cpu = device.type == "cpu"
    watch = _MemoryWatch(workspace or (onednn_workspace if on_cpu else no_workspace))
    with without_values(built, device, precision), watch:
        _follow_step(built, param, precision, watch)
    peak = watch.peak(Allocation() if on_cpu else CachedAllocation())
    if on_cpu:  # batches for a GPU are prefetched into the CPU's memory
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
    """Return the settings without displays and snapshots, and with one batch in an iteration."""
    quiet = copy_of(param)
    quiet.iter_size = 1  # further batches need no further memory, since gradients are added up in one place
    quiet.ClearField("display")
    quiet.ClearField("snapshot")
    return quiet


def _bytes_read(built: Built) -> int:
    """Return the bytes of a batch that are read from files."""
    edges = [edge for node, layer in built.data_layers() if layer.data_origin is DataOrigin.FILES for edge in node.tops]
    return VALUE_BYTES * sum(math.prod(built.shapes[edge]) for edge in edges)


@dataclass(frozen=True)
class _Change:
    """A change of memory in use, which is negative for a release. An operation's workspace is only in use for a
    moment."""

    storage: int
    size: int
    workspace: int = 0


class _MemoryWatch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes when the memory of tensors is allocated and released, and the workspaces of operations."""

    def __init__(self, workspace: WorkspaceRule) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._workspace = workspace
        self._changes: list[_Change] = []
        self._kinds: dict[int, MemoryKind] = {}
        self._numbers: dict[int, int] = {}  # numbers of existing storages, by address
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
        """Set the use of the memory of these tensors."""
        for tensor in tensors:
            self._kinds[self._numbers[tensor.untyped_storage()._cdata]] = kind

    def mark_all(self, kind: MemoryKind) -> None:
        """Set the use of all memory that is currently allocated."""
        self._kinds.update(dict.fromkeys(self._numbers.values(), kind))

    def peak(self, allocation: Allocation) -> Counter[MemoryKind]:
        """Return the bytes of each use at the peak, including the allocator's rounding."""
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
    """Memory that is allocated as requested. A CPU's memory is like that, apart from some pages."""

    def __init__(self) -> None:
        self._bytes = 0

    def change(self, size: int) -> None:
        """Allocate this many bytes, or release them if the number is negative."""
        self._bytes += size

    @property
    def total(self) -> int:
        """The bytes that are allocated from the device."""
        return self._bytes


class CachedAllocation(Allocation):
    """Memory as torch's caching allocator takes it from a GPU, in segments that contain blocks.

    The result assumes that blocks always fit into the free parts of segments. If they don't, the allocator takes more
    memory while there is some. It releases unused segments before it reports that memory is exhausted.
    """

    def __init__(self) -> None:
        super().__init__()
        self._small, self._medium, self._large = 0, 0, 0

    def change(self, size: int) -> None:
        """Allocate a block for this many bytes, or release it if the number is negative."""
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
    """Return 0, for devices whose workspaces aren't known."""
    return 0


def onednn_workspace(operation: TensorOperation) -> int:
    """Return the bytes of the copies that oneDNN, a CPU's library of convolutions, makes in its blocked layout.

    The two tensors that an operation reads are copied. The third is computed in the blocked layout, before torch
    allocates its memory in the usual layout. The copies are then released, and the result is copied. A color image is
    read without a copy.
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
    """Return the bytes of a copy of images in the blocked layout of channels."""
    return 0 if channels <= _COLORS else _BYTES * places * -(-channels // _BLOCK) * _BLOCK

"""A GPU where there is none: tensors in main memory that claim to be on `cuda:0` and are treated accordingly.

Inside `pretend_gpu`, tensors that are created on or moved to `cuda` are on the pretended GPU, and report that device.
Mixing them with tensors in main memory is an error, as on a real GPU, and every operation that would make a program
wait is noted. As with CUDA, backward passes run in a separate thread. torch's own functions see a CPU.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, ClassVar
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from netdsl.layer import Layer
from tests.pretend_graph import CaptureError, PretendedGraph

GPU = torch.device("cuda:0")
ROOT = Path(__file__).parents[1]
SOURCES = tuple(f"{ROOT / name}/" for name in ("netdsl", "converters", "zoo", "tests"))

_ATEN = torch.ops.aten
# a mask is converted to places first
_CHOOSING = {_ATEN.index, _ATEN.index_put, _ATEN.index_put_, _ATEN._index_put_impl_}
_WAITING = {  # the result is known only after computing: a number, or a count
    *(_ATEN._local_scalar_dense, _ATEN.equal, _ATEN.nonzero, _ATEN.masked_select, _ATEN.bincount),
    *(_ATEN._unique, _ATEN._unique2, _ATEN.unique_dim, _ATEN.unique_consecutive),
}
_FILLING = {_ATEN.fill, _ATEN.fill_, _ATEN.masked_fill, _ATEN.masked_fill_}  # filled with one number
_FROM_PYTHON = {torch.tensor, torch.as_tensor, torch.asarray, Tensor.new_tensor}
_MASKS = (torch.bool, torch.uint8)


class WrongDeviceError(RuntimeError):
    """Tensors on several devices in one operation."""


class StopKind(Enum):
    """The kinds of operations that a GPU program should avoid."""

    COPY_TO_HOST = "a copy to the host"
    WAIT = "a wait"


@dataclass(frozen=True)
class Stop:
    """A place where the program waits for its GPU."""

    kind: StopKind
    operation: str
    where: str  # the layer or the gradient function, and the line
    thread: str

    def __str__(self) -> str:
        return f"{self.operation} is {self.kind.value}, {self.where}"


class _ThreadState(threading.local):
    """The state of a thread, such as one that acts as a worker, and of its backward passes."""

    recording: PretendedGraph | None = None  # operations are added to it
    making = False  # a tensor is being created there


class PretendedGPU:
    """The events on a pretended GPU."""

    def __init__(self) -> None:
        self.stops: list[Stop] = []
        self.recorded, self.caught_up = 0, 0  # events, and the number of waits for everything
        self.ahead: list[int] = []  # for each wait, the number of events recorded after the awaited one
        self.own_stream = False  # whether the program currently works in its own stream
        self.bytes_sent = {True: 0, False: 0}  # sent to the GPU, by whether the program's own stream did it
        self.graphs: list[PretendedGraph] = []
        self.capturing = False  # in any thread
        self.now = _ThreadState()
        self._own_threads = threading.current_thread().name, _Backward.NAME

    def note(self, kind: StopKind, operation: str) -> None:
        """Note that the program waits here."""
        if self.now.recording is not None:
            raise CaptureError(f"{operation} is {kind.value}, which isn't permitted while recording, {place()}")
        self.stops.append(Stop(kind, operation, place(), threading.current_thread().name))

    def send(self, tensor: Tensor) -> None:
        """Copy a tensor of main memory to the GPU."""
        if self.now.recording is not None:
            raise CaptureError(f"a recording has a copy from memory of the host, which may change by then, {place()}")
        self.bytes_sent[self.own_stream] += tensor.nbytes

    def own_stops(self) -> list[str]:
        """Return the waits of the test's own thread and of its backward passes."""
        return [str(stop) for stop in self.stops if stop.thread in self._own_threads]


@contextmanager
def pretend_gpu() -> Iterator[PretendedGPU]:
    """Pretend that one GPU exists, here and in threads that start inside."""
    gpu = PretendedGPU()
    run_thread, run_backward = threading.Thread.run, torch.autograd._engine_run_backward

    def run_in_modes(thread: threading.Thread) -> None:
        with _modes(gpu):
            run_thread(thread)

    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(threading.Thread, "run", run_in_modes))
        stack.enter_context(mock.patch.object(torch.autograd, "_engine_run_backward", _Backward(gpu, run_backward)))
        for function in (torch.autocast, torch.is_autocast_enabled, torch.get_autocast_dtype):
            stack.enter_context(mock.patch.object(torch, function.__name__, _where_it_runs(function)))
        stack.enter_context(mock.patch.object(Tensor, "record_stream", lambda tensor, stream: None))
        stack.enter_context(mock.patch.multiple(torch.cuda, **_cuda(gpu)))
        stack.enter_context(_modes(gpu))
        yield gpu


def _where_it_runs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a torch function about a device type, so that it sees a CPU where a GPU is pretended."""

    def run(kind: str = "cuda", *args: Any, **kwargs: Any) -> Any:
        return function("cpu" if kind == "cuda" else kind, *args, **kwargs)

    return run


@contextmanager
def _modes(gpu: PretendedGPU) -> Iterator[None]:
    with _Operations(gpu), _Calls(gpu):
        yield


def on_gpu(tensor: Tensor) -> bool:
    """Return whether a tensor's memory is on the pretended GPU. Its storage records that, and views share the
    storage."""
    return not _is_meta(tensor) and getattr(tensor.untyped_storage(), "on_gpu", False)


def _is_meta(tensor: Tensor) -> bool:
    with torch._C.DisableTorchFunction():
        return tensor.device.type == "meta"


def _put(value: Any, *, gpu: bool) -> Any:
    """Record where the memory of an operation's result is."""
    for tensor in tree_leaves(value):
        if isinstance(tensor, Tensor) and not _is_meta(tensor):
            tensor.untyped_storage().on_gpu = gpu
    return value


class _Operations(TorchDispatchMode):
    """Every low-level operation of torch, including those of backward passes."""

    def __init__(self, gpu: PretendedGPU) -> None:
        super().__init__()
        self._gpu = gpu

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunction():
            leaves = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor) and not _is_meta(leaf)]
            there = [on_gpu(leaf) for leaf in leaves]
            if any(there):
                self._look_at(func, args, kwargs, list(zip(leaves, there, strict=True)))
            recording = self._gpu.now.recording if any(there) or self._gpu.now.making else None
            if recording is not None:
                recording.note_written(func, args, kwargs)
            result = func(*args, **kwargs)
            if any(there) and func.overloadpacket is not _ATEN.copy_:
                _put(result, gpu=True)
            if recording is not None:
                recording.add(func, args, kwargs, result, on_gpu)
            return result

    def _look_at(self, func: Any, args: Any, kwargs: Any, tensors: list[tuple[Tensor, bool]]) -> None:
        name, packet = str(func.overloadpacket), func.overloadpacket
        if packet is _ATEN.copy_:
            self._copy(tensors, bool(args[2]) if len(args) > 2 else bool(kwargs.get("non_blocking")))
        elif packet in _WAITING or (packet is _ATEN.repeat_interleave and kwargs.get("output_size") is None):
            self._gpu.note(StopKind.WAIT, name)
        elif packet in _CHOOSING:
            self._choose(packet, args)
        else:
            _refuse_mixture(func, args, tensors)

    def _copy(self, tensors: list[tuple[Tensor, bool]], non_blocking: bool) -> None:
        (_, to), (_, of) = tensors[:2]
        if of and not to and not (non_blocking and getattr(tensors[0][0].untyped_storage(), "pinned", False)):
            self._gpu.note(StopKind.COPY_TO_HOST, "aten.copy_")
        elif to and not of and not non_blocking and tensors[1][0].dim():  # fills in numbers from Python
            self._gpu.note(StopKind.WAIT, "aten.copy_ from the host")
        elif to and not of and tensors[1][0].dim():
            self._gpu.send(tensors[1][0])

    def _choose(self, packet: Any, args: Any) -> None:
        """Accept places on the host and move them. Convert a mask to places, except where it fills values directly."""
        indices = [index for index in args[1] if index is not None]
        fills = packet is not _ATEN.index and args[2].numel() == 1 and not (len(args) > 3 and args[3])
        if not on_gpu(args[0]) or (packet is not _ATEN.index and args[2].dim() and not on_gpu(args[2])):
            raise WrongDeviceError(f"{packet} mixes values on {GPU} with values in main memory, {place()}")
        if any(index.dtype in _MASKS for index in indices) and not (fills and len(indices) == 1):
            self._gpu.note(StopKind.WAIT, f"{packet} with a mask")
        if not all(map(on_gpu, indices)):
            self._gpu.note(StopKind.WAIT, f"{packet} with places on the host")


def _refuse_mixture(func: Any, args: Any, tensors: list[tuple[Tensor, bool]]) -> None:
    """Apply torch's rule: elementwise operations may read zero-dimensional tensors from main memory, but not write to
    them."""
    one_by_one = torch.Tag.pointwise in func.tags or func.overloadpacket in _FILLING
    written = [arg for arg, spec in zip(args, func._schema.arguments, strict=False) if _is_written(spec)]
    wrong = [
        tensor
        for tensor, there in tensors
        if not there and (tensor.dim() or not one_by_one or any(tensor is other for other in written))
    ]
    if wrong:
        shapes = " and ".join(str(list(tensor.shape)) for tensor in wrong)
        raise WrongDeviceError(
            f"{func.overloadpacket} mixes tensors on {GPU} with one of shape {shapes} in main memory, {place()}"
        )


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


class _Calls(TorchFunctionMode):
    """The calls by which programs find a tensor's device, or create or move tensors."""

    def __init__(self, gpu: PretendedGPU) -> None:
        super().__init__()
        self._gpu = gpu

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        answer = _ANSWERS.get(getattr(func, "__self__", None) if func.__name__ == "__get__" else func)
        if answer is not None and (result := answer(self._gpu, *args, **kwargs)) is not NotImplemented:
            return result
        if func in _FROM_PYTHON:
            return self._from_python(func, args, kwargs)
        pinned, device = kwargs.pop("pin_memory", False), kwargs.get("device")
        kind = None if device is None else torch.device(device).type
        if kind == "cuda":
            kwargs["device"] = "cpu"
        self._gpu.now.making = kind == "cuda"
        try:
            result = func(*args, **kwargs)
        finally:
            self._gpu.now.making = False
        if kind in ("cpu", "cuda"):
            _put(result, gpu=kind == "cuda")
        if pinned:
            result.untyped_storage().pinned = True
        return result

    def _from_python(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return values of Python, which are in main memory first."""
        like, device = args[0], kwargs.pop("device", None)
        there = isinstance(like, Tensor) and on_gpu(like)
        wanted = there if device is None else torch.device(device).type == "cuda"
        result = func(*args, **kwargs)
        if wanted and (func is Tensor.new_tensor or not there):
            self._gpu.note(StopKind.WAIT, f"torch.{func.__name__} of values on the host")
        return _put(result.clone() if wanted is not there else result, gpu=wanted)


def _to(gpu: PretendedGPU, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Handle `Tensor.to` in all its forms. A tensor that is already on the device isn't copied."""
    like = next((arg for arg in (*args, kwargs.get("other")) if isinstance(arg, Tensor)), None)
    devices = [arg for arg in args if isinstance(arg, str | torch.device) or type(arg) is int]
    dtypes = [arg for arg in args if isinstance(arg, torch.dtype)] + ([] if like is None else [like.dtype])
    non_blocking, copy, *_ = [*(arg for arg in args if isinstance(arg, bool)), False, False]
    devices += [] if like is None else [GPU if on_gpu(like) else "meta" if _is_meta(like) else "cpu"]
    device = next(iter(devices), kwargs.get("device"))
    dtype = kwargs.get("dtype") or (dtypes or [tensor.dtype])[0]
    format_ = kwargs.get("memory_format") or torch.preserve_format
    there = on_gpu(tensor)
    wanted = there if device is None else torch.device(device).type == "cuda"
    if _is_meta(tensor) or (device is not None and torch.device(device).type == "meta"):
        return tensor.to(device or "meta", dtype, memory_format=format_)
    if wanted and not there:
        gpu.send(tensor)
    if wanted != there:
        _note_move(gpu, there, non_blocking or kwargs.get("non_blocking", False))
    copy = copy or kwargs.get("copy", False) or wanted != there
    return _put(tensor.to(dtype, copy=copy, memory_format=format_), gpu=wanted)


def _note_move(gpu: PretendedGPU, from_gpu: bool, non_blocking: bool) -> None:
    if from_gpu:
        gpu.note(StopKind.COPY_TO_HOST, "Tensor.to")
    elif not non_blocking:
        gpu.note(StopKind.WAIT, "Tensor.to from the host")


def _no_numpy(gpu: PretendedGPU, tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
    if on_gpu(tensor):
        raise TypeError(f"can't convert {GPU} device type tensor to numpy, {place()}")
    return NotImplemented


def _listed(gpu: PretendedGPU, tensor: Tensor) -> Any:
    if on_gpu(tensor):
        gpu.note(StopKind.COPY_TO_HOST, "Tensor.tolist")
    return NotImplemented


def _is_pinned(gpu: PretendedGPU, tensor: Tensor, *args: Any) -> bool:
    return getattr(tensor.untyped_storage(), "pinned", False)


def _pinned(gpu: PretendedGPU, tensor: Tensor, *args: Any) -> Tensor:
    if on_gpu(tensor):
        raise RuntimeError("only what lies in main memory can be pinned")
    copy = tensor.clone()
    copy.untyped_storage().pinned = True
    return copy


_ANSWERS: dict[Any, Callable[..., Any]] = {
    Tensor.device: lambda gpu, tensor: GPU if on_gpu(tensor) else NotImplemented,
    Tensor.is_cuda: lambda gpu, tensor: on_gpu(tensor),
    Tensor.is_cpu: lambda gpu, tensor: False if on_gpu(tensor) else NotImplemented,
    Tensor.get_device: lambda gpu, tensor: 0 if on_gpu(tensor) else NotImplemented,
    Tensor.to: _to,
    Tensor.cpu: lambda gpu, tensor, **kwargs: _to(gpu, tensor, "cpu", **kwargs),
    Tensor.cuda: lambda gpu, tensor, device=GPU, **kwargs: _to(gpu, tensor, device, **kwargs),
    Tensor.numpy: _no_numpy,
    Tensor.__array__: _no_numpy,
    Tensor.tolist: _listed,
    Tensor.is_pinned: _is_pinned,
    Tensor.pin_memory: _pinned,
    Tensor.__deepcopy__: lambda gpu, tensor, memo: _put(Tensor.__deepcopy__(tensor, memo), gpu=on_gpu(tensor)),
}


class _Backward:
    """Backward passes in a separate thread, where the program's thread-local state is missing."""

    NAME: ClassVar[str] = "backward passes of the pretended GPU"

    def __init__(self, gpu: PretendedGPU, run: Callable[..., Any]) -> None:
        self._gpu, self._run = gpu, run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        results, problems = [], []
        with_gradients, recording = torch.is_grad_enabled(), self._gpu.now.recording

        def work() -> None:
            self._gpu.now.recording = recording
            try:
                with torch.set_grad_enabled(with_gradients):
                    results.append(self._run(*args, **kwargs))
            except BaseException as problem:
                problems.append(problem)

        thread = threading.Thread(target=work, name=self.NAME)
        thread.start()
        thread.join()
        for problem in problems:
            raise problem
        return results[0]


class _Stream:
    """A stream whose work is always done. Copies in the program's own stream are noted."""

    def __init__(self, gpu: PretendedGPU) -> None:
        self._gpu = gpu

    def __enter__(self) -> None:
        self._gpu.own_stream = True

    def __exit__(self, *problem: object) -> None:
        self._gpu.own_stream = False

    def record_event(self, event: Any = None) -> _Stream:
        return self

    def wait_event(self, event: Any) -> None: ...

    def wait_stream(self, stream: Any) -> None: ...

    def synchronize(self) -> None:
        self._gpu.caught_up += 1

    def query(self) -> bool:
        return True


class _Capture:
    """A context that records the operations on the GPU."""

    def __init__(self, gpu: PretendedGPU, graph: PretendedGraph) -> None:
        self._gpu, self._graph = gpu, graph

    def __enter__(self) -> None:
        if self._gpu.capturing:
            raise CaptureError("another thread records, whose recording this ends")
        self._gpu.capturing = True
        self._graph.begin()
        self._gpu.now.recording = self._graph
        self._gpu.graphs.append(self._graph)

    def __exit__(self, problem: object, *more: object) -> None:
        self._gpu.now.recording, self._gpu.capturing = None, False
        self._graph.end()
        if problem is not None:
            raise CaptureError("operation failed due to a previous error during capture")


class _Event:
    """A moment in a stream. A program that waits for it may have recorded later events."""

    def __init__(self, gpu: PretendedGPU) -> None:
        self._gpu, self._number = gpu, 0

    def record(self, stream: _Stream) -> None:
        self._gpu.recorded += 1
        self._number = self._gpu.recorded

    def synchronize(self) -> None:
        self._gpu.ahead.append(self._gpu.recorded - self._number)

    def query(self) -> bool:
        return True


def _cuda(gpu: PretendedGPU) -> dict[str, Any]:
    """Return replacements for `torch.cuda` with a GPU."""
    properties = SimpleNamespace(name="pretended", total_memory=1 << 34, major=9, minor=0)
    return {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "current_stream": lambda device=None: _Stream(gpu),
        "Stream": lambda device=None: _Stream(gpu),
        "stream": lambda stream: stream,
        "Event": lambda: _Event(gpu),
        "CUDAGraph": PretendedGraph,
        "graph": lambda graph, stream, capture_error_mode: _Capture(gpu, graph),
        "synchronize": lambda device=None: gpu.note(StopKind.WAIT, "torch.cuda.synchronize"),
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "get_device_properties": lambda device=None: properties,
        "get_device_name": lambda device=None: properties.name,
        "get_rng_state_all": lambda: [torch.zeros(16, dtype=torch.uint8)],
        "set_rng_state_all": lambda states: None,
    }


def place() -> str:
    """Return the program's position: the layer, or the layer whose gradient is computed, and the line of netdsl."""
    frames = list(_frames(sys._getframe(1)))
    layers = (frame.f_locals.get("self") for frame in frames)
    layer = next((layer.layer.name for layer in layers if isinstance(layer, Layer)), None)
    node = torch._C._current_autograd_node()
    who = f"in layer '{layer}'" if layer else f"in the gradient {node.name()}" if node else "outside of layers"
    lines = (
        f"{Path(frame.f_code.co_filename).relative_to(ROOT)}:{frame.f_lineno}"
        for frame in frames
        if frame.f_code.co_filename.startswith(SOURCES) and frame.f_code.co_filename != __file__
    )
    return f"{who}, at {next(lines, 'no line of ours')}"


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back

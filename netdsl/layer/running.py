"""Traits of layers that run one after another: merged passes, kept states, and memory that is overwritten as in
Caffe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum, auto
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from netdsl.layer.core import Layer

OF_TWO_BYTES = (torch.half, torch.bfloat16)
_META_IS_CPU = ContextVar("meta_is_cpu", default=False)
_REPETITIONS = ContextVar("repetitions", default=1)


def not_compiled(method: Callable[..., Any]) -> Callable[..., Any]:
    """Exclude a layer's method from torch's compiler, which can't trace it.

    torch has a decorator for this, but it loads the whole compiler. This one loads it only during a compilation.
    """

    @wraps(method)
    def run(self: Layer, *bottoms: Tensor) -> Any:
        if torch.compiler.is_compiling():
            return torch.compiler.disable(method)(self, *bottoms)  # type: ignore[no-untyped-call]
        return method(self, *bottoms)

    return run


def at_least_single(values: Tensor) -> Tensor:
    """Return the values, converted to float32 if they have two bytes each."""
    return values.float() if values.dtype in OF_TWO_BYTES else values


def in_single(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Make a layer's forward compute in float32 for inputs of two bytes. Its results have the inputs' type.

    Sums of squares need this, because they can exceed float16.
    """

    @wraps(forward)
    def run(self: Layer, *bottoms: Tensor) -> Any:
        wide = [at_least_single(bottom) for bottom in bottoms]
        tops = forward(self, *wide)
        if wide[0] is bottoms[0]:
            return tops
        return tuple(top.to(bottoms[0].dtype) for top in tops) if isinstance(tops, tuple) else tops.to(bottoms[0].dtype)

    return run


def on_cpu(tensor: Tensor) -> bool:
    """Return whether a tensor is on a CPU, or on meta in place of a tensor on a CPU."""
    return tensor.is_cpu or (tensor.is_meta and _META_IS_CPU.get())


def can_be_read(values: Tensor) -> bool:
    """Return whether reading the values neither waits for a device nor breaks a compiler's graph."""
    return on_cpu(values) and not torch.compiler.is_compiling()


@contextmanager
def meta_stands_for(device: torch.device) -> Iterator[None]:
    """Make layers treat meta tensors like tensors on a device."""
    token = _META_IS_CPU.set(device.type == "cpu")
    try:
        yield
    finally:
        _META_IS_CPU.reset(token)


def repetitions() -> int:
    """Return how many times the current step on meta tensors is repeated with real values."""
    return _REPETITIONS.get()


def in_pieces(count: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Yield pieces of all tensors with `count` items each. On meta, one piece stands for all pieces of the same
    length."""
    pieces = list(zip(*(torch.split(tensor, count) for tensor in tensors), strict=True))
    if not tensors[0].is_meta:
        yield from pieces
        return
    by_length = {len(piece[0]): piece for piece in pieces}
    for length, times in Counter(len(piece[0]) for piece in pieces).items():
        token = _REPETITIONS.set(times)
        yield by_length[length]
        _REPETITIONS.reset(token)


class MergesWithNext(Layer):
    """A layer that can compute some following layers together with itself, in one pass over memory."""

    def merges_with(self, following: Layer) -> bool:
        """Return whether `forward_merged` can compute this following layer."""
        raise NotImplementedError

    def forward_merged(self, following: Layer, *bottoms: Tensor) -> Tensor:
        """Return the top of the following layer, given the bottoms of this one."""
        raise NotImplementedError


class MakesNewMemory(Layer):
    """A layer whose tops have their own memory. Its backward pass doesn't read them, so that they may be
    overwritten."""


class OverwritesBottom(Layer):
    """A layer that can write its top over a bottom if no other layer needs that bottom."""

    may_overwrite: tuple[int, ...] = ()  # the indices of such bottoms, set by the net

    def overwritten(self) -> tuple[int, ...]:
        """Return the indices of the bottoms to overwrite. The result is empty while hooks observe the layer."""
        return () if self.has_hooks() else self.may_overwrite


class PrefersChannelsLast(Layer):
    """A layer that may be faster if the channels of its bottoms are last in memory."""

    def prefers_channels_last(self) -> bool:
        """Return whether this holds for the layer's settings."""
        raise NotImplementedError


class NeedsValues(Layer):
    """A layer that can't run on tensors without values.

    Cost estimates assume that it reads its bottoms once and writes its tops once.
    """


class KeepsState(Layer):
    """A layer that passes a state from one batch to the next. The state is part of a training snapshot."""

    begins_at = 1  # the index of the bottom that is 0 where a sequence begins

    def kept(self) -> dict[str, Tensor]:
        """Return the state, by the names of its parts."""
        raise NotImplementedError

    def keep(self, state: Mapping[str, Tensor]) -> None:
        """Continue from a kept state."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget the state."""
        raise NotImplementedError

    def follow(self, sequences: Sequence[int]) -> None:
        """Continue with the states of these sequences, in this order. A sequence may be repeated."""
        raise NotImplementedError


class Reads(Enum):
    """The part of a blob's data that a layer reads."""

    NOTHING = auto()
    SIGNS = auto()  # the signs of values that get a gradient
    PASSED = auto()  # the values that get a gradient
    VALUES = auto()


class ReadsInBackward(Layer):
    """A layer whose backward pass in Caffe reads bottoms or tops, which in-place layers may have overwritten by then.

    A layer that saves its data in separate memory isn't included. An in-place layer finds its top where its bottom was.
    If the top is sufficient, as for a ReLU, it reads the top. Labels don't count.
    """

    def reads_bottoms(self) -> Reads:
        """Return the part of the bottoms that the backward pass reads."""
        return Reads.NOTHING

    def reads_tops(self) -> Reads:
        """Return the part of the tops that the backward pass reads."""
        return Reads.NOTHING

    def is_in_place(self) -> bool:
        """Return whether the first top is the first bottom."""
        return self.layer.bottom[:1] == self.layer.top[:1]

    def loses_gradient(self) -> bool:
        """Return whether the in-place backward pass overwrites its top's gradient before reading it."""
        return False

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        """Return Caffe's gradients of the bottoms, and then those of the blobs, given the gradients of the tops.

        `seen` contains the bottoms during the forward pass, from which separate memory was computed. `bottoms` and
        `tops` contain the present values of their memory. A type that reads only bottoms doesn't need to override this:
        its gradients are those of `forward` for the present bottoms.
        """
        places = [bottom.detach().requires_grad_(bottom.is_floating_point()) for bottom in bottoms]
        with torch.enable_grad():
            made = self(*places)
        sources = [*places, *map(self.owner_of, self.blob_names())]
        learning = [source for source in sources if source.requires_grad]
        found = iter(
            torch.autograd.grad(made if isinstance(made, tuple) else (made,), learning, gradients, allow_unused=True)
        )
        return [next(found) if source.requires_grad else None for source in sources]


class KeepsSigns(Layer):
    """A layer whose top is positive exactly where its bottom is, except where no gradient passes."""

    def keeps_signs(self) -> bool:
        """Return whether this holds for the layer's settings."""
        return True

    def keeps_passed(self) -> bool:
        """Return whether all values through which a gradient passes stay unchanged."""
        return False


class SharesMemory(Layer):
    """A layer whose tops share the memory of its bottom in Caffe."""

    def shares_memory(self) -> bool:
        """Return whether this holds for the layer's settings."""
        return True

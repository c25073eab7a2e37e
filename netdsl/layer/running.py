"""What matters when layers run one after the other: passes merged, states kept, memory written over as in Caffe."""

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
    """Return a layer's method with what torch's compiler can't see through.

    torch has a decorator for that, which loads the whole compiler; here it is loaded only when it is at work.
    """

    @wraps(method)
    def run(self: Layer, *bottoms: Tensor) -> Any:
        if torch.compiler.is_compiling():
            return torch.compiler.disable(method)(self, *bottoms)  # type: ignore[no-untyped-call]
        return method(self, *bottoms)

    return run


def at_least_single(values: Tensor) -> Tensor:
    """Return the values, in float32 if they have two bytes each."""
    return values.float() if values.dtype in OF_TWO_BYTES else values


def in_single(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Return a layer's forward that computes with float32 also where it gets numbers of two bytes, which it gives back.

    It is for sums of squares, which are more than float16 holds.
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
    """Return whether a tensor is on a CPU, or is on meta and stands for one that is."""
    return tensor.is_cpu or (tensor.is_meta and _META_IS_CPU.get())


def can_be_read(values: Tensor) -> bool:
    """Return whether the values can be looked at without waiting for a device, or breaking the graph of a compiler."""
    return on_cpu(values) and not torch.compiler.is_compiling()


@contextmanager
def meta_stands_for(device: torch.device) -> Iterator[None]:
    """Inside, layers do with tensors on meta what they do with those on a device."""
    token = _META_IS_CPU.set(device.type == "cpu")
    try:
        yield
    finally:
        _META_IS_CPU.reset(token)


def repetitions() -> int:
    """Return how many times the same is done with values as is done now on meta."""
    return _REPETITIONS.get()


def in_pieces(count: int, *tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """So many items of all tensors at a time. On meta, the first piece stands for all that are as long."""
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
    """A layer that can do the work of some following layers along with its own, in one pass over memory."""

    def merges_with(self, following: Layer) -> bool:
        """Return whether `forward_merged` can do this following layer's work."""
        raise NotImplementedError

    def forward_merged(self, following: Layer, *bottoms: Tensor) -> Tensor:
        """Return the top of the following layer, from the bottoms of this one."""
        raise NotImplementedError


class MakesNewMemory(Layer):
    """A layer whose every top is memory of its own, which its backward pass doesn't read: it may be written over."""


class OverwritesBottom(Layer):
    """A layer that can write its top over a bottom, where nobody else needs that."""

    may_overwrite: tuple[int, ...] = ()  # places of such bottoms, set by the net, which knows them

    def overwritten(self) -> tuple[int, ...]:
        """Return the places of bottoms to write over: none while hooks look at them."""
        return () if self.has_hooks() else self.may_overwrite


class PrefersChannelsLast(Layer):
    """A layer that can be computed faster if the channels of its bottoms lie last in memory."""

    def prefers_channels_last(self) -> bool:
        """Return whether that is so with its settings."""
        raise NotImplementedError


class NeedsValues(Layer):
    """A layer that can't run on tensors without values.

    Where costs are counted, it is taken to read its bottoms once and to write its tops once.
    """


class KeepsState(Layer):
    """A layer that carries a state from one batch to the next, which is part of what a training goes on from."""

    begins_at = 1  # the place of the bottom that is 0 where a sequence begins

    def kept(self) -> dict[str, Tensor]:
        """Return the state, by the names of its parts."""
        raise NotImplementedError

    def keep(self, state: Mapping[str, Tensor]) -> None:
        """Go on from a state that was kept."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget the state."""
        raise NotImplementedError

    def follow(self, sequences: Sequence[int]) -> None:
        """Go on with the states of these sequences, in this order; the same one may be there several times."""
        raise NotImplementedError


class Reads(Enum):
    """How much of a blob's data a layer reads."""

    NOTHING = auto()
    SIGNS = auto()  # which values are positive, where a gradient comes to them
    PASSED = auto()  # values to which a gradient comes
    VALUES = auto()


class ReadsInBackward(Layer):
    """A layer whose backward, in Caffe, reads bottoms or tops, over which layers in place may have written by then.

    A layer that keeps what it needs in memory of its own isn't one. One in place finds its top where its bottom was; if
    that does as well, as for a ReLU, it reads its top. Labels don't count.
    """

    def reads_bottoms(self) -> Reads:
        """Return what its backward reads of bottoms."""
        return Reads.NOTHING

    def reads_tops(self) -> Reads:
        """Return what its backward reads of tops."""
        return Reads.NOTHING

    def is_in_place(self) -> bool:
        """Return whether its first top is its first bottom."""
        return self.layer.bottom[:1] == self.layer.top[:1]

    def loses_gradient(self) -> bool:
        """Return whether its backward, if it is in place, writes over its top's gradient before it has read that."""
        return False

    def caffe_gradients(
        self, seen: Sequence[Tensor], bottoms: Sequence[Tensor], tops: Sequence[Tensor], gradients: Sequence[Tensor]
    ) -> Sequence[Tensor | None]:
        """Caffe's gradients of the bottoms, and after them of the blobs, from those of the tops.

        `seen` are the bottoms that forward saw; what a layer keeps in memory of its own comes from them. `bottoms` and
        `tops` are what lies in their memory now. A type that reads bottoms only needs no rule of its own: its gradients
        are those of `forward` for the bottoms that lie there now.
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
    """A layer whose top is positive exactly where its bottom is, but for places through which no gradient passes."""

    def keeps_signs(self) -> bool:
        """Return whether it does so with its settings."""
        return True

    def keeps_passed(self) -> bool:
        """Return whether all values through which a gradient passes stay as they are."""
        return False


class SharesMemory(Layer):
    """A layer whose tops lie, in Caffe, in the memory of its bottom."""

    def shares_memory(self) -> bool:
        """Return whether they do with its settings."""
        return True

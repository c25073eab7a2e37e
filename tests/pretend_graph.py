"""CUDA graphs for a pretended GPU: a replay repeats the recorded operations with the very tensors and numbers of the
recording.

As on a real GPU, recording computes nothing: overwritten values and random numbers are restored, and new tensors have
no values before the first replay. A number that Python passed keeps its value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map


class CaptureError(RuntimeError):
    """An operation that can't be recorded."""


@dataclass(frozen=True)
class _Operation:
    func: Any
    args: Any
    kwargs: Any
    made: Sequence[Tensor | None]  # the result's tensor, if it has its own memory


class PretendedGraph:
    """The recorded operations of a pretended GPU, which can be replayed."""

    def __init__(self) -> None:
        self._operations: list[_Operation] = []
        self._before: dict[int, tuple[Any, Any]] = {}  # the storages that are written, with their previous content
        self._random: Tensor | None = None
        self.replays = 0

    def begin(self) -> None:
        """Begin recording."""
        self._random = torch.get_rng_state()

    def note_written(self, func: Any, args: Any, kwargs: Any) -> None:
        """Save the memory that an operation will overwrite."""
        named = [*zip(func._schema.arguments, args, strict=False)]
        named += [(each, kwargs[each.name]) for each in func._schema.arguments if each.name in kwargs]
        for argument, value in named:
            if argument.alias_info is not None and argument.alias_info.is_write:
                for tensor in _tensors(value):
                    storage = tensor.untyped_storage()
                    self._before.setdefault(storage._cdata, (storage, storage.clone()))

    def add(self, func: Any, args: Any, kwargs: Any, result: Any, on_gpu: Callable[[Tensor], bool]) -> None:
        """Record an operation that was done. Host values keep their current state."""

        def kept(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            return value.data if on_gpu(value) else value.data.clone()  # later changes of the tensor have no effect

        given = {tensor.untyped_storage()._cdata for tensor in _tensors((args, kwargs))}
        own = [None if tensor.untyped_storage()._cdata in given else tensor.data for tensor in _tensors(result)]
        self._operations.append(_Operation(func, *tree_map(kept, (args, dict(kwargs))), own))

    def end(self) -> None:
        """End recording: restore what was written, and discard what was computed."""
        assert self._random is not None
        with _disable_current_modes():
            torch.set_rng_state(self._random)
            for storage, before in self._before.values():
                storage.copy_(before)
            for made in (tensor for operation in self._operations for tensor in operation.made):
                if made is not None and made.is_floating_point():
                    made.fill_(torch.nan)
        self._before.clear()

    def replay(self) -> None:
        """Repeat all operations."""
        self.replays += 1
        with _disable_current_modes(), torch._C._AutoDispatchBelowAutograd():
            for operation in self._operations:
                results = _tensors(operation.func(*operation.args, **operation.kwargs))
                for place, result in zip(operation.made, results, strict=True):
                    if place is not None:
                        place.copy_(result)


def _tensors(value: Any) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, Tensor)]

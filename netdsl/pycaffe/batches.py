"""pycaffe's methods that run many batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

import numpy as np

from netdsl.errors import NetError
from netdsl.pycaffe.blob import Array, Blob

Calls = Callable[..., dict[str, Array]]
Collected = dict[str, list[Array]]


class BatchCalls:
    """A mixin of `Net` with the methods that run many batches."""

    blobs: OrderedDict[str, Blob]
    inputs: list[str]
    outputs: list[str]

    def forward(
        self, blobs: Sequence[str] | None = None, start: str | None = None, end: str | None = None, **inputs: Array
    ) -> dict[str, Array]:
        """Run one batch forward."""
        raise NotImplementedError

    def backward(
        self, diffs: Sequence[str] | None = None, start: str | None = None, end: str | None = None, **tops: Array
    ) -> dict[str, Array]:
        """Run one batch backward."""
        raise NotImplementedError

    def forward_all(self, blobs: Sequence[str] | None = None, **inputs: Array) -> dict[str, Array]:
        """Run any number of items in batches and return the outputs of all items."""
        run: Calls = self.forward
        collected: Collected = {name: [] for name in {*self.outputs, *(blobs or ())}}
        count = _count(inputs)
        for batch in self._batch(inputs):
            _collect(collected, run(blobs=blobs, **batch))
        return _without_padding(collected, count)

    def forward_backward_all(
        self, blobs: Sequence[str] | None = None, diffs: Sequence[str] | None = None, **arrays: Array
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Run any number of items forward and backward in batches."""
        run: Calls = self.forward
        run_back: Calls = self.backward
        outs: Collected = {name: [] for name in {*self.outputs, *(blobs or ())}}
        gradients: Collected = {name: [] for name in {*self.inputs, *(diffs or ())}}
        count = _count(arrays)
        forward = self._batch({name: arrays[name] for name in self.inputs if name in arrays})
        backward = self._batch({name: arrays[name] for name in self.outputs if name in arrays})
        empty: dict[str, Array] = {}
        for inputs, tops in zip_longest(forward, backward, fillvalue=empty):
            _collect(outs, run(blobs=blobs, **inputs))
            _collect(gradients, run_back(diffs=diffs, **tops))
        return _without_padding(outs, count), _without_padding(gradients, count)

    def _batch(self, arrays: Mapping[str, Array]) -> Iterator[dict[str, Array]]:
        """Batches of the net's size, the last one padded with zeros."""
        if not arrays:
            return
        size = next(iter(self.blobs.values())).shape[0]
        for start in range(0, _count(arrays), size):
            batch = {name: np.asarray(array[start : start + size]) for name, array in arrays.items()}
            missing = size - _count(batch)
            yield {
                name: np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)]) if missing else array
                for name, array in batch.items()
            }


def _count(arrays: Mapping[str, Array]) -> int:
    if not arrays:
        raise NetError("give the inputs of the net by name, so that there is something to run")
    return len(next(iter(arrays.values())))


def _collect(collected: Collected, batch: Mapping[str, Array]) -> None:
    for name, array in batch.items():
        collected[name].extend(np.atleast_1d(array).copy())


def _without_padding(collected: Collected, count: int) -> dict[str, Array]:
    return {name: np.asarray(items[:count]) for name, items in collected.items()}

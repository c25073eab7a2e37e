"""pycaffe's calls that run many batches."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

import numpy as np

from netdsl.pycaffe.blob import Array, Blob

Calls = Callable[..., dict[str, Array]]


class BatchCalls:
    """Mixed into `Net`."""

    blobs: OrderedDict[str, Blob]
    inputs: list[str]
    outputs: list[str]

    def forward(
        self, blobs: Sequence[str] | None = None, start: str | None = None, end: str | None = None, **inputs: Array
    ) -> dict[str, Array]:
        """One batch forward."""
        raise NotImplementedError

    def backward(
        self, diffs: Sequence[str] | None = None, start: str | None = None, end: str | None = None, **tops: Array
    ) -> dict[str, Array]:
        """One batch backward."""
        raise NotImplementedError

    def forward_all(self, blobs: Sequence[str] | None = None, **inputs: Array) -> dict[str, Array]:
        """Run any number of items in batches; the outputs of all of them."""
        run: Calls = self.forward
        found: dict[str, list[Array]] = {name: [] for name in {*self.outputs, *(blobs or ())}}
        for batch in self._batch(inputs):
            for name, array in run(blobs=blobs, **batch).items():
                found[name].extend(array.copy())
        count = len(next(iter(inputs.values())))
        return {name: np.asarray(arrays[:count]) for name, arrays in found.items()}

    def forward_backward_all(
        self, blobs: Sequence[str] | None = None, diffs: Sequence[str] | None = None, **arrays: Array
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Run any number of items forward and backward in batches."""
        run: Calls = self.forward
        run_back: Calls = self.backward
        outs: dict[str, list[Array]] = {name: [] for name in {*self.outputs, *(blobs or ())}}
        gradients: dict[str, list[Array]] = {name: [] for name in {*self.inputs, *(diffs or ())}}
        forward = self._batch({name: arrays[name] for name in self.inputs if name in arrays})
        backward = self._batch({name: arrays[name] for name in self.outputs if name in arrays})
        empty: dict[str, Array] = {}
        for inputs, tops in zip_longest(forward, backward, fillvalue=empty):
            for name, array in run(blobs=blobs, **inputs).items():
                outs[name].extend(array.copy())
            for name, array in run_back(diffs=diffs, **tops).items():
                gradients[name].extend(array.copy())
        count = len(next(iter(arrays.values())))
        return (
            {name: np.asarray(found[:count]) for name, found in outs.items()},
            {name: np.asarray(found[:count]) for name, found in gradients.items()},
        )

    def _batch(self, arrays: dict[str, Array]) -> Iterator[dict[str, Array]]:
        """Batches of the net's size, the last one filled up with zeros."""
        if not arrays:
            return
        size, count = next(iter(self.blobs.values())).shape[0], len(next(iter(arrays.values())))
        for at in range(0, count, size):
            batch = {name: np.asarray(array[at : at + size]) for name, array in arrays.items()}
            missing = size - len(next(iter(batch.values())))
            yield {
                name: np.concatenate([array, np.zeros((missing, *array.shape[1:]), array.dtype)]) if missing else array
                for name, array in batch.items()
            }

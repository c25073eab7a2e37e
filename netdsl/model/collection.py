"""Stores the weights of a net in one buffer, as lists of arrays by layer name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import WeightsError
from netdsl.html_table import html_table
from netdsl.model.model import NetSource, open_net
from netdsl.model.opening import open_weights
from netdsl.model.weights.match import LoadReport, Shape, Weights, pair_blobs
from netdsl.model.weights.writing import write_weights

Array = NDArray[np.float32]
Layout = dict[str, tuple[Shape, ...]]  # the shapes of each layer's blobs

_PIECE = 1 << 18  # the number of values that are averaged at once; as doubles they fit into a core's cache
_SHOWN = 4  # the number of layers in the text of a collection


class Views(list[Array]):
    """The arrays of one layer. Assigning to an index copies the values into the array at that index."""

    def __setitem__(self, index: SupportsIndex, values: Any) -> None:  # type: ignore[override]  # slices aren't places
        self[index][...] = values


class WeightCollection(Mapping[str, list[Array]]):
    """A mapping from layer names to lists of arrays in Caffe's order. The arrays are views on `flat`.

    Collections of one layout can be added, scaled and averaged, each in one pass over the buffer.
    """

    __array_ufunc__ = None  # so that a numpy number times a collection is a collection

    def __init__(self, layout: Layout, flat: Array | None = None) -> None:
        self.layout, self._starts, size = layout, dict[str, int](), 0
        for name, shapes in layout.items():
            self._starts[name] = size
            size += sum(map(math.prod, shapes))
        self.flat = np.zeros(size, np.float32) if flat is None else flat
        if self.flat.shape != (size,) or self.flat.dtype != np.float32 or not self.flat.flags.c_contiguous:
            raise WeightsError(
                f"a contiguous buffer of {size:,} float32 values is needed, not {_kind_of(self.flat)}; pass "
                f"np.zeros({size}, np.float32)"
            )

    @classmethod
    def of(cls, arrays: Weights) -> WeightCollection:
        """Return a collection with copies of the arrays."""
        collection = cls({name: tuple(array.shape for array in blobs) for name, blobs in arrays.items()})
        for name, blobs in arrays.items():
            for view, array in zip(collection[name], blobs, strict=True):
                view[...] = array
        return collection

    def __getitem__(self, name: str) -> list[Array]:
        views, at = Views(), self._starts[name]
        for shape in self.layout[name]:
            views.append(self.flat[at : at + math.prod(shape)].reshape(shape))
            at += math.prod(shape)
        return views

    def __iter__(self) -> Iterator[str]:
        return iter(self.layout)

    def __len__(self) -> int:
        return len(self.layout)

    def __repr__(self) -> str:
        shown = [f"{name or '(no name)'} {_words(self.layout[name])}" for name in [*self][:_SHOWN]]
        more = ["..."] if len(self) > _SHOWN else []
        return f"WeightCollection({self._size()}: {'; '.join([*shown, *more]) or 'none'})"

    def _repr_html_(self) -> str:
        sizes = {name: sum(map(math.prod, shapes)) for name, shapes in self.layout.items()}
        rows = [(name, _words(shapes), f"{sizes[name]:,}") for name, shapes in self.layout.items()]
        return html_table(f"WeightCollection: {self._size()}", ("layer", "blobs", "values"), rows)

    def _size(self) -> str:
        return f"{len(self)} layers, {self.flat.size:,} values"

    def _check_layout(self, other: WeightCollection) -> None:
        if [*self.layout.items()] != [*other.layout.items()]:
            names = {**self.layout, **other.layout}
            differ = [name for name in names if self.layout.get(name) != other.layout.get(name)]
            what = f"they differ in {', '.join(differ[:10])}" if differ else "their layers have different orders"
            raise WeightsError(
                f"the weights belong to different nets: {what}; combine weights of nets with the same layers, in "
                "the same order"
            )

    def __iadd__(self, other: WeightCollection) -> Self:
        if not isinstance(other, WeightCollection):
            return NotImplemented
        self._check_layout(other)
        self.flat += other.flat
        return self

    def __isub__(self, other: WeightCollection) -> Self:
        if not isinstance(other, WeightCollection):
            return NotImplemented
        self._check_layout(other)
        self.flat -= other.flat
        return self

    def __imul__(self, factor: float) -> Self:
        self.flat *= np.float32(factor)
        return self

    def __itruediv__(self, divisor: float) -> Self:
        self.flat /= np.float32(divisor)
        return self

    def __add__(self, other: WeightCollection) -> WeightCollection:
        return self.copy().__iadd__(other)

    def __sub__(self, other: WeightCollection) -> WeightCollection:
        return self.copy().__isub__(other)

    def __mul__(self, factor: float) -> WeightCollection:
        return self.copy().__imul__(factor)

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> WeightCollection:
        return self.copy().__itruediv__(divisor)

    def __eq__(self, other: object) -> bool:
        """Return whether names, shapes and values are equal. NaNs are equal, so that saved weights equal loaded
        ones."""
        return (
            isinstance(other, WeightCollection)
            and [*self.layout.items()] == [*other.layout.items()]
            and np.array_equal(self.flat, other.flat, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]  # the values can change

    def copy(self) -> WeightCollection:
        """Return a copy with its own buffer."""
        return WeightCollection(self.layout, self.flat.copy())

    @staticmethod
    def mean(collections: Iterable[WeightCollection], weights: Sequence[float] | None = None) -> WeightCollection:
        """Return the weighted mean of collections. The weights are equal by default.

        The mean of equal values is exactly that value.
        """
        averaged = list(collections)
        if not averaged:
            raise WeightsError("there is nothing to average; pass at least one collection")
        shares = np.asarray([1.0] * len(averaged) if weights is None else weights, np.float64)
        if len(shares) != len(averaged) or not (shares >= 0).all() or not 0 < shares.sum() < math.inf:
            raise WeightsError(
                f"{len(averaged)} collections can't be averaged with the weights {shares.tolist()}; give one weight "
                "of 0 or more for each collection"
            )
        for other in averaged[1:]:
            averaged[0]._check_layout(other)
        average = WeightCollection(averaged[0].layout)
        for start in range(0, average.flat.size, _PIECE):
            part = slice(start, start + _PIECE)
            average.flat[part] = sum(
                share * collection.flat[part].astype(np.float64)
                for collection, share in zip(averaged, shares / shares.sum(), strict=True)
            )
        return average

    def distance(self, other: WeightCollection) -> float:
        """Return the Euclidean distance between two sets of weights."""
        self._check_layout(other)
        return float(np.linalg.norm(self.flat.astype(np.float64) - other.flat))

    def save(self, path: str | Path) -> None:
        """Write the blobs and the layers' names to a file, in the format of the file's suffix."""
        write_weights(self, path)

    @classmethod
    def load(cls, path: str | Path, net: NetSource | None = None) -> WeightCollection:
        """Return the weights in a file of any format.

        If tensors have torch's own names, the net is needed to find their layers.
        """
        return cls.of(open_weights(path, None if net is None else open_net(net)).weights)

    def update_from(self, other: Weights, *, partial: bool = False) -> LoadReport:
        """Copy the values of layers that have the same names, as a net does."""
        pairs, report = pair_blobs(self, other, partial=partial)
        for view, array in pairs:
            view[...] = array
        return report


def _kind_of(array: NDArray[Any]) -> str:
    return f"{array.size:,} of {array.dtype}{'' if array.flags.c_contiguous else ' with gaps'}"


def _words(shapes: Sequence[Shape]) -> str:
    return ", ".join("x".join(map(str, shape)) or "one value" for shape in shapes)

"""The weights of a net, apart from it: layer names to lists of arrays, in one buffer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import WeightsError
from netdsl.model import NetSource, open_net, open_weights
from netdsl.weights.match import LoadReport, Shape, Weights, pair_blobs
from netdsl.weights.writing import write_weights

Array = NDArray[np.float32]
Layout = dict[str, tuple[Shape, ...]]  # the shapes of every layer's blobs

_STRETCH = 1 << 18  # values that are averaged at once: they stay in a core's cache, as doubles
_SHOWN = 4  # layers that a collection is shown by


class Views(list[Array]):
    """The arrays of one layer. What is put in a place of the list is copied into the array there."""

    def __setitem__(self, index: SupportsIndex, values: Any) -> None:  # type: ignore[override]  # slices aren't places
        self[index][...] = values


class WeightCollection(Mapping[str, list[Array]]):
    """Layer names to lists of arrays, in Caffe's order. The arrays are views on `flat`.

    Collections of one layout can be added, scaled and averaged, each in one pass over the buffer.
    """

    __array_ufunc__ = None  # so that a number of numpy's times a collection is a collection

    def __init__(self, layout: Layout, flat: Array | None = None) -> None:
        self.layout, self._starts, size = layout, dict[str, int](), 0
        for name, shapes in layout.items():
            self._starts[name] = size
            size += sum(map(math.prod, shapes))
        self.flat = np.zeros(size, np.float32) if flat is None else flat
        if self.flat.shape != (size,) or self.flat.dtype != np.float32 or not self.flat.flags.c_contiguous:
            raise WeightsError(f"{size:,} float32 values in a row are needed, not {_kind_of(self.flat)}")

    @classmethod
    def of(cls, arrays: Weights) -> WeightCollection:
        """A collection with copies of arrays."""
        found = cls({name: tuple(array.shape for array in each) for name, each in arrays.items()})
        for name, each in arrays.items():
            for view, array in zip(found[name], each, strict=True):
                view[...] = array
        return found

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
        return (
            f"WeightCollection({len(self)} layers, {self.flat.size:,} values: {'; '.join([*shown, *more]) or 'none'})"
        )

    def _check_layout(self, other: WeightCollection) -> None:
        if [*self.layout.items()] != [*other.layout.items()]:
            names = {**self.layout, **other.layout}
            differ = [name for name in names if self.layout.get(name) != other.layout.get(name)]
            what = f"they differ in {', '.join(differ[:10])}" if differ else "their layers are in another order"
            raise WeightsError(f"weights of different nets: {what}")

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
        """Equal names, shapes and values; here a NaN equals a NaN, as what is saved equals what is loaded."""
        return (
            isinstance(other, WeightCollection)
            and [*self.layout.items()] == [*other.layout.items()]
            and np.array_equal(self.flat, other.flat, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]  # the values can change

    def copy(self) -> WeightCollection:
        """The same values in a buffer of their own."""
        return WeightCollection(self.layout, self.flat.copy())

    @staticmethod
    def mean(collections: Iterable[WeightCollection], weights: Sequence[float] | None = None) -> WeightCollection:
        """The average, with equal weights unless they are given. The average of equal values is that value."""
        found = list(collections)
        if not found:
            raise WeightsError("there is nothing to average")
        shares = np.asarray([1.0] * len(found) if weights is None else weights, np.float64)
        if len(shares) != len(found) or not (shares >= 0).all() or not 0 < shares.sum() < math.inf:
            raise WeightsError(f"{len(found)} collections can't be averaged with the weights {shares.tolist()}")
        for each in found[1:]:
            found[0]._check_layout(each)
        average = WeightCollection(found[0].layout)
        for start in range(0, average.flat.size, _STRETCH):
            part = slice(start, start + _STRETCH)
            average.flat[part] = sum(
                share * each.flat[part].astype(np.float64)
                for each, share in zip(found, shares / shares.sum(), strict=True)
            )
        return average

    def distance(self, other: WeightCollection) -> float:
        """The Euclidean distance between two sets of weights."""
        self._check_layout(other)
        return float(np.linalg.norm(self.flat.astype(np.float64) - other.flat))

    def save(self, path: str | Path) -> None:
        """Write a file in the format that its name asks for, with names and blobs alone."""
        write_weights(self, path)

    @classmethod
    def load(cls, path: str | Path, net: NetSource | None = None) -> WeightCollection:
        """The weights of a file of any format: of those layers that have any.

        Where tensors have torch's own names, the net says which layers they are for.
        """
        return cls.of(open_weights(path, None if net is None else open_net(net).net).weights)

    def update_from(self, other: Weights, *, partial: bool = False) -> LoadReport:
        """Take the values of layers that have the same name, as a net does."""
        pairs, report = pair_blobs(self, other, partial=partial)
        for mine, theirs in pairs:
            mine[...] = theirs
        return report


def _kind_of(array: NDArray[Any]) -> str:
    return f"{array.size:,} of {array.dtype}{'' if array.flags.c_contiguous else ' with gaps'}"


def _words(shapes: Sequence[Shape]) -> str:
    return ", ".join("x".join(map(str, shape)) or "one value" for shape in shapes)

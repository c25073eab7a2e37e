"""The weights of a net, apart from it: layer names to lists of arrays, in one buffer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile, Form, read_net, write
from netdsl.errors import WeightsError

Array = NDArray[np.float32]
Shape = tuple[int, ...]
Layout = dict[str, tuple[Shape, ...]]  # the shapes of every layer's blobs


@dataclass(frozen=True)
class LoadReport:
    """What became of weights that were loaded by name."""

    matched: tuple[str, ...]
    missing: tuple[str, ...]  # layers of the net that the weights don't have
    unused: tuple[str, ...]  # layers of the weights that the net doesn't have
    mismatched: tuple[str, ...]  # sentences: layers whose shapes differ


class WeightCollection(Mapping[str, list[Array]]):
    """Layer names to lists of arrays, in Caffe's order. The arrays are views on `flat`.

    Collections of one layout can be added, scaled and averaged, each in one pass over the buffer.
    """

    def __init__(self, layout: Layout, flat: Array | None = None) -> None:
        size = sum(math.prod(shape) for shapes in layout.values() for shape in shapes)
        self.layout = layout
        self.flat = np.zeros(size, np.float32) if flat is None else flat
        if self.flat.shape != (size,) or self.flat.dtype != np.float32:
            raise WeightsError(f"{size:,} float32 values are needed, not {self.flat.size:,} of {self.flat.dtype}")
        self._views = dict(_views(layout, self.flat))

    @classmethod
    def of(cls, arrays: Mapping[str, Sequence[NDArray[np.generic]]]) -> WeightCollection:
        """A collection with copies of arrays."""
        found = cls({name: tuple(array.shape for array in each) for name, each in arrays.items()})
        for name, each in arrays.items():
            for view, array in zip(found[name], each, strict=True):
                view[...] = array
        return found

    def __getitem__(self, name: str) -> list[Array]:
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def __repr__(self) -> str:
        return f"WeightCollection({len(self)} layers, {self.flat.size:,} values)"

    def _same_layout(self, other: WeightCollection) -> None:
        if self.layout != other.layout:
            differ = [
                name for name in {**self.layout, **other.layout} if self.layout.get(name) != other.layout.get(name)
            ]
            raise WeightsError(f"weights of different nets: they differ in {', '.join(differ[:10])}")

    def __add__(self, other: WeightCollection) -> WeightCollection:
        self._same_layout(other)
        return WeightCollection(self.layout, self.flat + other.flat)

    def __sub__(self, other: WeightCollection) -> WeightCollection:
        self._same_layout(other)
        return WeightCollection(self.layout, self.flat - other.flat)

    def __mul__(self, factor: float) -> WeightCollection:
        return WeightCollection(self.layout, self.flat * np.float32(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> WeightCollection:
        return WeightCollection(self.layout, self.flat / np.float32(divisor))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, WeightCollection)
            and self.layout == other.layout
            and bool((self.flat == other.flat).all())
        )

    __hash__ = None  # type: ignore[assignment]  # the values can change

    def copy(self) -> WeightCollection:
        """The same values in a buffer of their own."""
        return WeightCollection(self.layout, self.flat.copy())

    @staticmethod
    def mean(collections: Iterable[WeightCollection], weights: Sequence[float] | None = None) -> WeightCollection:
        """The average, with equal weights unless they are given."""
        found = list(collections)
        if not found:
            raise WeightsError("there is nothing to average")
        shares = np.asarray(weights if weights is not None else [1.0] * len(found), np.float64)
        if len(shares) != len(found) or shares.sum() <= 0:
            raise WeightsError(f"{len(found)} collections can't be averaged with the weights {list(shares)}")
        total = found[0] * float(shares[0] / shares.sum())
        for each, share in zip(found[1:], shares[1:], strict=True):
            total._same_layout(each)
            total.flat += each.flat * np.float32(share / shares.sum())
        return total

    def distance(self, other: WeightCollection) -> float:
        """The Euclidean distance between two sets of weights."""
        self._same_layout(other)
        return float(np.linalg.norm(self.flat.astype(np.float64) - other.flat))

    def save(self, path: str | Path) -> None:
        """Write a caffemodel, or an HDF5 file if it is called `.h5`, with names and blobs alone."""
        file = CaffeFile(pb.NetParameter(), form=Form.BINARY)
        for name, arrays in self.items():
            layer = file.message.layer.add(name=name)
            for array in arrays:
                file.blobs.put(layer.blobs.add(), array)
        write(file, path)

    @classmethod
    def load(cls, path: str | Path) -> WeightCollection:
        """The weights of a file: of those layers that have any."""
        return cls.of(arrays_of(read_net(path)))

    def update_from(self, other: WeightCollection, *, partial: bool = False) -> LoadReport:
        """Take the values of layers that have the same name.

        With `partial`, layers whose shapes differ are left as they are; without, they are an error that lists them all.
        """
        common = [name for name in self if name in other]
        wrong = {
            name: problem for name in common if (problem := _mismatch(name, self.layout[name], other.layout[name]))
        }
        if wrong and not partial:
            raise WeightsError("; ".join(wrong.values()))
        matched = [name for name in common if name not in wrong]
        for name in matched:
            for mine, theirs in zip(self[name], other[name], strict=True):
                mine[...] = theirs.reshape(mine.shape)
        missing, unused = [name for name in self if name not in other], [name for name in other if name not in self]
        return LoadReport(tuple(matched), tuple(missing), tuple(unused), tuple(wrong.values()))


def arrays_of(file: CaffeFile[pb.NetParameter]) -> dict[str, list[NDArray[Any]]]:
    """The blobs of a file's layers, of all ages of the format, as views on it; layers without any are left out."""
    found = [(layer.name, layer.blobs) for layer in file.message.layer]
    found += [(layer.name or layer.layer.name, layer.blobs or layer.layer.blobs) for layer in file.message.layers]
    return {name: [file.blobs.array(blob) for blob in blobs] for name, blobs in found if blobs}


def _views(layout: Layout, flat: Array) -> Iterator[tuple[str, list[Array]]]:
    at = 0
    for name, shapes in layout.items():
        views = []
        for shape in shapes:
            size = math.prod(shape)
            views.append(flat[at : at + size].reshape(shape))
            at += size
        yield name, views


def fits(own: Shape, other: Shape) -> bool:
    """Caffe's rule: old files have four dimensions for everything, with ones in front."""
    return own == other or (len(other) == 4 and len(own) <= 4 and (1,) * (4 - len(own)) + own == other)


def _mismatch(name: str, own: tuple[Shape, ...], other: tuple[Shape, ...]) -> str | None:
    if len(own) == len(other) and all(map(fits, own, other)):
        return None
    return f"layer '{name}' has blobs {_words(own)}, the weights have {_words(other)}"


def _words(shapes: tuple[Shape, ...]) -> str:
    return ", ".join("x".join(map(str, shape)) or "one value" for shape in shapes)

"""Weights and the blobs that take them, brought together by the names of layers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import CaffeFile
from netdsl.errors import WeightsError

AnyArray = NDArray[Any]
Weights = Mapping[str, Sequence[AnyArray]]  # the blobs of layers, by the layers' names
Shape = tuple[int, ...]
Shared = Collection[tuple[str, int]]  # blobs, as a layer's name and an index, that another layer has


class Shaped(Protocol):
    """What takes weights: an array or a tensor."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""


B = TypeVar("B", bound=Shaped)


@dataclass(frozen=True)
class Mismatch:
    """A layer whose blobs have other shapes than the weights that have its name."""

    layer: str
    own: tuple[Shape, ...]
    given: tuple[Shape | None, ...]  # None: another layer has the values, and that is fine

    def __str__(self) -> str:
        name = f"layer '{self.layer}'"
        if len(self.given) > len(self.own):
            return f"{name} has {len(self.own)} blobs, the weights have {len(self.given)}"
        wrong = [
            f"blob {index} has shape {list(own)}, the weights have {'none' if given == (0,) else list(given or ())}"
            for index, (own, given) in enumerate(zip(self.own, self.given, strict=True))
            if not _suits(own, given)
        ]
        return f"{name}: {', '.join(wrong)}"


@dataclass(frozen=True)
class LoadReport:
    """What became of weights that were loaded by name."""

    matched: tuple[str, ...]
    missing: tuple[str, ...]  # layers of the net that the weights don't have
    unused: tuple[str, ...]  # layers of the weights that the net doesn't have
    mismatched: tuple[Mismatch, ...]  # layers that were passed over because of their shapes

    @classmethod
    def of_all(cls, reports: Sequence[LoadReport]) -> LoadReport:
        """One report of weights that were loaded one after the other."""
        matched = dict.fromkeys(name for each in reports for name in each.matched)
        missing = set[str].intersection(*(set(each.missing) for each in reports))
        return cls(
            tuple(matched),
            tuple(name for name in reports[0].missing if name in missing),
            tuple(dict.fromkeys(name for each in reports for name in each.unused)),
            tuple(wrong for each in reports for wrong in each.mismatched),
        )


def pair_blobs(
    own: Mapping[str, Sequence[B]],
    given: Mapping[str, Sequence[AnyArray]],
    *,
    shared: Shared = (),
    partial: bool = False,
) -> tuple[list[tuple[B, AnyArray]], LoadReport]:
    """Every blob with the array that it takes, in the blob's shape.

    Caffe's rule: a layer that only one side has is passed over. One with other shapes is an error, which lists them
    all; with `partial` it is passed over too. Blobs in `shared` have their values from another layer, so weights
    needn't have them once more.
    """
    found = {name: _completed(name, given[name], len(own[name]), shared) for name in given if name in own}
    compared = [Mismatch(name, _shapes(own[name]), _shapes(arrays)) for name, arrays in found.items()]
    wrong = [each for each in compared if len(each.given) > len(each.own) or not all(map(_suits, each.own, each.given))]
    if wrong and not partial:
        raise WeightsError(f"{'; '.join(map(str, wrong))}; rename a layer to train it from scratch")
    passed = {each.layer for each in wrong}
    report = LoadReport(
        tuple(name for name in found if name not in passed),
        tuple(name for name in own if name not in given and not _all_shared(name, len(own[name]), shared)),
        tuple(name for name in given if name not in own),
        tuple(wrong),
    )
    pairs = [pair for name in report.matched for pair in zip(own[name], found[name], strict=True)]
    return [(blob, array.reshape(tuple(blob.shape))) for blob, array in pairs if array is not None], report


def _completed(name: str, arrays: Sequence[AnyArray], count: int, shared: Shared) -> list[AnyArray | None]:
    """An array for every blob: an empty one where there is none, and None where another layer has the values."""
    found = [*arrays, *[np.empty(0)] * (count - len(arrays))]
    return [None if not array.size and (name, index) in shared else array for index, array in enumerate(found)]


def _shapes(blobs: Iterable[Shaped | None]) -> tuple[Any, ...]:
    return tuple(None if blob is None else tuple(blob.shape) for blob in blobs)


def _suits(own: Shape, given: Shape | None) -> bool:
    return given is None or fits(own, given)


def fits(own: Shape, other: Shape) -> bool:
    """Caffe's rule: old files have four dimensions for everything, with ones in front."""
    return other in (own, (1,) * (4 - len(own)) + own)


def _all_shared(name: str, count: int, shared: Shared) -> bool:
    return all((name, index) in shared for index in range(count))


def arrays_of(file: CaffeFile[pb.NetParameter]) -> dict[str, list[AnyArray]]:
    """The blobs of a file's layers, of all ages of the format, as views on it; layers without any are left out."""
    layers = [(layer.name, layer.blobs) for layer in file.message.layer]
    layers += [(layer.name or layer.layer.name, layer.blobs or layer.layer.blobs) for layer in file.message.layers]
    learned = [(name, blobs) for name, blobs in layers if blobs]
    names = distinct(name for name, _ in learned)
    return {name: [file.blobs.array(blob) for blob in blobs] for name, (_, blobs) in zip(names, learned, strict=True)}


def distinct(names: Iterable[str]) -> list[str]:
    """Names as they are, but the second 'ip' as 'ip (2)': a net's layers needn't have names of their own."""
    found: dict[str, None] = {}
    for name in names:
        unique, rank = name, 2
        while unique in found:
            unique, rank = f"{name} ({rank})", rank + 1
        found[unique] = None
    return list(found)

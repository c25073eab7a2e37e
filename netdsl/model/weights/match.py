"""Matches weights with the blobs of a net by the names of layers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import few
from caffe_proto.files import CaffeFile
from netdsl.errors import WeightsError

AnyArray = NDArray[Any]
Weights = Mapping[str, Sequence[AnyArray]]  # the blobs of layers, by layer name
Shape = tuple[int, ...]
Shared = Collection[tuple[str, int]]  # blobs whose values another layer has, by layer name and index


class Shaped(Protocol):
    """An array or a tensor that weights are copied into."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of all axes."""


B = TypeVar("B", bound=Shaped)

_SHOWN = 5  # the number of layers that a report names


@dataclass(frozen=True)
class Mismatch:
    """A layer whose blobs don't have the shapes of the weights of the same name."""

    layer: str
    blob_shapes: tuple[Shape, ...]
    weight_shapes: tuple[Shape | None, ...]  # None means that another layer has the values

    def __str__(self) -> str:
        name = f"layer '{self.layer}'"
        if len(self.weight_shapes) > len(self.blob_shapes):
            return f"{name} has {len(self.blob_shapes)} blobs, but the weights have {len(self.weight_shapes)}"
        wrong = [
            f"blob {index} has shape {list(blob)}, but the weights have "
            f"{'none' if weight == (0,) else list(weight or ())}"
            for index, (blob, weight) in enumerate(zip(self.blob_shapes, self.weight_shapes, strict=True))
            if not _suits(blob, weight)
        ]
        return f"{name}: {', '.join(wrong)}"


@dataclass(frozen=True)
class LoadReport:
    """The result of loading weights by name: the layers of the net and of the weights that matched."""

    matched: tuple[str, ...]
    missing: tuple[str, ...]  # layers of the net that the weights don't have
    unused: tuple[str, ...]  # layers of the weights that the net doesn't have
    mismatched: tuple[Mismatch, ...]  # layers that were skipped because of their shapes

    def __str__(self) -> str:
        """Return a line such as: 7 of 8 layers filled; 'fc8_new' begins from scratch; unused: 'fc8'."""
        skipped = [mismatch.layer for mismatch in self.mismatched]
        count = len(self.matched) + len(self.missing) + len(skipped)
        parts = [f"{len(self.matched)} of {count} layers filled"]
        if self.missing:
            parts.append(f"{_quoted(self.missing)} {'begin' if len(self.missing) > 1 else 'begins'} from scratch")
        if skipped:
            parts.append(f"skipped because of their shapes: {_quoted(skipped)}")
        if self.unused:
            parts.append(f"unused: {_quoted(self.unused)}")
        return "; ".join(parts)

    @classmethod
    def of_all(cls, reports: Sequence[LoadReport]) -> LoadReport:
        """Return a single report on weights that were loaded one after the other."""
        matched = dict.fromkeys(name for report in reports for name in report.matched)
        missing = set[str].intersection(*(set(report.missing) for report in reports))
        return cls(
            tuple(matched),
            tuple(name for name in reports[0].missing if name in missing),
            tuple(dict.fromkeys(name for report in reports for name in report.unused)),
            tuple(mismatch for report in reports for mismatch in report.mismatched),
        )


def _quoted(names: Iterable[str]) -> str:
    return few((f"'{name}'" for name in names), _SHOWN)


def pair_blobs(
    blobs: Mapping[str, Sequence[B]],
    weights: Mapping[str, Sequence[AnyArray]],
    *,
    shared: Shared = (),
    partial: bool = False,
) -> tuple[list[tuple[B, AnyArray]], LoadReport]:
    """Pair every blob with its array, in the blob's shape.

    Caffe's rule: a layer that only one side has is skipped. Layers with different shapes raise a `WeightsError` that
    lists all of them; with `partial`, they are skipped. Blobs in `shared` get their values from another layer, so the
    weights may omit them.
    """
    arrays = {name: _completed(name, weights[name], len(blobs[name]), shared) for name in weights if name in blobs}
    shapes = {name: (_shapes(blobs[name]), _shapes(layer)) for name, layer in arrays.items()}
    mismatches = [
        Mismatch(name, blob_shapes, weight_shapes)
        for name, (blob_shapes, weight_shapes) in shapes.items()
        if len(weight_shapes) > len(blob_shapes) or not all(map(_suits, blob_shapes, weight_shapes))
    ]
    if mismatches and not partial:
        raise WeightsError(
            f"{'; '.join(map(str, mismatches))}; use the weights of this net, or rename the layer in the net to "
            "train it from scratch"
        )
    skipped = {mismatch.layer for mismatch in mismatches}
    report = LoadReport(
        tuple(name for name in arrays if name not in skipped),
        tuple(name for name in blobs if name not in weights and not all_shared(name, len(blobs[name]), shared)),
        tuple(name for name in weights if name not in blobs),
        tuple(mismatches),
    )
    pairs = [pair for name in report.matched for pair in zip(blobs[name], arrays[name], strict=True)]
    return [(blob, array.reshape(tuple(blob.shape))) for blob, array in pairs if array is not None], report


def _completed(name: str, arrays: Sequence[AnyArray], count: int, shared: Shared) -> list[AnyArray | None]:
    """Return an array for each of a layer's blobs.

    A missing array is empty, or `None` if another layer has the values.
    """
    completed = [*arrays, *[np.empty(0)] * (count - len(arrays))]
    return [None if not array.size and (name, index) in shared else array for index, array in enumerate(completed)]


def _shapes(blobs: Iterable[Shaped | None]) -> tuple[Any, ...]:
    return tuple(None if blob is None else tuple(blob.shape) for blob in blobs)


def _suits(blob: Shape, weight: Shape | None) -> bool:
    return weight is None or fits(blob, weight)


def fits(blob: Shape, weight: Shape) -> bool:
    """Return whether weights fit a blob.

    Caffe's rule: old files use four dimensions for all blobs, with ones in front. A rule of forks: a blob for channels,
    of shape (1, channels, 1, 1), lacks the last two axes.
    """
    return weight in (blob, (1,) * (4 - len(blob)) + blob) or (
        len(blob) == 4 and blob == (1, *weight[1:2], 1, 1) == (*weight, 1, 1)
    )


def all_shared(name: str, count: int, shared: Shared) -> bool:
    """Return whether other layers have the values of all of a layer's blobs."""
    return all((name, index) in shared for index in range(count))


def arrays_of(file: CaffeFile[pb.NetParameter]) -> dict[str, list[AnyArray]]:
    """Return the blobs of a file's layers as views on the file, in any version of the format. Layers without blobs are
    omitted."""
    layers = [(layer.name, layer.blobs) for layer in file.message.layer]
    layers += [(layer.name or layer.layer.name, layer.blobs or layer.layer.blobs) for layer in file.message.layers]
    learned = [(name, blobs) for name, blobs in layers if blobs]
    names = unique_names(name for name, _ in learned)
    return {name: [file.blobs.array(blob) for blob in blobs] for name, (_, blobs) in zip(names, learned, strict=True)}


def unique_names(names: Iterable[str]) -> list[str]:
    """Return the names with repeated ones made unique: the second 'ip' becomes 'ip (2)'. Layers of a net may share a
    name."""
    seen: dict[str, None] = {}
    for name in names:
        unique, rank = name, 2
        while unique in seen:
            unique, rank = f"{name} ({rank})", rank + 1
        seen[unique] = None
    return list(seen)

"""Matches tensors with torch's names to the layers of a Caffe net: by name, else by order, else by shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from caffe_proto.errors import few
from netdsl.errors import WeightsError
from netdsl.model.weights.match import AnyArray, Shape, fits

Layout = Mapping[str, Mapping[str, Shape]]  # a net's layers, with the names and shapes of their blobs

_AFFINE = ("weight", "bias")
_STATISTICS = ("running_mean", "running_var")
_BATCH_COUNT = "num_batches_tracked"  # torch can weight batches by this count; Caffe doesn't have it
_SHOWN = 10


class MatchedBy(Enum):
    """The way in which a group of tensors was matched to a layer."""

    NAME = "name"
    ORDER = "order"
    SHAPE = "shape"


@dataclass(frozen=True)
class TensorMatch:
    """A match of a layer with the tensors whose names begin with `source`."""

    source: str
    layer: str
    by: MatchedBy


@dataclass(frozen=True)
class _Group:
    """The tensors that belong to one Caffe layer, in the order of its blobs."""

    source: str
    arrays: tuple[AnyArray, ...]

    def suits(self, blobs: Mapping[str, Shape]) -> bool:
        """Return whether the tensors fit a layer with these blobs."""
        return len(blobs) == len(self.arrays) and all(
            fits(blob, array.shape) for blob, array in zip(blobs.values(), self.arrays, strict=True)
        )


def map_names(tensors: Mapping[str, AnyArray], layout: Layout) -> tuple[dict[str, list[AnyArray]], list[TensorMatch]]:
    """Match tensors to layers, and return the weights by layer and the matches.

    Tensors that are named after a layer and its blobs belong to that layer. If the number of other groups equals the
    number of remaining layers, and they fit one after the other, they are matched in this order. Otherwise, every layer
    gets the first group that fits. A normalization in torch corresponds to two Caffe layers. Raises a `WeightsError`
    that lists everything unmatched on either side.
    """
    named, rest = _by_name(tensors, layout)
    matches = {layer: (layer, arrays, MatchedBy.NAME) for layer, arrays in named.items()}
    groups = list(_groups(rest))
    missing = {layer: blobs for layer, blobs in layout.items() if layer not in named}
    in_order = len(groups) == len(missing) and all(
        group.suits(blobs) for group, blobs in zip(groups, missing.values(), strict=True)
    )
    for layer, blobs in missing.items():
        group = next((group for group in groups if group.suits(blobs)), None)
        if group is not None:
            groups.remove(group)
            matches[layer] = (group.source, list(group.arrays), MatchedBy.ORDER if in_order else MatchedBy.SHAPE)
    _check_all_matched(groups, [layer for layer in layout if layer not in matches], layout)
    weights = {layer: matches[layer][1] for layer in layout}
    return weights, [TensorMatch(matches[layer][0], layer, matches[layer][2]) for layer in layout]


def _by_name(tensors: Mapping[str, AnyArray], layout: Layout) -> tuple[dict[str, list[AnyArray]], dict[str, AnyArray]]:
    """Return the tensors of layers for whose blobs there are tensors of the same names, and the remaining tensors."""
    named: dict[str, list[AnyArray]] = {}
    rest = dict(tensors)
    for layer, blobs in layout.items():
        names = next((names for names in _names(layer, blobs) if all(name in rest for name in names)), None)
        if names and all(fits(blob, rest[name].shape) for blob, name in zip(blobs.values(), names, strict=True)):
            named[layer] = [rest.pop(name) for name in names]
    return named, rest


def _names(layer: str, blobs: Iterable[str]) -> list[list[str]]:
    """Return the names that a layer's tensors may have: LAYER.BLOB, or those in the `state_dict` of a net's module."""
    blobs = list(blobs)
    return [[f"{prefix}.{blob}" for blob in blobs] for prefix in (layer, f"layers.{layer.replace('.', '_')}")]


def _groups(tensors: Mapping[str, AnyArray]) -> Iterable[_Group]:
    """Yield the groups of each module's tensors, in the order of the file. Statistics come before learned tensors."""
    modules: dict[str, dict[str, AnyArray]] = {}
    for name, array in tensors.items():
        module, _, last = name.rpartition(".")
        modules.setdefault(module, {})[last] = array
    for module, arrays in modules.items():
        arrays.pop(_BATCH_COUNT, None)
        if all(name in arrays for name in _STATISTICS):
            statistics = tuple(arrays.pop(name) for name in _STATISTICS)
            yield _Group(f"{module}.{_STATISTICS[0]}", (*statistics, np.ones(1, np.float32)))
        affine = [arrays.pop(name) for name in _AFFINE if name in arrays]
        if affine:
            yield _Group(module, tuple(affine))
        for name, array in arrays.items():
            yield _Group(f"{module}.{name}", (array,))


def _check_all_matched(groups: Sequence[_Group], missing: Sequence[str], layout: Layout) -> None:
    """Raise a `WeightsError` that lists all unmatched groups and layers."""
    if not groups and not missing:
        return
    parts = []
    if missing:
        words = [f"'{layer}' {_words(layout[layer].values())}" for layer in missing]
        parts.append(f"there are no tensors for layer {few(words, _SHOWN)}")
    if groups:
        words = [f"'{group.source}' {_words(array.shape for array in group.arrays)}" for group in groups]
        parts.append(f"there is no layer for {few(words, _SHOWN)}")
    raise WeightsError("; ".join(parts))


def _words(shapes: Iterable[Shape]) -> str:
    return "(" + ", ".join("x".join(map(str, shape)) or "one value" for shape in shapes) + ")"

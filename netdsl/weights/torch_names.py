"""Tensors that torch named, brought to the layers of a Caffe net: by name, else by order, else by shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from netdsl.errors import WeightsError
from netdsl.weights.match import AnyArray, Shape, fits

Layout = Mapping[str, Mapping[str, Shape]]  # a net's layers, their blobs by name, and the shapes of these

_AFFINE = ("weight", "bias")
_STATISTICS = ("running_mean", "running_var")
_COUNTED = "num_batches_tracked"  # by which torch can weigh batches; Caffe has nothing like it
_SHOWN = 10


class MatchedBy(Enum):
    """What brought a group of tensors and a layer together."""

    NAME = "name"
    ORDER = "order"
    SHAPE = "shape"


@dataclass(frozen=True)
class TensorMatch:
    """The layer that took the tensors whose names begin with `source`."""

    source: str
    layer: str
    by: MatchedBy


@dataclass(frozen=True)
class _Group:
    """Tensors that belong to one layer of Caffe's, in the order of its blobs."""

    source: str
    arrays: tuple[AnyArray, ...]

    def suits(self, blobs: Mapping[str, Shape]) -> bool:
        """Whether a layer with these blobs can take them."""
        return len(blobs) == len(self.arrays) and all(
            fits(own, array.shape) for own, array in zip(blobs.values(), self.arrays, strict=True)
        )


def map_names(tensors: Mapping[str, AnyArray], layout: Layout) -> tuple[dict[str, list[AnyArray]], list[TensorMatch]]:
    """Weights by layer, and which tensors they were.

    A tensor that is called as a layer and its blob belongs there. If the others are as many as the layers that are
    left, and fit them one after the other, that is the order; else every layer takes the first ones that fit it.
    Torch's normalisation is two of Caffe's layers. An error lists all that is left over on either side.
    """
    named, rest = _by_name(tensors, layout)
    found = {layer: (layer, arrays, MatchedBy.NAME) for layer, arrays in named.items()}
    groups = list(_groups(rest))
    missing = {layer: blobs for layer, blobs in layout.items() if layer not in named}
    in_order = len(groups) == len(missing) and all(
        group.suits(blobs) for group, blobs in zip(groups, missing.values(), strict=True)
    )
    for layer, blobs in missing.items():
        group = next((group for group in groups if group.suits(blobs)), None)
        if group is not None:
            groups.remove(group)
            found[layer] = (group.source, list(group.arrays), MatchedBy.ORDER if in_order else MatchedBy.SHAPE)
    _check(groups, [layer for layer in layout if layer not in found], layout)
    weights = {layer: found[layer][1] for layer in layout}
    return weights, [TensorMatch(found[layer][0], layer, found[layer][2]) for layer in layout]


def _by_name(tensors: Mapping[str, AnyArray], layout: Layout) -> tuple[dict[str, list[AnyArray]], dict[str, AnyArray]]:
    """The layers all of whose blobs are there by their names, and the tensors that are left."""
    named: dict[str, list[AnyArray]] = {}
    rest = dict(tensors)
    for layer, blobs in layout.items():
        names = next((found for found in _names(layer, blobs) if all(name in rest for name in found)), None)
        if names and all(fits(own, rest[name].shape) for own, name in zip(blobs.values(), names, strict=True)):
            named[layer] = [rest.pop(name) for name in names]
    return named, rest


def _names(layer: str, blobs: Iterable[str]) -> list[list[str]]:
    """What a layer's tensors may be called: as they are here, and in the `state_dict` of a net's module."""
    blobs = list(blobs)
    return [[f"{prefix}.{blob}" for blob in blobs] for prefix in (layer, f"layers.{layer.replace('.', '_')}")]


def _groups(tensors: Mapping[str, AnyArray]) -> Iterable[_Group]:
    """Tensors of one module in the order of the file; what a normalisation measured comes before what it learned."""
    modules: dict[str, dict[str, AnyArray]] = {}
    for name, array in tensors.items():
        module, _, last = name.rpartition(".")
        modules.setdefault(module, {})[last] = array
    for module, own in modules.items():
        own.pop(_COUNTED, None)
        if all(name in own for name in _STATISTICS):
            statistics = tuple(own.pop(name) for name in _STATISTICS)
            yield _Group(f"{module}.{_STATISTICS[0]}", (*statistics, np.ones(1, np.float32)))
        affine = [own.pop(name) for name in _AFFINE if name in own]
        if affine:
            yield _Group(module, tuple(affine))
        for name, array in own.items():
            yield _Group(f"{module}.{name}", (array,))


def _check(groups: Sequence[_Group], missing: Sequence[str], layout: Layout) -> None:
    """A WeightsError with all that was left over."""
    if not groups and not missing:
        return
    parts = []
    if missing:
        words = [f"'{layer}' {_words(layout[layer].values())}" for layer in missing]
        parts.append(f"no tensors for layer {_few(words)}")
    if groups:
        words = [f"'{group.source}' {_words(array.shape for array in group.arrays)}" for group in groups]
        parts.append(f"no layer for {_few(words)}")
    raise WeightsError("; ".join(parts))


def _words(shapes: Iterable[Shape]) -> str:
    return "(" + ", ".join("x".join(map(str, shape)) or "one value" for shape in shapes) + ")"


def _few(words: Sequence[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more

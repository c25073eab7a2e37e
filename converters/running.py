"""Runs nets layer by layer to return all of their blobs, and measures the difference between two runs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from netdsl.layer import BringsData, HasOnnxForm, Layer, Shape
from netdsl.layer.samples import BlobKind
from netdsl.model.model import Model
from netdsl.model.weights.files import array_of, learned_layers
from netdsl.model.weights.match import AnyArray
from netdsl.net.build import Built, running
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import sample_inputs
from netdsl.training.net import Net

TOLERANCE = 1e-5  # relative to the spread of a blob's values; reordered sums in single precision differ by less
_PART = 1 << 20  # values that are compared at once
_ROUNDED = 2.0**-22  # a change of a value by rounding, relative to it: twice the unit of single precision

Arrays = Mapping[str, AnyArray]
NetToRun = Net | Model  # a model's weights are in memory only while it runs

# Reports work by its description and its amount. The value of the context is called for each finished part.
Work = Callable[[str, float], AbstractContextManager[Callable[..., object]]]

_NO_VALUES: Mapping[int, AnyArray] = {}


@contextmanager
def unreported(doing: str, total: float) -> Iterator[Callable[..., object]]:
    """Report no work."""
    yield lambda items=1: None


@dataclass(frozen=True)
class Agreement:
    """The difference between the outputs of a net in two forms, for the same inputs.

    The difference proves nothing about `uninformative` outputs. For random inputs, such an output contains one value
    only, or values that aren't finite.
    """

    difference: float  # the largest difference, relative to the spread of an output
    uninformative: tuple[str, ...]

    @classmethod
    def of(cls, *runs: tuple[Arrays, Arrays]) -> Agreement:
        """Return the agreement of several runs. Each run consists of the actual outputs and the expected outputs."""
        differences = [difference(actual[name], values) for actual, outputs in runs for name, values in outputs.items()]
        return cls(max(differences, default=math.inf), uninformative(*(outputs for _, outputs in runs)))


def module_of(net: NetToRun) -> NetModule:
    """Return the module of a net with its weights.

    The module of a `Model` is new, so its memory is released with its last reference.
    """
    return net.module(Phase.TEST) if isinstance(net, Model) else net.module


def built_only(net: NetToRun) -> Built:
    """Return the layers of a net for inspection. The layers of a `Model` don't have memory for weights."""
    return net.layers(Phase.TEST) if isinstance(net, Model) else net.module.built


def input_shapes(built: Built) -> dict[str, Shape]:
    """Return the shapes of a net's inputs by name."""
    return {built.graph.blobs[edge]: built.shapes[edge] for edge in built.input_edges()}


def made_up_inputs(built: Built, seed: int = 0) -> Arrays:
    """Return valid inputs in the net's own shapes. The same seed returns the same values."""
    return dict(sample_inputs(built, input_shapes(built), seed))


def output_values(model: Model, inputs: Arrays, work: Work = unreported, doing: str = "running") -> Arrays:
    """Return the outputs of a model by name."""
    built = model.module(Phase.TEST).built
    return {
        built.graph.blobs[edge]: values
        for edge, values in edge_values(built, inputs, wanted=built.graph.outputs, work=work, doing=doing).items()
    }


def blob_values(built: Built, inputs: Arrays, work: Work = unreported, doing: str = "running") -> dict[str, AnyArray]:
    """Return the values of all blobs. If a blob has several edges, the last one counts."""
    values = edge_values(built, inputs, work=work, doing=doing)
    return {built.graph.blobs[edge]: values[edge] for edge in sorted(values)}


def edge_values(
    built: Built,
    inputs: Arrays,
    others: Mapping[int, AnyArray] = _NO_VALUES,
    *,
    wanted: Collection[int] | None = None,
    changed: Callable[[Tensor], Tensor] | None = None,
    work: Work = unreported,
    doing: str = "running",
) -> dict[int, AnyArray]:
    """Return the values of the wanted edges, or of all edges, without optimizations across layers.

    Later layers read the values in `others` instead of the computed ones. `changed` gets the numbers that a layer
    reads, and returns what it reads instead. Values that aren't wanted are only in memory until the last layer has read
    them, since all values of a net with large images need gigabytes.
    """
    like = next((blob for layer in built.layers for blob in layer.parameters()), torch.empty(0))
    edges = {edge: _tensor(inputs[built.graph.blobs[edge]], like) for edge in built.input_edges()}
    values = {edge: value for edge, value in edges.items() if wanted is None or edge in wanted}
    last_readers = {edge: index for index, node in enumerate(built.graph.nodes) for edge in node.bottoms}
    with torch.no_grad(), running(built), work(doing, len(built.graph.nodes)) as advance:
        for index, (node, layer) in enumerate(built.pairs()):
            if not isinstance(layer, BringsData):
                layer.train(built.graph.phase is Phase.TRAIN)  # a new torch module is in training mode
                bottoms = [edges[edge] for edge in node.bottoms]
                if changed is not None:
                    bottoms = [
                        changed(bottom) if layer.bottom_kind(place) is BlobKind.NUMBER else bottom
                        for place, bottom in enumerate(bottoms)
                    ]
                for edge in node.bottoms:
                    if last_readers[edge] == index:
                        edges.pop(edge, None)
                tops = dict(zip(node.tops, _tops(layer, bottoms, [*edges.values(), *values.values()]), strict=False))
                values |= {edge: top for edge, top in tops.items() if wanted is None or edge in wanted}
                tops |= {edge: _tensor(others[edge], like) for edge in tops if edge in others}
                edges |= {edge: top for edge, top in tops.items() if edge in last_readers}
            advance()
    return {edge: array_of(value.float()) for edge, value in values.items()}


def rounded_otherwise(seed: int = 0) -> Callable[[Tensor], Tensor]:
    """Return a function that changes numbers for `edge_values` as much as rounding does."""
    random = torch.Generator().manual_seed(seed)

    def changed(values: Tensor) -> Tensor:
        noise = torch.rand(values.shape, generator=random, dtype=values.dtype).to(values.device)
        return values * (1 + _ROUNDED * (2 * noise - 1))

    return changed


def _tensor(values: AnyArray, like: Tensor) -> Tensor:
    return torch.from_numpy(np.array(values)).to(like)


def _tops(layer: Layer, bottoms: Sequence[Tensor], needed: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Return the tops of a layer. The layer's state from an earlier batch is cleared.

    The layer may overwrite its bottoms, so it reads copies of bottoms that share memory with other `needed` tensors.
    """
    forget = getattr(layer, "reset", None)
    if callable(forget):
        forget()
    places = Counter(tensor.untyped_storage().data_ptr() for tensor in (*bottoms, *needed))
    tops = layer(*(tensor.clone() if places[tensor.untyped_storage().data_ptr()] > 1 else tensor for tensor in bottoms))
    return tops if isinstance(tops, tuple) else (tops,)


def difference(actual: AnyArray, expected: AnyArray) -> float:
    """Return the largest difference, relative to the spread of the expected values. It is infinite if the shapes
    differ."""
    if actual.shape != expected.shape:
        return math.inf
    if not expected.size:
        return 0.0
    parts = [_PartDifference.of(*pair) for pair in zip(_parts(actual), _parts(expected), strict=True)]
    worst, least, most = max(p.worst for p in parts), min(p.least for p in parts), max(p.most for p in parts)
    if math.isinf(worst) or least > most:  # the least is above the most if no expected value is finite
        return worst
    return worst / (most - least or abs(most) or 1.0)


@dataclass(frozen=True)
class _PartDifference:
    """The largest difference in a part of a blob, and the least and the most of its finite expected values."""

    worst: float
    least: float
    most: float

    @classmethod
    def of(cls, actual: AnyArray, expected: AnyArray) -> _PartDifference:
        actual, expected = actual.astype(np.float64), expected.astype(np.float64)
        finite = expected[np.isfinite(expected)]
        least, most = float(finite.min(initial=math.inf)), float(finite.max(initial=-math.inf))
        different = (actual != expected) & ~(np.isnan(actual) & np.isnan(expected))
        differences = np.abs(actual[different] - expected[different])
        worst = math.inf if np.isnan(differences).any() else float(differences.max(initial=0.0))
        return cls(worst, least, most)


def _parts(values: AnyArray) -> Iterator[AnyArray]:
    """Yield the values in parts, since copies in double precision of a large blob need gigabytes."""
    flat = values.reshape(-1)
    return (flat[start : start + _PART] for start in range(0, flat.size, _PART))


def uninformative(*runs: Arrays) -> tuple[str, ...]:
    """Return the outputs whose comparison proves nothing.

    In all runs, they contain one value only, or values that aren't finite.
    """
    return tuple(name for name in runs[0] if not any(_is_informative(outputs[name]) for outputs in runs))


def _is_informative(values: AnyArray) -> bool:
    return values.size < 2 or bool(np.isfinite(values).all() and np.ptp(values) > 0)


def with_made_up_weights(model: Model, seed: int = 0) -> Model:
    """Return a model with made-up weights, whose outputs aren't constant and don't overflow. Blobs with one long axis
    are positive, since they can be variances."""
    random, weights = np.random.default_rng(seed), dict[str, list[AnyArray]]()
    for name, layer in learned_layers(model.layers(Phase.TEST)).items():
        weights[name] = [_made_up(tuple(blob.shape), random) for blob in layer.blob_tensors()]
    return replace(model, weights=weights, file=None)


def _made_up(shape: Shape, random: np.random.Generator) -> AnyArray:
    if math.prod(shape) == max(shape, default=1):
        return random.uniform(0.3, 0.7, shape).astype(np.float32)
    values: AnyArray = random.standard_normal(shape, np.float32)
    values *= np.float32(math.sqrt((1.6 if len(shape) > 2 else 0.2) / math.prod(shape[1:])))
    return values


def aligned_rows(actual: AnyArray, expected: AnyArray, axis: int | None) -> tuple[AnyArray, AnyArray]:
    """Return both arrays as rows in the same order, if the items along an axis were selected.

    Selected items of equal rank can swap places, and programs order them differently, so each row is paired with the
    nearest.
    """
    if axis is None or actual.shape != expected.shape or not actual.size:
        return actual, expected
    rows = [np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1) for values in (actual, expected)]
    nearest = [int(np.abs(rows[0] - row).max(1).argmin()) for row in rows[1]]
    return rows[0][nearest], rows[1]


def selection_axes(built: Built) -> dict[int, int]:
    """Return the axis of the selected items in the tops of layers that select items, by the top's edge."""
    return {
        edge: layer.varying_axis
        for node, layer in built.pairs()
        if isinstance(layer, HasOnnxForm) and layer.varying_axis is not None
        for edge in node.tops
        if layer.varying_axis < len(built.shapes[edge])
    }

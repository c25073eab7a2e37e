"""Nets run layer by layer, so that all of their blobs can be looked at, and how far values of two runs are apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from netdsl.layer import BringsData, Layer, Shape
from netdsl.model.model import Model
from netdsl.model.weights.files import array_of
from netdsl.model.weights.match import AnyArray
from netdsl.net.build import Built, running
from netdsl.net.graph import Phase
from netdsl.net.module import NetModule
from netdsl.net.sample_inputs import sample_inputs
from netdsl.training.net import Net

TOLERANCE = 1e-5  # of the spread of a blob's values; single-precision sums in another order differ by less

Arrays = Mapping[str, AnyArray]
NetToRun = Net | Model  # the weights of a model are in memory only while it runs

_NO_VALUES: Mapping[int, AnyArray] = {}


@dataclass(frozen=True)
class Agreement:
    """How far the outputs of a net in two forms are apart, for the same inputs.

    The difference says nothing of `uninformative` outputs: for random inputs they have one value, or no number.
    """

    difference: float  # the largest one, relative to the spread of an output
    uninformative: tuple[str, ...]

    @classmethod
    def of(cls, *runs: tuple[Arrays, Arrays]) -> Agreement:
        """Return the agreement of two forms by the outputs of one and those of the other, which are expected, in each
        run."""
        differences = [difference(actual[name], values) for actual, outputs in runs for name, values in outputs.items()]
        return cls(max(differences, default=math.inf), uninformative(*(outputs for _, outputs in runs)))


def module_of(net: NetToRun) -> NetModule:
    """Return the module of a net with its weights; that of a model has memory, which is free again when nobody holds
    it."""
    return net.module(Phase.TEST) if isinstance(net, Model) else net.module


def built_only(net: NetToRun) -> Built:
    """Return the layers of a net, to look at; those of a model have no memory."""
    return net.layers(Phase.TEST) if isinstance(net, Model) else net.module.built


def input_shapes(built: Built) -> dict[str, Shape]:
    """Return the shapes of a net's inputs by name."""
    return {built.graph.blobs[edge]: built.shapes[edge] for edge in built.input_edges()}


def made_up_inputs(built: Built, seed: int = 0) -> Arrays:
    """Inputs of the net's own shapes that are valid for it; the same values for a seed."""
    return dict(sample_inputs(built, input_shapes(built), seed))


def output_values(model: Model, inputs: Arrays) -> Arrays:
    """Return the outputs of a model by name."""
    module = model.module(Phase.TEST)
    blobs = blob_values(module.built, inputs)
    return {name: blobs[name] for name in module.outputs}


def blob_values(built: Built, inputs: Arrays) -> dict[str, AnyArray]:
    """Return the values of all blobs; of several edges of one blob, the last one counts."""
    return {built.graph.blobs[edge]: values for edge, values in sorted(edge_values(built, inputs).items())}


def edge_values(built: Built, inputs: Arrays, others: Mapping[int, AnyArray] = _NO_VALUES) -> dict[int, AnyArray]:
    """Return the values of all edges, without optimisations across layers. Layers that follow read `others` in their
    place."""
    like = next((blob for layer in built.layers for blob in layer.parameters()), torch.empty(0))
    edges = {edge: _tensor(inputs[built.graph.blobs[edge]], like) for edge in built.input_edges()}
    values = dict(edges)
    with torch.no_grad(), running(built):
        for node, layer in built.pairs():
            if isinstance(layer, BringsData):
                continue
            layer.train(built.graph.phase is Phase.TRAIN)  # a torch module begins in training
            tops = dict(zip(node.tops, _tops(layer, [edges[edge] for edge in node.bottoms]), strict=False))
            values |= tops
            edges |= tops | {edge: _tensor(others[edge], like) for edge in tops if edge in others}
    return {edge: array_of(value.float()) for edge, value in values.items()}


def _tensor(values: AnyArray, like: Tensor) -> Tensor:
    return torch.from_numpy(np.array(values)).to(like)


def _tops(layer: Layer, bottoms: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Return the tops of a layer, without the memory of an earlier batch and without writing to its bottoms."""
    forget = getattr(layer, "reset", None)
    if callable(forget):
        forget()
    tops = layer(*(bottom.clone() for bottom in bottoms))
    return tops if isinstance(tops, tuple) else (tops,)


def difference(actual: AnyArray, expected: AnyArray) -> float:
    """Return the largest difference, relative to the spread of the expected values; infinite if the shapes differ."""
    if actual.shape != expected.shape:
        return math.inf
    if not expected.size:
        return 0.0
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    if same.all():
        return 0.0
    finite = expected[np.isfinite(expected)]
    spread = float(np.ptp(finite)) if finite.size else 0.0
    worst = float(np.abs(actual - expected)[~same].max())
    return worst / (spread or float(np.abs(finite).max(initial=0.0)) or 1.0) if math.isfinite(worst) else math.inf


def uninformative(*runs: Arrays) -> tuple[str, ...]:
    """Return the outputs that prove nothing when models are compared: in all runs they have one value, or no number."""
    return tuple(name for name in runs[0] if not any(_is_informative(outputs[name]) for outputs in runs))


def _is_informative(values: AnyArray) -> bool:
    return values.size < 2 or bool(np.isfinite(values).all() and np.ptp(values) > 0)

"""A model on its way from one format to another: a net and its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError
from caffe_proto.files import CaffeFile, read_net
from converters.deploy import deploy
from converters.name_map import Mapped
from converters.weights import read_weights
from netdsl.checking.lint import in_todays_form
from netdsl.checking.placeholder_layer import with_placeholders
from netdsl.checking.shape_guesses import shape_guesses
from netdsl.errors import NetError, WeightsError
from netdsl.layer import Shape
from netdsl.layers import LAYERS
from netdsl.net.build import Built, Types, build
from netdsl.net.graph import Phase, resolve, resolve_all
from netdsl.net.module import NetModule
from netdsl.weights.files import copy_weights, learned_layers, shared_blobs
from netdsl.weights.match import AnyArray, arrays_of, pair_blobs

Weights = Mapping[str, Sequence[AnyArray]]


@dataclass(frozen=True)
class Model:
    """A net in today's form with its weights by layer; and the file of Caffe's that has exactly these, if one has."""

    net: pb.NetParameter
    weights: Weights = field(default_factory=dict)
    file: CaffeFile[pb.NetParameter] | None = None
    names: tuple[Mapped, ...] = ()  # which of torch's tensors the weights were

    def with_weights(self, weights: Weights) -> Model:
        """The model with other values for some of its layers. If all are the same, the file still has exactly these."""
        same = all(
            len(self.weights.get(name, ())) == len(given) and all(map(_equal, self.weights[name], given))
            for name, given in weights.items()
        )
        return self if same else replace(self, weights={**self.weights, **weights}, file=None)


def _equal(own: AnyArray, other: AnyArray) -> bool:
    return own.shape == other.shape and np.array_equal(own, other, equal_nan=True)


def open_model(net: str | Path, weights: Sequence[str | Path] = (), *, types: Types = LAYERS) -> Model:
    """A net of any age with the weights of files of any form; without any, with those that its own file has."""
    file = read_net(net, lenient=True)
    try:
        message = in_todays_form(file.message)
    except CaffeError as problem:
        raise type(problem)(f"{net}: {problem}") from None
    for layer in message.layer:
        layer.ClearField("blobs")
    loaded = [read_weights(path, message, types=types) for path in weights]
    if not loaded:
        return Model(message, arrays_of(file), file if len(file.blobs) else None)
    together = {name: arrays for each in loaded for name, arrays in each.weights.items()}
    return Model(
        message,
        together,
        loaded[0].file if len(loaded) == 1 else None,
        tuple(name for each in loaded for name in each.names),
    )


def deployed(
    model: Model,
    *,
    shapes: Mapping[str, Shape] | None = None,
    batch: int | None = None,
    stages: Sequence[str] = (),
    types: Types = LAYERS,
) -> Model:
    """The model to deploy, whose weights are all there and fit.

    Where its data layers say no shapes, typical ones are tried until the weights fit.
    """
    given, problem = shapes or {}, None
    tries = shape_guesses(resolve_all(model.net, stages=stages)[0], types) if model.weights else ()
    for guess in chain([{}], tries):
        net = deploy(model.net, shapes={**guess, **given}, batch=batch, stages=stages, types=types)
        try:
            _check_weights(net, model.weights, types)
        except NetError as wrong:
            problem = problem or wrong
        else:
            return replace(model, net=net)
    assert problem is not None
    raise problem


def _check_weights(net: pb.NetParameter, weights: Weights, types: Types) -> None:
    """An error unless every layer has its weights, in its shapes. Layers of unknown types can't be checked."""
    graph = resolve(net)
    built = build(graph, with_placeholders(graph, types))
    own = {name: list(layer.blob_tensors()) for name, layer in learned_layers(built).items()}
    report = pair_blobs(own, weights, shared=shared_blobs(built), partial=True)[1]
    if weights and report.missing:
        raise WeightsError(f"the weights have nothing for layer {', '.join(map(repr, report.missing))}")
    if report.mismatched:
        raise WeightsError("; ".join(map(str, report.mismatched)))


def built_of(model: Model, *, types: Types = LAYERS) -> Built:
    """The net's layers with the weights in them, ready to run."""
    built = build(resolve(model.net, Phase.TEST), types)
    if not model.weights and learned_layers(built):
        raise WeightsError(f"net '{model.net.name}' has no weights here; name the files that have them")
    NetModule(built).allocate()
    copy_weights(built, model.weights)
    return built

"""The net to deploy, made from the one that was trained: data become inputs, losses become what they predict."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from caffe_proto import caffe_pb2 as pb
from netdsl.checking.lint import CheckSettings, resolve_shapes
from netdsl.checking.placeholder_layer import with_placeholders
from netdsl.checking.shape_guesses import assume, shape_guesses
from netdsl.deploy.deploy_layers import cleaned
from netdsl.deploy.predictions import Kind, PredictingGraph, Prediction, is_data
from netdsl.errors import NetError, WeightsError
from netdsl.layer import BringsData, Shape
from netdsl.layer.data import INPUT_TYPE
from netdsl.layer.user_code import RunsUserCode
from netdsl.layers import LAYERS
from netdsl.net.build import Types, build
from netdsl.net.graph import Node, resolve, resolve_all
from netdsl.open_net import Model, todays_form
from netdsl.weights.files import learned_layers, shared_blobs
from netdsl.weights.match import Weights, pair_blobs

_PREDICTION = "prob"  # what Caffe's own deploy nets call a prediction
_NO_SHAPES: Mapping[str, Shape] = {}


def deployed(
    model: Model,
    *,
    shapes: Mapping[str, Shape] = _NO_SHAPES,
    batch: int | None = None,
    stages: Sequence[str] = (),
    types: Types = LAYERS,
) -> Model:
    """The model to deploy, whose weights are all there and fit.

    Where its data layers say no shapes, typical ones are tried until the weights fit.
    """
    problem: NetError | None = None
    for guess in chain([{}], _guesses(model, stages, types)):
        net = deploy(model.net, shapes={**guess, **shapes}, batch=batch, stages=stages, types=types)
        try:
            _check_weights(net, model.weights, types)
        except NetError as wrong:
            problem = problem or wrong
        else:
            return replace(model, net=net)
    assert problem is not None
    raise problem


def _guesses(model: Model, stages: Sequence[str], types: Types) -> Iterator[dict[str, Shape]]:
    """Shapes that data may have, if there are weights that tell which of them fit."""
    if model.weights:
        net = todays_form(model.net)
        assume(net, {}, types)
        yield from shape_guesses(resolve_all(net, stages=stages)[0], types)


def _check_weights(net: pb.NetParameter, weights: Weights, types: Types) -> None:
    """An error unless every layer has its weights, in its shapes. Layers of unknown types can't be checked."""
    graph = resolve(net)
    built = build(graph, with_placeholders(graph, types))
    blobs = {name: list(layer.blob_tensors()) for name, layer in learned_layers(built).items()}
    report = pair_blobs(blobs, weights, shared=shared_blobs(built), partial=True)[1]
    if weights and report.missing:
        raise WeightsError(f"the weights have nothing for layer {', '.join(map(repr, report.missing))}")
    if report.mismatched:
        raise WeightsError("; ".join(map(str, report.mismatched)))


def deploy(
    net: pb.NetParameter,
    *,
    shapes: Mapping[str, Shape] = _NO_SHAPES,
    batch: int | None = None,
    stages: Sequence[str] = (),
    types: Types = LAYERS,
) -> pb.NetParameter:
    """The net for whoever uses it: of its TEST phase, or of TRAIN if it has no other.

    Data layers become inputs, of `shapes` without the batch where those are given, and a batch of 1 where none is.
    Losses become their predictions. Layers that only measure go, and so does what only fed them: labels, and branches
    whose loss weighs less than another one with the same labels. Fields that only training needs are left out.
    """
    whole = todays_form(net)
    with suppress(NetError):  # whether the net works is for whoever builds it to say
        shapes = {**resolve_shapes(whole, CheckSettings(shapes, stages, True, types)).assumed, **shapes}
    assume(whole, shapes, types)
    graphs = resolve_all(whole, stages=stages)
    if not graphs:
        raise NetError(f"net '{net.name}' has no layers")
    return _written(PredictingGraph.of(graphs, types), batch)


def _written(graph: PredictingGraph, batch: int | None) -> pb.NetParameter:
    """A copy of the net with the layers that its predictions and its other outputs depend on."""
    predictions = sorted(graph.losses or graph.measures, key=lambda prediction: prediction.place)
    ends = {*graph.outputs, *(edge for prediction in predictions for edge in prediction.edges)}
    nodes = graph.needed_layers(ends, without=graph.removed)
    read = ends.union(*(node.bottoms for node in nodes.values()))
    sources = _sources(nodes, graph.kinds)
    layers = _added(graph, predictions)
    for index, node in nodes.items():
        kind = graph.kinds[index]
        layers[index] = _input(graph, node, kind, read, batch) if index in sources else cleaned(node.layer, kind)
    net = pb.NetParameter()
    net.CopyFrom(graph.graph.net)
    for name in ("layer", "state", "force_backward"):
        net.ClearField(name)
    net.layer.extend(layers[index] for index in sorted(layers))
    if not net.layer:
        raise NetError(f"net '{net.name}' predicts nothing: no layer that learns is read by a loss, or is an output")
    return net


def _added(graph: PredictingGraph, predictions: Sequence[Prediction]) -> dict[int, pb.LayerParameter]:
    """The layers in the place of losses, of which several may read the same blob.

    A single one is called as in Caffe's own deploy nets, one of several after the blob that it is made of.
    """
    first: dict[int, Prediction] = {}
    for prediction in predictions:
        if prediction.layer is not None:
            first.setdefault(prediction.edges[0], prediction)
    nodes = graph.graph.nodes
    taken = {node.layer.name for index, node in enumerate(nodes) if index not in graph.removed}
    taken.update(graph.graph.blobs)
    layers = {}
    for edge, prediction in first.items():
        assert prediction.layer is not None
        name = _PREDICTION if len(first) == 1 else f"{graph.graph.blobs[edge]}_{_PREDICTION}"
        layer = layers[prediction.place] = cleaned(prediction.layer)
        layer.name = name if name not in taken else f"{layer.name}_{_PREDICTION}"
        if not layer.top:
            layer.top.append(layer.name)
    return layers


def _sources(nodes: Mapping[int, Node], kinds: Sequence[Kind]) -> set[int]:
    """The layers that become inputs. Made-up data are data only where there is nothing else."""
    made_up = set()
    for index, node in nodes.items():
        kind = kinds[index]
        if not node.bottoms and kind is not None and kind.deploys_as is not None:
            made_up.add(index)
    return {index for index, node in nodes.items() if is_data(node, kinds[index])} or made_up


def _input(
    graph: PredictingGraph, node: Node, kind: Kind, read: Collection[int], batch: int | None
) -> pb.LayerParameter:
    """An input in the place of a layer that brings data: of those tops that something reads."""
    shapes = dict(zip(node.tops, _shapes(node.layer, kind), strict=False))
    layer = pb.LayerParameter(name=node.layer.name, type=INPUT_TYPE)
    for edge in node.tops:
        if edge not in read:
            continue
        name, shape = graph.graph.blobs[edge], shapes.get(edge, ())
        if not shape and not (kind and issubclass(kind, BringsData)):
            raise NetError(
                f"layer '{node.layer.name}': nothing says the shape of '{name}'; give it, as in {name}=3x224x224"
            )
        layer.top.append(name)
        first = batch or (1 if kind is None or kind.deploys_as else shape[0] if shape else 1)
        layer.input_param.shape.add(dim=(first, *shape[1:]) if shape else ())
    return layer


def _shapes(layer: pb.LayerParameter, kind: Kind) -> list[Shape]:
    """What a layer's settings say that it brings; for private code only what is assumed."""
    alone = pb.LayerParameter()
    alone.CopyFrom(layer)
    if kind is None or issubclass(kind, RunsUserCode):
        return [tuple(shape.dim) for shape in layer.input_param.shape]
    return kind(alone, []).top_shapes([])

"""The deploy net, made from a trained net: data layers become inputs, losses become their predictions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from caffe_proto import caffe_pb2 as pb
from caffe_proto.locations import error_label
from netdsl.checking.lint import CheckSettings, resolve_shapes
from netdsl.checking.shape_guesses import assume, shape_guesses
from netdsl.deploy.deploy_layers import deploy_layer
from netdsl.deploy.predictions import Kind, PredictingGraph, Prediction, is_data
from netdsl.errors import NetError, WeightsError
from netdsl.layer import BringsData, Shape
from netdsl.layer.data import INPUT_TYPE
from netdsl.layer.user_code import RunsUserCode
from netdsl.net.build import build
from netdsl.net.graph import Node, resolve, resolve_all
from netdsl.net.sequences import beginning_edges
from netdsl.open_net import Model, todays_form
from netdsl.weights.files import learned_layers, shared_blobs
from netdsl.weights.match import Weights, pair_blobs

_PREDICTION = "prob"  # the name in Caffe's own deploy nets
_NO_SHAPES: Mapping[str, Shape] = {}


class _MissingWeightsError(WeightsError):
    """A net has layers that its weights don't have."""


def deploy_model(
    model: Model,
    *,
    shapes: Mapping[str, Shape] = _NO_SHAPES,
    batch: int | None = None,
    stages: Sequence[str] = (),
) -> Model:
    """The deploy net of a model with its weights; an error if weights are missing or don't fit.

    If the data layers don't state their shapes, typical ones are tried until the weights fit.
    """
    problem: NetError | None = None
    unstated: set[str] = set()
    for guess in chain([{}], _guesses(model, stages)):
        net = deploy(model.net, shapes={**guess, **shapes}, batch=batch, stages=stages)
        try:
            _check_weights(net, model.weights)
        except _MissingWeightsError:  # whatever the shapes are
            raise
        except NetError as mismatch:
            problem = problem or mismatch
            unstated |= guess.keys() - shapes.keys()
        else:
            return replace(model, net=net)
    assert problem is not None
    raise type(problem)(f"{problem}{_advice(sorted(unstated))}")


def _advice(unstated: Sequence[str]) -> str:
    """What to do where weights fit none of the shapes that were tried for blobs."""
    if not unstated:
        return ""
    blobs, options = ", ".join(map(repr, unstated)), " ".join(f"--assume {name}=SHAPE" for name in unstated)
    return (
        f"; the net doesn't state the shape of {blobs}, and no typical one fits: "
        f"`zoo export {options}` writes a net that does"
    )


def _guesses(model: Model, stages: Sequence[str]) -> Iterator[dict[str, Shape]]:
    """Typical shapes of data, if the model has weights by which they can be checked."""
    if model.weights:
        net = todays_form(model.net)
        assume(net, {})
        yield from shape_guesses(resolve_all(net, stages=stages)[0])


def _check_weights(net: pb.NetParameter, weights: Weights) -> None:
    """Raise an error unless every layer has weights of its shapes. Layers of unknown types can't be checked."""
    graph = resolve(net)
    built = build(graph, stub_unknown=True)
    blobs = {name: list(layer.blob_tensors()) for name, layer in learned_layers(built).items()}
    report = pair_blobs(blobs, weights, shared=shared_blobs(built), partial=True)[1]
    if weights and report.missing:
        raise _MissingWeightsError(f"the weights have nothing for layer {', '.join(map(repr, report.missing))}")
    if report.mismatched:
        raise WeightsError("; ".join(map(str, report.mismatched)))


def deploy(
    net: pb.NetParameter,
    *,
    shapes: Mapping[str, Shape] = _NO_SHAPES,
    batch: int | None = None,
    stages: Sequence[str] = (),
    outputs: Sequence[str] = (),
) -> pb.NetParameter:
    """The deploy net of a net's TEST phase, or of TRAIN if it has no other.

    Data layers become inputs. `shapes` are shapes of inputs without the batch, and the default of `batch` is 1. Losses
    become their predictions. Layers that only measure are removed with the layers that only they need: labels, and
    branches whose loss weighs less than another one with the same labels. Fields that only training needs are removed.
    With `outputs` the net ends at these blobs instead, as some authors' nets end at scores.
    """
    whole = todays_form(net)
    with suppress(NetError):  # errors of the net are raised when it is built
        shapes = {**resolve_shapes(whole, CheckSettings(shapes, stages, stub_unknown=True)).assumed, **shapes}
    assume(whole, shapes)
    graphs = resolve_all(whole, stages=stages)
    if not graphs:
        raise NetError(f"net '{net.name}' has no layers")
    graph = PredictingGraph.of(graphs)
    if outputs:
        return _deploy_graph(graph, batch, [], {graph.graph.edge_of(name) for name in outputs})
    predictions = sorted(graph.losses or graph.measures, key=lambda prediction: prediction.place)
    ends = {*graph.outputs, *(edge for prediction in predictions for edge in prediction.edges)}
    return _deploy_graph(graph, batch, predictions, ends)


def _deploy_graph(
    graph: PredictingGraph, batch: int | None, predictions: Sequence[Prediction], ends: Collection[int]
) -> pb.NetParameter:
    """A net of the layers that some edges of a graph depend on, and of those that predictions add."""
    nodes = graph.needed_layers(ends, without=graph.removed)
    read = {*ends, *chain.from_iterable(node.bottoms for node in nodes.values())}
    sources = _sources(nodes, graph.kinds)
    steps = _steps(graph, sources)
    layers = _prediction_layers(graph, predictions)
    for index, node in nodes.items():
        kind = graph.kinds[index]
        if index in sources:
            layers[index] = _input(graph, node, kind, read, batch, steps)
        else:
            layers[index] = deploy_layer(node.layer, kind)
    net = pb.NetParameter()
    net.CopyFrom(graph.graph.net)
    for name in ("layer", "state", "force_backward"):
        net.ClearField(name)
    net.layer.extend(layers[index] for index in sorted(layers))
    if not net.layer:
        raise NetError(f"net '{net.name}' predicts nothing: no layer that learns is read by a loss, or is an output")
    return net


def _prediction_layers(graph: PredictingGraph, predictions: Sequence[Prediction]) -> dict[int, pb.LayerParameter]:
    """The layers in place of losses; losses that read the same blob have one.

    A single layer is named as in Caffe's own deploy nets, and one of several after the blob that it reads.
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
        layer = layers[prediction.place] = deploy_layer(prediction.layer)
        layer.name = name if name not in taken else f"{layer.name}_{_PREDICTION}"
        if not layer.top:
            layer.top.append(layer.name)
    return layers


def _sources(nodes: Mapping[int, Node], kinds: Sequence[Kind]) -> set[int]:
    """The layers that become inputs. Layers that make up data are among them only if there are no others."""
    made_up = set()
    for index, node in nodes.items():
        kind = kinds[index]
        if not node.bottoms and kind is not None and kind.deploys_as is not None:
            made_up.add(index)
    return {index for index, node in nodes.items() if is_data(node, kinds[index])} or made_up


def _steps(graph: PredictingGraph, sources: Collection[int]) -> set[Shape]:
    """How many steps of how many sequences those data layers bring that say where sequences begin."""
    begins, steps = beginning_edges(graph.graph), set()
    for index in sources:
        node = graph.graph.nodes[index]
        if begins.intersection(node.tops):
            shapes = zip(node.tops, _shapes(node.layer, graph.kinds[index]), strict=False)
            steps |= {shape[:2] for edge, shape in shapes if edge in begins and len(shape) > 1}
    return steps


def _input(
    graph: PredictingGraph,
    node: Node,
    kind: Kind,
    read: Collection[int],
    batch: int | None,
    steps: Collection[Shape],
) -> pb.LayerParameter:
    """The Input layer in place of a data layer, with those tops that are read."""
    shapes = dict(zip(node.tops, _shapes(node.layer, kind), strict=False))
    stated = kind is not None and kind.deploys_as is None
    layer = pb.LayerParameter(name=node.layer.name, type=INPUT_TYPE)
    for edge in node.tops:
        if edge not in read:
            continue
        name, shape = graph.graph.blobs[edge], shapes.get(edge, ())
        if not shape and not (kind and issubclass(kind, BringsData)):
            raise NetError(
                f"{error_label(node.layer)}: nothing says the shape of '{name}'; give it, as in {name}=3x224x224"
            )
        layer.top.append(name)
        first: Shape
        if shape[:2] in steps:  # of sequences side by side: used step by step, unless the net says otherwise
            first = (shape[0], batch or shape[1]) if stated else (1, batch or 1)
        else:
            first = (batch or (shape[0] if stated and shape else 1),)
        layer.input_param.shape.add(dim=(*first, *shape[len(first) :]) if shape else ())
    return layer


def _shapes(layer: pb.LayerParameter, kind: Kind) -> list[Shape]:
    """The shapes of a data layer's tops by its settings; for private code only those that were assumed."""
    alone = pb.LayerParameter()
    alone.CopyFrom(layer)
    if kind is None or issubclass(kind, RunsUserCode):
        return [tuple(shape.dim) for shape in layer.input_param.shape]
    return kind(alone, []).top_shapes([])

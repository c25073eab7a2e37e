"""The deploy net, made from a trained net: data layers become inputs, losses become their predictions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import with_layers
from caffe_proto.locations import error_label
from netdsl.errors import NetError, WeightsError
from netdsl.layer import BringsData, Shape
from netdsl.layer.data import INPUT_TYPE, UNKNOWN
from netdsl.model.data_shapes import DataShape, Items, Known, known_shapes, shape_advice, typical_shapes, with_items
from netdsl.model.deploy.deploy_layers import deploy_layer
from netdsl.model.deploy.predictions import Kind, PredictingGraph, Prediction, is_data
from netdsl.model.model import Model, NetSource, open_net, warn_of_guesses
from netdsl.model.weights.files import learned_layers, shared_blobs
from netdsl.model.weights.match import pair_blobs
from netdsl.net.graph import Graph, Node, Phase
from netdsl.net.sequences import beginning_edges

_PREDICTION = "prob"  # the name in Caffe's own deploy nets
_NO_SHAPES: Mapping[str, Shape] = {}


def deploy_model(
    model: Model, *, shapes: Items = _NO_SHAPES, batch: int | None = None, outputs: Sequence[str] = ()
) -> Model:
    """The deploy net of a model's TEST phase, or of TRAIN if it has no other; an error if weights don't fit it.

    Data layers become inputs. `shapes` are shapes of inputs without the batch, and the default of `batch` is 1. Losses
    become their predictions. Layers that only measure are removed with the layers that only they need: labels, and
    branches whose loss weighs less than another one with the same labels. Fields that only training needs are removed.
    With `outputs` the net ends at these blobs instead, as some authors' nets end at scores.
    """
    model = replace(model, items={**model.items, **shapes})
    graphs, edge_shapes, guesses = _graphs(model)
    if not graphs:
        raise NetError(f"net '{model.net.name}' has no layers")
    graph = PredictingGraph.of(graphs)
    for node, kind in zip(graph.graph.nodes, graph.kinds, strict=True):
        if is_data(node, kind) and not (kind and issubclass(kind, BringsData)):  # code that nobody here can ask
            for edge in node.tops:
                edge_shapes[edge] = () if graph.graph.blobs[edge] in guesses else edge_shapes[edge]
    if outputs:
        net = _deploy_graph(graph, edge_shapes, batch, [], {graph.graph.edge_of(name) for name in outputs})
    else:
        predictions = sorted(graph.losses or graph.measures, key=lambda prediction: prediction.place)
        ends = {*graph.outputs, *(edge for prediction in predictions for edge in prediction.edges)}
        net = _deploy_graph(graph, edge_shapes, batch, predictions, ends)
    deployed = replace(model, net=net, items={}, level=0, stages=())
    _check_weights(deployed, model, sorted(guesses))
    inputs = {top for layer in net.layer if not layer.bottom for top in layer.top}
    warn_of_guesses(net.name, {name: shape for name, shape in guesses.items() if name in inputs})
    return deployed


def deploy(
    net: NetSource,
    *,
    shapes: Items = _NO_SHAPES,
    batch: int | None = None,
    stages: Sequence[str] = (),
    outputs: Sequence[str] = (),
) -> pb.NetParameter:
    """The deploy net of a net, as a message without weights."""
    model = replace(open_net(net), weights={}, stages=stages)
    return deploy_model(model, shapes=shapes, batch=batch, outputs=outputs).net


def _graphs(model: Model) -> tuple[list[Graph], list[Shape], dict[str, DataShape]]:
    """The graphs of a model's phases, the shapes of the first one's edges, and the blobs whose shapes are guesses.

    Layers that only train may not fit; then shapes are only those that the layers of data state.
    """
    with suppress(NetError):  # errors of the deploy net are raised when it is built
        settled = [model.settled(phase, stub_unknown=True) for phase in model.phases]
        if settled:
            guesses = {name: shape for name, shape in settled[0].data.items() if shape.known is Known.GUESSED}
            return [each.built.graph for each in settled], list(settled[0].built.shapes), guesses
    graphs = replace(model, net=with_items(model.net, model.items)).graphs
    shapes: list[Shape] = [()] * len(graphs[0].blobs) if graphs else []
    guesses = dict[str, DataShape]()
    for node in graphs[0].nodes if graphs else ():
        pairs = zip(known_shapes(node.layer), typical_shapes(node.layer), strict=True)
        for edge, (known, shapes[edge]) in zip(node.tops, pairs, strict=False):
            if known and UNKNOWN in known:
                guesses[graphs[0].blobs[edge]] = DataShape(shapes[edge][1:], Known.GUESSED)
    return graphs, shapes, guesses


def _check_weights(deployed: Model, model: Model, guessed: Sequence[str]) -> None:
    """Raise an error unless every layer has weights of its shapes. Layers of unknown types can't be checked."""
    built = deployed.settled(Phase.TEST, stub_unknown=True).built
    blobs = {name: list(layer.blob_tensors()) for name, layer in learned_layers(built).items()}
    report = pair_blobs(blobs, model.weights, shared=shared_blobs(built), partial=True)[1]
    if model.weights and report.missing:
        raise WeightsError(f"the weights have nothing for layer {', '.join(map(repr, report.missing))}")
    if report.mismatched:
        advice = (
            f"; the net doesn't state the shape of {', '.join(map(repr, guessed))}, and no typical one fits: "
            f"`zoo export {shape_advice(guessed)}` writes a net that does"
        )
        raise WeightsError(f"{'; '.join(map(str, report.mismatched))}{advice if guessed else ''}")


def _deploy_graph(
    graph: PredictingGraph,
    shapes: Sequence[Shape],
    batch: int | None,
    predictions: Sequence[Prediction],
    ends: Collection[int],
) -> pb.NetParameter:
    """A net of the layers that some edges of a graph depend on, and of those that predictions add."""
    nodes = graph.needed_layers(ends, without=graph.removed)
    read = {*ends, *chain.from_iterable(node.bottoms for node in nodes.values())}
    sources = _sources(nodes, graph.kinds)
    steps = _steps(graph, shapes, sources)
    layers = _prediction_layers(graph, predictions)
    for index, node in nodes.items():
        kind = graph.kinds[index]
        if index in sources:
            layers[index] = _input(graph, node, kind, shapes, read, batch, steps)
        else:
            layers[index] = deploy_layer(node.layer, kind)
    net = with_layers(graph.graph.net, (layers[index] for index in sorted(layers)))
    for name in ("state", "force_backward"):
        net.ClearField(name)
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


def _steps(graph: PredictingGraph, shapes: Sequence[Shape], sources: Collection[int]) -> set[Shape]:
    """How many steps of how many sequences those data layers bring that say where sequences begin."""
    begins, steps = beginning_edges(graph.graph), set()
    for index in sources:
        node = graph.graph.nodes[index]
        if begins.intersection(node.tops):
            steps |= {shapes[edge][:2] for edge in node.tops if edge in begins and len(shapes[edge]) > 1}
    return steps


def _input(
    graph: PredictingGraph,
    node: Node,
    kind: Kind,
    shapes: Sequence[Shape],
    read: Collection[int],
    batch: int | None,
    steps: Collection[Shape],
) -> pb.LayerParameter:
    """The Input layer in place of a data layer, with those tops that are read."""
    stated = kind is not None and kind.deploys_as is None
    layer = pb.LayerParameter(name=node.layer.name, type=INPUT_TYPE)
    for edge in node.tops:
        if edge not in read:
            continue
        name, shape = graph.graph.blobs[edge], shapes[edge]
        if UNKNOWN in shape or (not shape and not (kind and issubclass(kind, BringsData))):
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

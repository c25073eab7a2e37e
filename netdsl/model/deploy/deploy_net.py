"""Creates the deploy net from a trained net. Data layers become inputs, and losses become their predictions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import with_layers
from caffe_proto.locations import error_label
from netdsl.errors import NetError, WeightsError
from netdsl.layer import BringsData, Shape
from netdsl.layer.data import INPUT_TYPE
from netdsl.model.data_shapes import DataShape, Items, Known, dimensions, shape_advice
from netdsl.model.deploy.deploy_layers import deploy_layer
from netdsl.model.deploy.predictions import (
    Kind,
    Prediction,
    is_data,
    kinds_of,
    loss_predictions,
    measured_predictions,
    needed_layers,
    other_outputs,
    removed_layers,
)
from netdsl.model.model import Model, NetSource, open_net, warn_of_guesses
from netdsl.model.weights.files import learned_layers, shared_blobs
from netdsl.model.weights.match import pair_blobs
from netdsl.net.build import Built
from netdsl.net.graph import Graph, Node, Phase, net_of
from netdsl.net.sequences import beginning_edges

_PREDICTION = "prob"  # the name in Caffe's own deploy nets
_NO_SHAPES: Mapping[str, Shape] = {}


def deploy_model(
    model: Model, *, shapes: Items = _NO_SHAPES, batch: int | None = None, outputs: Sequence[str] = ()
) -> Model:
    """Return the deploy net of a model's TEST phase, or of TRAIN if it is the only phase.

    Data layers become inputs. `shapes` contains shapes of inputs without the batch, and `batch` is 1 by default. Losses
    become their predictions. Layers that only measure are removed, and so are the layers that only they need. These are
    labels, and branches whose loss weighs less than another loss with the same labels. Fields that only training needs
    are removed. With `outputs`, the net ends at these blobs instead, because some published nets end at scores. Raises
    a `WeightsError` if the weights don't fit the net.
    """
    # A model without new shapes may have its layers already.
    model = replace(model, items={**model.items, **shapes}) if shapes else model
    graphs = model.graphs
    if not graphs:
        raise NetError(f"net '{model.net.name}' has no layers; add layers, or name the file that contains them")
    graph = graphs[0]
    found = [] if outputs else loss_predictions(graphs) or measured_predictions(graph)
    predictions = sorted(found, key=lambda prediction: prediction.place)
    ends = {graph.edge_of(name) for name in outputs} if outputs else set(other_outputs(graphs))
    ends.update(edge for prediction in predictions for edge in prediction.edges)
    nodes = needed_layers(graph, ends, without=removed_layers(graph))
    fitting = _fitting(model, graph, nodes.values())
    data = fitting.data(graph.phase, stub_unknown=True)
    guesses = {name: shape for name, shape in data.items() if shape.known is Known.GUESSED}
    shapes_by_top = _shapes_by_top(fitting.settled(graph.phase, stub_unknown=True).built, guesses)
    net = _deploy_graph(graph, nodes, shapes_by_top, batch, predictions, ends)
    deployed = replace(model, net=net, items={}, known=data, level=0, stages=())
    _check_weights(deployed, model, data)
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
    """Return the deploy net as a message without weights."""
    model = replace(open_net(net), weights={}, stages=stages)
    return deploy_model(model, shapes=shapes, batch=batch, outputs=outputs).net


def _fitting(model: Model, graph: Graph, needed: Iterable[Node]) -> Model:
    """Return the model itself, or a model of only the needed layers if training-only layers don't fit."""
    with suppress(NetError):
        model.settled(graph.phase, stub_unknown=True)
        return model
    return replace(model, net=net_of(graph.net, (node.layer for node in needed)), level=0, stages=())


def _check_weights(deployed: Model, model: Model, data: Mapping[str, DataShape]) -> None:
    """Raise a `WeightsError` unless every layer has weights of its shapes. Layers of unknown types can't be checked."""
    built = deployed.settled(Phase.TEST, stub_unknown=True).built
    blobs = {name: list(layer.blob_tensors()) for name, layer in learned_layers(built).items()}
    report = pair_blobs(blobs, model.weights, shared=shared_blobs(built), partial=True)[1]
    if model.weights and report.missing:
        raise WeightsError(
            f"the weights don't contain layer {', '.join(map(repr, report.missing))}; name the file that "
            "contains it with --weights"
        )
    if report.mismatched:
        raise WeightsError(f"{'; '.join(map(str, report.mismatched))}{_advice_about_shapes(data)}")


def _advice_about_shapes(data: Mapping[str, DataShape]) -> str:
    """Return a clause about the data whose shapes the net doesn't state, and don't fit its weights."""
    guessed = [name for name, shape in sorted(data.items()) if shape.known is Known.GUESSED]
    if guessed:
        return (
            f"; the net doesn't state the shape of {', '.join(map(repr, guessed))}, and no typical shape fits: set "
            f"`input` in a card, or use `zoo export` with {shape_advice(guessed)}"
        )
    beside = [
        f"{name!r} {dimensions(shape.item)}" for name, shape in sorted(data.items()) if shape.known is Known.BESIDE
    ]
    return f"; a card or a net in the folder makes {', '.join(beside)}: correct it" if beside else ""


def _deploy_graph(
    graph: Graph,
    nodes: Mapping[int, Node],
    shapes: Mapping[str, Shape],
    batch: int | None,
    predictions: Sequence[Prediction],
    ends: Collection[int],
) -> pb.NetParameter:
    """Return a net of the layers that some edges of a graph depend on, and of the layers that predictions add."""
    kinds = kinds_of(graph)
    read = {*ends, *chain.from_iterable(node.bottoms for node in nodes.values())}
    sources = _sources(nodes, kinds)
    steps = _steps(graph, shapes, sources)
    layers = _prediction_layers(graph, predictions)
    for index, node in nodes.items():
        kind = kinds[index]
        if index in sources:
            layers[index] = _input(graph, node, kind, shapes, read, batch, steps)
        else:
            layers[index] = deploy_layer(node.layer, kind)
    net = with_layers(graph.net, (layers[index] for index in sorted(layers)))
    for name in ("state", "force_backward"):
        net.ClearField(name)
    if not net.layer:
        raise NetError(
            f"net '{net.name}' predicts nothing: no layer that learns is read by a loss or is an output; name a "
            "net with a loss, or with an output that a layer with weights computes"
        )
    return net


def _prediction_layers(graph: Graph, predictions: Sequence[Prediction]) -> dict[int, pb.LayerParameter]:
    """Return the layers that replace losses. Losses that read the same blob get one layer.

    A single layer is named as in Caffe's own deploy nets. Several layers are named after the blobs that they read.
    """
    first: dict[int, Prediction] = {}
    for prediction in predictions:
        if prediction.layer is not None:
            first.setdefault(prediction.edges[0], prediction)
    removed = removed_layers(graph)
    taken = {node.layer.name for index, node in enumerate(graph.nodes) if index not in removed}
    taken.update(graph.blobs)
    layers = {}
    for edge, prediction in first.items():
        assert prediction.layer is not None
        name = _PREDICTION if len(first) == 1 else f"{graph.blobs[edge]}_{_PREDICTION}"
        layer = layers[prediction.place] = deploy_layer(prediction.layer)
        layer.name = name if name not in taken else f"{layer.name}_{_PREDICTION}"
        if not layer.top:
            layer.top.append(layer.name)
    return layers


def _sources(nodes: Mapping[int, Node], kinds: Sequence[Kind]) -> set[int]:
    """Return the layers that become inputs. Layers that make up data are included only if there are no others."""
    made_up = set()
    for index, node in nodes.items():
        kind = kinds[index]
        if not node.bottoms and kind is not None and kind.deploys_as is not None:
            made_up.add(index)
    return {index for index, node in nodes.items() if is_data(node, kinds[index])} or made_up


def _shapes_by_top(built: Built, guessed: Collection[str]) -> dict[str, Shape]:
    """Return the shapes of the tops of layers without bottoms.

    If private code produces a top and its shape is a guess, the shape is empty.
    """
    return {
        name: () if name in guessed and not isinstance(layer, BringsData) else built.shapes[edge]
        for node, layer in built.pairs()
        if not node.bottoms
        for name, edge in zip(node.layer.top, node.tops, strict=False)
    }


def _steps(graph: Graph, shapes: Mapping[str, Shape], sources: Collection[int]) -> set[Shape]:
    """Return the numbers of steps and sequences of data layers that mark where sequences begin."""
    begins = beginning_edges(graph)
    tops = [graph.blobs[edge] for index in sources for edge in graph.nodes[index].tops if edge in begins]
    return {shapes[top][:2] for top in tops if len(shapes[top]) > 1}


def _input(
    graph: Graph,
    node: Node,
    kind: Kind,
    shapes: Mapping[str, Shape],
    read: Collection[int],
    batch: int | None,
    steps: Collection[Shape],
) -> pb.LayerParameter:
    """Return the Input layer that replaces a data layer, with the tops that other layers read."""
    stated = kind is not None and kind.deploys_as is None
    layer = pb.LayerParameter(name=node.layer.name, type=INPUT_TYPE)
    for edge in node.tops:
        if edge not in read:
            continue
        name, shape = graph.blobs[edge], shapes[graph.blobs[edge]]
        if not shape and not (kind and issubclass(kind, BringsData)):
            raise NetError(
                f"{error_label(node.layer)}: the shape of '{name}' is unknown; give it, as in --assume {name}=3x224x224"
            )
        layer.top.append(name)
        first: Shape
        if shape[:2] in steps:  # parallel sequences are used step by step, unless the net states otherwise
            first = (shape[0], batch or shape[1]) if stated else (1, batch or 1)
        else:
            first = (batch or (shape[0] if stated and shape else 1),)
        layer.input_param.shape.add(dim=(*first, *shape[len(first) :]) if shape else ())
    return layer

"""Events and checks for opened nets: their layers, their data, and whether outputs and data have equally many
classes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from caffe_proto.errors import few
from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.source import count_of
from netdsl.errors import DataError
from netdsl.layer import Layer
from netdsl.layer.samples import BlobKind
from netdsl.model.deploy.predictions import loss_predictions, measured_predictions
from netdsl.net.build import AUTOMATIC, Built
from netdsl.net.graph import Node, Phase
from netdsl.net.sequences import sequence_inputs
from netdsl.solver.events import CreatedLayer, DataOpened, Event, NetCreated, Notice
from netdsl.solver.trainable_net import ModuleNet

_CLASSES_SHOWN = 10  # number of classes that a message names


def net_created(built: Built, source: str, *, test: int | None = None) -> NetCreated:
    """Return the event for a net from a source. A test net has a number."""
    outputs = {built.graph.blobs[edge] for edge in built.graph.outputs} - {AUTOMATIC}
    layers = tuple(_created_layer(built, node, layer) for node, layer in built.pairs())
    return NetCreated(source, test, layers, tuple(sorted(outputs, key=str.encode)))


def _created_layer(built: Built, node: Node, layer: Layer) -> CreatedLayer:
    shapes = tuple(tuple(built.shapes[edge]) for edge in node.tops)
    tops = tuple(built.graph.blobs[edge] for edge in node.tops)
    return CreatedLayer(node.layer.name, tuple(node.layer.bottom), tops, shapes, tuple(layer.loss_weights()))


def data_events(nets: Sequence[ModuleNet]) -> Iterator[Event]:
    """Yield an event for the data of each net, and a notice if the net has more outputs than its data have classes.

    Raises a `DataError` if there are fewer outputs than classes, or if two sources number the same classes differently.
    """
    first: DataOpened | None = None
    noticed = set[str]()
    for net in nets:
        for opened in opened_data(net):
            if opened.classes:
                first = first or opened
                _refuse_other_numbers(first, opened)
            yield opened
            for blob, text in _surplus_outputs(net.built, opened).items():
                if blob not in noticed:
                    yield Notice(text)
                noticed.add(blob)


def opened_data(net: ModuleNet) -> list[DataOpened]:
    """Return an event for each source that a net reads."""
    graph = net.built.graph
    tests, vocabulary = graph.phase is Phase.TEST, all(sequence_inputs(graph))
    return [
        DataOpened(reading.name, count_of(reading.source), classes_of(reading.source), tests, vocabulary)
        for reading in (net.feeds.readings() if net.feeds else ())
    ]


def output_names(net: ModuleNet) -> tuple[str, ...]:
    """Return a name for each class that a net predicts, from the net's data. Returns an empty tuple if the data name no
    classes.

    Outputs beyond the named classes are named by their numbers.
    """
    classes = next((opened.classes for opened in opened_data(net) if opened.classes), ())
    outputs = max(_class_outputs(net.built).values(), default=0) if classes else 0
    return (*classes, *map(str, range(len(classes), outputs)))


def _refuse_other_numbers(first: DataOpened, second: DataOpened) -> None:
    for label, (name, other) in enumerate(zip(first.classes, second.classes, strict=False)):
        if name != other:
            raise DataError(
                f"{second.source}: label {label} is '{other}', but it is '{name}' in {first.source}; give both "
                "sources the same classes, in a labels.txt in each"
            )


def _surplus_outputs(built: Built, opened: DataOpened) -> dict[str, str]:
    """Return a sentence for each blob with more outputs than classes. Raises a `DataError` if a blob has fewer."""
    classes, sentences = len(opened.classes), dict[str, str]()
    what = f"the {classes} classes of {opened.source} ({few(opened.classes, _CLASSES_SHOWN)})"
    for blob, outputs in _class_outputs(built).items() if classes else ():
        if outputs < classes:
            raise DataError(
                f"blob '{blob}' has {outputs} outputs for {what}, so some labels have none; set num_output to "
                f"{classes} in the layer that computes the blob"
            )
        if outputs > classes:
            sentences[blob] = (
                f"blob '{blob}' has {outputs} outputs for {what}, so {outputs - classes} of them can never be right"
            )
    return sentences


@dataclass(frozen=True)
class ClassPrediction:
    """The class scores that a net predicts for each item, and the blob that contains the items' labels."""

    blob: str
    labels: str
    classes: int


def class_predictions(built: Built, *, measured: bool = False) -> Iterator[ClassPrediction]:
    """Yield the predictions that a loss compares with single labels of the data.

    With `measured`, also yield those that only other layers compare, such as an accuracy.
    """
    graph, data_edges = built.graph, set(built.input_edges())
    for prediction in (*loss_predictions([graph]), *(measured_predictions(graph) if measured else ())):
        layer, node = built.layers[prediction.place], graph.nodes[prediction.place]
        labels = [
            edge
            for place, edge in enumerate(node.bottoms)
            if edge in data_edges and layer.bottom_kind(place) is BlobKind.LABEL
        ]
        shape = built.shapes[prediction.edges[0]]
        is_vector = len(shape) > 1 and math.prod(shape[2:]) == 1 < shape[1]
        single = next((edge for edge in labels if math.prod(built.shapes[edge]) == shape[0]), None) if shape else None
        if prediction.is_single and is_vector and single is not None:
            yield ClassPrediction(graph.blobs[prediction.edges[0]], graph.blobs[single], shape[1])


def _class_outputs(built: Built) -> dict[str, int]:
    """Return the number of classes in each blob that a loss compares with single labels of the data."""
    return {prediction.blob: prediction.classes for prediction in class_predictions(built)}

"""The predictor runs the predicting layers of a model, from rows of arrays to rows of arrays."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.tables.columns import RowRange
from netdsl.data.tables.table import Arrays
from netdsl.data.transforms.decode import decode
from netdsl.data.transforms.transform import ImageTransform
from netdsl.data.types import Array, Random
from netdsl.errors import DataError, GraphError, ShapeError, WeightsError
from netdsl.layer import Shape
from netdsl.model.deploy.deploy_layers import deploy_layer
from netdsl.model.deploy.predictions import (
    Prediction,
    loss_predictions,
    measured_predictions,
    needed_layers,
    other_outputs,
)
from netdsl.model.model import Model
from netdsl.model.weights.files import allocate_with_weights
from netdsl.net.build import Built, running
from netdsl.net.graph import Graph, Node, Phase, net_of
from netdsl.net.module import NetModule
from netdsl.prediction.net_inputs import NetInput, inputs_of

_NO_COLUMNS: Mapping[str, str] = {}
_BATCH = RowRange("the batch")
_PREDICTION = "(prediction)"  # the name of the layer that replaces a loss


class Predictor:
    """The layers of a model's TEST phase that compute the prediction and the chosen blobs.

    A model without a TEST phase uses TRAIN. Losses are replaced by their predictions, as in deploy nets. A net without
    losses predicts the blob that it measures, or else its only output. Shapes are available at once; calling the
    predictor requires `load`.
    """

    def __init__(self, model: Model, blobs: Collection[str] = (), columns: Mapping[str, str] = _NO_COLUMNS) -> None:
        if not model.graphs:
            raise GraphError(f"net '{model.net.name}' has no layers; add layers, or name the file that contains them")
        graph = model.graphs[0]
        prediction = _prediction(model.graphs)
        ends = {name: graph.edge_of(name) for name in blobs}
        predicted = () if prediction is None else prediction.edges[:1]
        nodes = list(needed_layers(graph, {*ends.values(), *predicted}).items())
        if prediction is not None and prediction.layer is not None:
            predicted = (len(graph.blobs),)
            nodes.append((prediction.place, Node(_named(prediction.layer), prediction.edges, predicted)))
            nodes.sort(key=lambda pair: pair[0])  # after the loss, if that is one of the layers
        self._columns = columns
        self._model = _of_layers(model, [node.layer for _, node in nodes])
        pairs = zip(nodes, self._model.graph(Phase.TEST).nodes, strict=True)
        edges = {old: new for (_, node), made in pairs for old, new in zip(node.tops, made.tops, strict=True)}
        self.outputs = {name: edges[edge] for name, edge in ends.items()}
        self.prediction = edges[predicted[0]] if predicted else None
        self._wanted = sorted({*self.outputs.values(), *(() if self.prediction is None else (self.prediction,))})
        self._module: NetModule | None = None

    def take_items(self, items: Mapping[str, Shape]) -> None:
        """Set the shapes of the items to predict. The net is built when its shapes are needed."""
        if items:
            self._model = self._model.with_items(items)
            vars(self).pop("built", None)

    @cached_property
    def built(self) -> Built:
        """The layers, whose only outputs are the chosen blobs and the prediction."""
        return self._ending_at_outputs(self._model.settled(Phase.TEST).built)

    def _ending_at_outputs(self, built: Built) -> Built:
        return replace(built, graph=replace(built.graph, outputs=self._wanted), shapes=list(built.shapes))

    def load(self, device: torch.device | str = "cpu") -> Predictor:
        """Load the model's weights onto a device. Returns the predictor itself."""
        self._device = torch.device(device)
        self.built = self._ending_at_outputs(self._model.layers(Phase.TEST).with_own_blobs())
        try:
            allocate_with_weights(self.built, self._model.weights, self._device)
        except WeightsError as problem:
            raise WeightsError(
                f"{problem}; give weights for inputs of {self._input_shapes(self.built.shapes)}"
            ) from None
        self._module = NetModule(self.built).allocate(self._device)
        return self

    @cached_property
    def _needed(self) -> set[int]:
        """The edges that layers read, and the edges of the outputs."""
        graph = self._model.graph(Phase.TEST)
        return {*self._wanted, *(edge for node in graph.nodes for edge in node.bottoms)}

    @property
    def input_edges(self) -> list[int]:
        """The edges of the inputs that the layers need."""
        return [edge for edge in self.built.input_edges() if edge in self._needed]

    @cached_property
    def inputs(self) -> list[NetInput]:
        """The inputs that the layers need, with their columns. Their shapes needn't be known."""
        inputs = inputs_of(self._model.graph(Phase.TEST), self._columns)
        return [net_input for net_input in inputs if net_input.edge in self._needed]

    @property
    def batch(self) -> int:
        """The batch size that the net states, or 1 if it states none."""
        return next((self.built.shapes[edge][0] for edge in self.input_edges if self.built.shapes[edge]), 1)

    def values(self, edge: int) -> int:
        """Return the number of values that a blob has for each row."""
        return math.prod(self.built.shapes[edge][1:])

    def classes(self) -> int:
        """Return the number of predicted classes, or 0 if the prediction isn't a vector for each row."""
        shape = () if self.prediction is None else self.built.shapes[self.prediction]
        return shape[1] if shape[:1] == (self.batch,) and len(shape) > 1 and math.prod(shape[2:]) == 1 else 0

    def __call__(self, arrays: Arrays, random: Random, rows: RowRange = _BATCH) -> dict[int, Array]:
        """Return the predicted blobs of some rows of a table, by edge.

        The transforms draw from `random`.
        """
        edges = {net_input.edge: input_tensor(net_input, arrays, random, rows) for net_input in self.inputs}
        count = len(next(iter(edges.values())))
        graph = self.built.graph
        tops = self.run(edges)
        for edge in graph.outputs:
            if tops[edge].shape[:1] != (count,):
                raise ShapeError(
                    f"blob '{graph.blobs[edge]}' has shape {list(tops[edge].shape)} for {count} rows; choose a "
                    "blob whose first axis is the batch"
                )
        return tops

    def run(self, edges: Mapping[int, Tensor]) -> dict[int, Array]:
        """Return the predicted blobs for input values of any shape. Inputs and blobs are given by edge."""
        assert self._module is not None, "call `load` first"
        shapes = {edge: tuple(tensor.shape) for edge, tensor in edges.items()}
        try:
            with torch.no_grad(), running(self.built):
                inputs = {edge: tensor.to(self._device, non_blocking=True) for edge, tensor in edges.items()}
                tops = self._module.run(inputs)
        except ShapeError as problem:
            given, made_for = self._input_shapes(shapes), self._input_shapes(self.built.shapes)
            if given == made_for:
                raise
            raise ShapeError(f"{problem}; give inputs with {made_for} instead of {given}") from None
        return {edge: tops[edge].cpu().numpy() for edge in self.built.graph.outputs}

    def _input_shapes(self, shapes: Mapping[int, Shape] | Sequence[Shape]) -> str:
        """Return the shapes of a row's inputs as text, such as "'data' of 3 x 28 x 28"."""
        edges, blobs = self.input_edges, self.built.graph.blobs
        sizes = {blobs[edge]: " x ".join(map(str, shapes[edge][1:])) or "one number" for edge in edges}
        return ", ".join(f"'{name}' of {size}" for name, size in sizes.items())


def _prediction(graphs: Sequence[Graph]) -> Prediction | None:
    """Return the prediction of a net with these graphs, or `None` if there isn't exactly one candidate."""
    for prediction in (*loss_predictions(graphs), *measured_predictions(graphs[0])):
        if prediction.is_single:
            return prediction
    outputs = other_outputs(graphs)
    return Prediction(len(graphs[0].nodes), tuple(outputs)) if len(outputs) == 1 else None


def _named(layer: pb.LayerParameter) -> pb.LayerParameter:
    """Return the layer that replaces a loss, with a name that no other layer has."""
    named = deploy_layer(layer)
    named.name, named.top[:] = _PREDICTION, [_PREDICTION]
    return named


def _of_layers(model: Model, layers: Sequence[pb.LayerParameter]) -> Model:
    """Return a model that contains only these layers of another model, in phase TEST.

    Returns the same model if these are all of its layers.
    """
    graph = model.graphs[0]
    own = [node.layer for node in graph.nodes]
    if graph.phase is Phase.TEST and len(layers) == len(own) and all(map(_is_of_tests, layers, own)):
        return model
    net = net_of(graph.net, layers)
    for layer in net.layer:
        layer.phase = pb.TEST
    return replace(model, net=net, level=0, stages=())


def _is_of_tests(layer: pb.LayerParameter, own: pb.LayerParameter) -> bool:
    return layer is own and layer.phase == pb.TEST


def input_tensor(net_input: NetInput, arrays: Arrays, random: Random, rows: RowRange) -> Tensor:
    """Return the decoded and transformed values of an input."""
    blob, transform = net_input.blob, net_input.transform
    items = arrays[blob.name]
    if items.dtype != object and (transform is None or transform.constant):
        where = f"column '{blob.column}'"
        values = items if transform is None else _transform(transform, items, random, where)
    else:
        images = list[Array]()
        for row, item in enumerate(items):
            where = rows.place(blob.column, row)
            image = decode(item, blob.color, where) if isinstance(item, bytes) else item
            images.append(image if transform is None else _transform(transform, image, random, where))
        rows.check_shapes(
            blob.column, images, "make all images the same size, or give the layer a crop_size or a resize_param"
        )
        values = np.stack(images)
    return torch.from_numpy(np.require(values, np.float32, ["C", "W"]))


def _transform(transform: ImageTransform, values: Array, random: Random, where: str) -> Array:
    """Return an image after a transform. A transform that doesn't vary can also transform several images at once."""
    if values.ndim < 3:
        raise DataError(
            f"{where}: transform_param needs images of channels, height and width, but a row has shape "
            f"{list(values.shape[-1:])}; give the net an Input layer with a shape, or keep images encoded"
        )
    *several, channels, height, width = values.shape
    try:
        out = np.empty((*several, *transform.shape(channels, height, width)), np.float32)
        transform(values, random, out)
    except DataError as problem:
        raise DataError(f"{where}: {problem}") from None
    return out

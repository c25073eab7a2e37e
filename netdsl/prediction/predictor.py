"""The predictor: a net with weights, which takes rows of arrays and returns rows of arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.tables.columns import RowRange
from netdsl.data.tables.table import Arrays
from netdsl.data.transforms.decode import decode
from netdsl.data.transforms.transform import ImageTransform
from netdsl.data.types import Array, Random
from netdsl.errors import DataError, ShapeError, WeightsError
from netdsl.layer import Shape
from netdsl.model.weights.files import fill_weights
from netdsl.model.weights.match import Weights
from netdsl.net.build import running
from netdsl.net.module import NetModule
from netdsl.prediction.net_inputs import NetInput
from netdsl.prediction.subgraph import prediction_subgraph

_NO_COLUMNS: Mapping[str, str] = {}
_BATCH = RowRange("the batch")


class Predictor:
    """The subgraph of a net that predicts, with its weights."""

    def __init__(
        self,
        net: pb.NetParameter,
        weights: Weights,
        blobs: Collection[str],
        columns: Mapping[str, str] = _NO_COLUMNS,
        device: torch.device | str = "cpu",
    ) -> None:
        self.subgraph = prediction_subgraph(net, blobs)
        self.inputs = self.subgraph.net_inputs(columns)
        self._device = torch.device(device)
        self._module = NetModule(self.subgraph.built).allocate(self._device)
        try:
            fill_weights(self.subgraph.built, weights)
        except WeightsError as problem:
            raise WeightsError(f"{problem}; inputs here are {self._input_shapes(self.subgraph.built.shapes)}") from None

    def __call__(self, arrays: Arrays, random: Random, rows: RowRange = _BATCH) -> dict[int, Array]:
        """The predicted blobs by their edges, for some rows of a table. `random` is for transforms."""
        edges = {net_input.edge: input_tensor(net_input, arrays, random, rows) for net_input in self.inputs}
        count = len(next(iter(edges.values())))
        graph = self.subgraph.built.graph
        tops = self.run(edges)
        for edge in graph.outputs:
            if tops[edge].shape[:1] != (count,):
                raise ShapeError(
                    f"blob '{graph.blobs[edge]}' has shape {list(tops[edge].shape)} for {count} rows; only a blob "
                    "with a value for each row can be a column"
                )
        return tops

    def run(self, edges: Mapping[int, Tensor]) -> dict[int, Array]:
        """The predicted blobs by their edges, of any shapes, for the values of the inputs by theirs."""
        shapes = {edge: tuple(tensor.shape) for edge, tensor in edges.items()}
        try:
            with torch.no_grad(), running(self.subgraph.built):
                inputs = {edge: tensor.to(self._device, non_blocking=True) for edge, tensor in edges.items()}
                tops = self._module.run(inputs)
        except ShapeError as problem:
            given, made_for = self._input_shapes(shapes), self._input_shapes(self.subgraph.built.shapes)
            if given == made_for:
                raise
            raise ShapeError(f"{problem}; inputs have {given}, and the net is made for {made_for}") from None
        return {edge: tops[edge].cpu().numpy() for edge in self.subgraph.built.graph.outputs}

    def _input_shapes(self, shapes: Mapping[int, Shape] | Sequence[Shape]) -> str:
        """The shapes of the inputs of one row, such as: 'data' of 3 x 28 x 28."""
        sizes = {each.blob.name: " x ".join(map(str, shapes[each.edge][1:])) or "one number" for each in self.inputs}
        return ", ".join(f"'{name}' of {size}" for name, size in sizes.items())


def input_tensor(net_input: NetInput, arrays: Arrays, random: Random, rows: RowRange) -> Tensor:
    """The decoded and transformed values of an input."""
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
        rows.check_shapes(blob.column, images, "bring all to one, or give the layer a crop_size or a resize_param")
        values = np.stack(images)
    return torch.from_numpy(np.require(values, np.float32, ["C", "W"]))


def _transform(transform: ImageTransform, values: Array, random: Random, where: str) -> Array:
    """An image after a transform, or several images if the transform does the same to all."""
    if values.ndim < 3:
        raise DataError(
            f"{where}: transform_param is for images of channels, height and width, and a row has shape "
            f"{list(values.shape[-1:])}; give the net an Input layer with a shape, or keep images encoded"
        )
    *several, channels, height, width = values.shape
    try:
        out = np.empty((*several, *transform.shape(channels, height, width)), np.float32)
        transform(values, random, out)
    except DataError as problem:
        raise DataError(f"{where}: {problem}") from None
    return out

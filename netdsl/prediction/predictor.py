"""A net that is ready to predict: rows of arrays in, rows of arrays out."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.decode import decode
from netdsl.data.transforms.transform import ImageTransform
from netdsl.data.types import Array, Random
from netdsl.deploy.subgraph import prediction_subgraph
from netdsl.errors import DataError, ShapeError, WeightsError
from netdsl.net.build import Built, running
from netdsl.net.module import NetModule
from netdsl.prediction.net_inputs import NetInput
from netdsl.tables.binding import Arrays
from netdsl.tables.columns import RowRange
from netdsl.weights.files import copy_weights
from netdsl.weights.match import Weights

_NO_COLUMNS: Mapping[str, str] = {}
_BATCH = RowRange("the batch")


class Predictor:
    """The part of a net that predicts, with its weights."""

    def __init__(
        self,
        net: pb.NetParameter,
        weights: Weights,
        blobs: Collection[str],
        columns: Mapping[str, str] = _NO_COLUMNS,
    ) -> None:
        self.head = prediction_subgraph(net, blobs)
        self.inputs = self.head.needed(columns)
        self._module = NetModule(self.head.built).allocate()
        fill_weights(self.head.built, weights)

    def __call__(self, arrays: Arrays, random: Random, rows: RowRange = _BATCH) -> dict[int, Array]:
        """The predicted blobs by their edges, for these rows of a table. Chance in transforms is what `random` says."""
        edges = {net_input.edge: input_tensor(net_input, arrays, random, rows) for net_input in self.inputs}
        count = len(next(iter(edges.values())))
        graph = self.head.built.graph
        with torch.no_grad(), running(self.head.built):
            tops = self._module.run(edges)
        for edge in graph.outputs:
            if tops[edge].shape[:1] != (count,):
                raise ShapeError(
                    f"blob '{graph.blobs[edge]}' has shape {list(tops[edge].shape)} for {count} rows; only what has a "
                    "value for each row can be a column"
                )
        return {edge: tops[edge].numpy() for edge in graph.outputs}


def fill_weights(built: Built, weights: Weights) -> None:
    """Copy weights into a net, which must have weights for all that learns."""
    missing = copy_weights(built, weights).missing
    if missing:
        layers = ", ".join(map(repr, missing))
        raise WeightsError(f"there are no weights for layer {layers}; name the file that has them")


def input_tensor(net_input: NetInput, arrays: Arrays, random: Random, rows: RowRange) -> Tensor:
    """The values of a blob as the net takes them: decoded and transformed."""
    blob, transform = net_input.blob, net_input.transform
    items = arrays[blob.name]
    if items.dtype != object and (transform is None or transform.constant):
        where = f"column '{blob.column}'"
        values = items if transform is None else _transformed(transform, items, random, where)
    else:
        images = list[Array]()
        for row, item in enumerate(items):
            where = rows.place(blob.column, row)
            image = decode(item, blob.color, where) if isinstance(item, bytes) else item
            images.append(image if transform is None else _transformed(transform, image, random, where))
        rows.check_shapes(blob.column, images, "bring all to one, or give the layer a crop_size or a resize_param")
        values = np.stack(images)
    return torch.from_numpy(np.require(values, np.float32, ["C", "W"]))


def _transformed(transform: ImageTransform, values: Array, random: Random, where: str) -> Array:
    """An image after a transform, or several if it does the same to all."""
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

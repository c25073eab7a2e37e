"""A net that is ready to predict: rows of arrays in, rows of arrays out."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import ImageTransform, Random
from netdsl.data.sources.source import Array
from netdsl.data.transforms.decode import decode
from netdsl.deploy.subgraph import prediction_subgraph
from netdsl.errors import DataError, ShapeError, WeightsError
from netdsl.net.build import Built, running
from netdsl.net.module import NetModule
from netdsl.prediction.blobs import Arrays, NetInput
from netdsl.weights.files import copy_weights
from netdsl.weights.match import Weights

_NO_COLUMNS: Mapping[str, str] = {}


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
        filled(self.head.built, weights)

    def __call__(self, arrays: Arrays, random: Random) -> dict[int, Array]:
        """The wanted blobs by their edges. Chance, where a transform wants it, is what `random` says."""
        edges = {each.edge: tensor_of(each, arrays[each.blob.name], random) for each in self.inputs}
        rows = len(next(iter(edges.values())))
        graph = self.head.built.graph
        with torch.no_grad(), running(self.head.built):
            made = self._module.run(edges)
        for edge in graph.outputs:
            if made[edge].shape[:1] != (rows,):
                raise ShapeError(
                    f"blob '{graph.blobs[edge]}' has shape {list(made[edge].shape)} for {rows} rows; only what has a "
                    "value for each row can be a column"
                )
        return {edge: made[edge].numpy() for edge in graph.outputs}


def filled(built: Built, weights: Weights) -> None:
    """Copy weights into a net, which must have weights for all that learns."""
    missing = copy_weights(built, weights).missing
    if missing:
        layers = ", ".join(map(repr, missing))
        raise WeightsError(f"there are no weights for layer {layers}; name the file that has them")


def tensor_of(given: NetInput, values: Array, random: Random) -> Tensor:
    """Rows as the net takes them: decoded and transformed."""
    transform, where = given.transform, f"blob '{given.blob.name}'"
    if values.dtype != object and (transform is None or transform.constant):
        made = values if transform is None else _transformed(transform, values, random, where)
    else:
        images = [decode(value, given.color, where) if isinstance(value, bytes) else value for value in values]
        rows = [image if transform is None else _transformed(transform, image, random, where) for image in images]
        if len({row.shape for row in rows}) > 1:
            raise DataError(f"{where}: images of different sizes; bring them to one, or give the layer a crop_size")
        made = np.stack(rows)
    return torch.from_numpy(np.require(made, np.float32, ["C", "W"]))


def _transformed(transform: ImageTransform, values: Array, random: Random, where: str) -> Array:
    """An image, or several for a transform that does the same to all."""
    if values.ndim < 3:
        raise DataError(
            f"{where}: transform_param is for images of channels, height and width, and a row has shape "
            f"{list(values.shape[-1:])}; give the net an Input layer with a shape, or keep images encoded"
        )
    *several, channels, height, width = values.shape
    out = np.empty((*several, *transform.shape(channels, height, width)), np.float32)
    transform(values, random, out)
    return out

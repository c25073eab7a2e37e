"""A net that is ready to predict: rows of arrays in, rows of arrays out."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.build import running
from netdsl.data.decode import decode
from netdsl.data.reading import ImageTransform, Random
from netdsl.data.source import Array
from netdsl.distributed.spark.blobs import Arrays, Input, inputs_of
from netdsl.distributed.spark.head import head_of
from netdsl.errors import DataError, ShapeError
from netdsl.module import NetModule
from netdsl.snapshot import load_file

_NO_COLUMNS: Mapping[str, str] = {}


class Predictor:
    """The part of a net that predicts, with weights: the bytes of a caffemodel."""

    def __init__(
        self, net: pb.NetParameter, weights: bytes, blobs: Collection[str], columns: Mapping[str, str] = _NO_COLUMNS
    ) -> None:
        self.head = head_of(net, blobs)
        self.inputs = [each for each in inputs_of(self.head.built, columns) if each.edge in self.head.inputs]
        self._module = NetModule(self.head.built).allocate()
        with TemporaryDirectory() as folder:
            path = Path(folder, "weights.caffemodel")
            path.write_bytes(weights)
            load_file(self.head.built, path)

    def __call__(self, arrays: Arrays, random: Random) -> dict[int, Array]:
        """The wanted blobs by their edges. Chance, where a transform wants it, is what `random` says."""
        edges = {each.edge: _tensor(each, arrays[each.blob.name], random) for each in self.inputs}
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


def _tensor(given: Input, values: Array, random: Random) -> Tensor:
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
        raise DataError(f"{where}: transform_param is for images of channels, height and width")
    *several, channels, height, width = values.shape
    out = np.empty((*several, *transform.shape(channels, height, width)), np.float32)
    transform(values, random, out)
    return out

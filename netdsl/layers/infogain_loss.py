"""InfogainLoss: a softmax loss weighted by a matrix over pairs of classes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read
from netdsl.errors import NetError, ShapeError
from netdsl.layer import OnnxGraph, Shape
from netdsl.layer.onnx_form import clamped, reduced, reshaped, transposed
from netdsl.layers._loss import IGNORE, ClassLoss, cut_off, within

_LEAST = math.log(1e-20)  # Caffe's smallest probability, kLOG_THRESHOLD


class InfogainLoss(ClassLoss):
    """Computes -sum of H[label, k] * log softmax(x)[k] over all classes k.

    H is the third bottom or is read from a file.
    """

    config = pb.InfogainLossParameter
    bottoms = (2, 3)
    no_gradient = (1, 2)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms, layer.infogain_loss_param.axis)
        if layer.loss_param.HasField("normalize"):
            raise NetError(
                "`normalize` isn't supported in this type; write normalization: VALID, or BATCH_SIZE for normalize: "
                "false"
            )
        matrix = None if len(bottoms) == 3 else _read_matrix(layer.infogain_loss_param)
        self.axes, self.classes = len(bottoms[0]), bottoms[0][self.axis]
        shape, classes = bottoms[2] if matrix is None else tuple(matrix.shape), self.classes
        if math.prod(shape) != classes**2:
            raise ShapeError(
                f"{classes} classes need a matrix of {classes} x {classes}, but this one has shape "
                f"{list(shape)}; name a .binaryproto file with such a matrix in `source`, or connect it as the "
                "third bottom"
            )
        self.register_buffer("matrix", matrix, persistent=False)

    def losses(self, log: Tensor, classes: Tensor, *more: Tensor) -> Tensor:
        matrix = more[0] if self.matrix is None else self.matrix.to(log)
        count = log.shape[self.axis]
        worth = matrix.reshape(count, -1)[within(classes, count, IGNORE)]
        return -(worth * cut_off(log, least=_LEAST).movedim(self.axis, -1)).sum(-1)

    def losses_onnx(self, g: OnnxGraph, log: str, classes: str, *more: str) -> str:
        matrix = more[0] if self.matrix is None else g.constant(self.matrix.numpy())
        worth = g.node("Gather", reshaped(g, matrix, self.classes, self.classes), classes)
        order = [axis for axis in range(self.axes) if axis != self.axis]
        last = transposed(g, clamped(g, log, _LEAST, math.inf), *order, self.axis)
        return g.node("Neg", reduced(g, "ReduceSum", g.node("Mul", worth, last), [-1], keep=False))


def _read_matrix(p: pb.InfogainLossParameter) -> Tensor:
    if not p.HasField("source"):
        raise NetError("the matrix is missing; add a third bottom, or set source in infogain_loss_param")
    file = read(p.source, pb.BlobProto)
    assert isinstance(file.message, pb.BlobProto)
    return torch.from_numpy(np.array(file.blobs.array(file.message), np.float32))

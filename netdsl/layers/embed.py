"""Embed: a learned vector for each whole number."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, new_blob, positive
from netdsl.layer.onnx_form import whole
from netdsl.layer.samples import BlobKind
from netdsl.layers._loss import indices_of


class Embed(HasOnnxForm):
    """Outputs the row of the weights that each value of the bottom selects, plus a bias."""

    config = pb.EmbedParameter
    blobs = ("weight", "bias")
    no_gradient = (0,)
    bottom_kinds = (BlobKind.LABEL,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.embed_param
        inputs, outputs = positive(p, "input_dim"), positive(p, "num_output")
        self.weight = new_blob(p.weight_filler, (inputs, outputs))
        self.bias = new_blob(p.bias_filler, (outputs,)) if p.bias_term else None

    def forward(self, x: Tensor) -> Tensor:
        y = F.embedding(indices_of(x, len(self.weight), "rows", "raise input_dim"), self.weight)
        return y if self.bias is None else y + self.bias

    def onnx(self, g: OnnxGraph, x: str) -> str:
        y = g.node("Gather", g.blob(self, "weight"), whole(g, x))
        return y if self.bias is None else g.node("Add", y, g.blob(self, "bias"))

"""RNN: a plain recurrent network."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import OnnxGraph, Shape, new_blob
from netdsl.layer.onnx_form import transposed
from netdsl.layers._recurrent import Recurrent


class RNN(Recurrent):
    """Computes h = tanh(W_hh h' + W_xh x + b_h) for each step. The top is tanh(W_ho h + b_o)."""

    blobs = ("weight_x", "bias", "weight_static", "weight_h", "weight_o", "bias_o")
    bottoms = (2, 4)
    tops = (1, 2)
    states = ("hidden",)
    gates = 1

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.recurrent_param
        self.weight_o = new_blob(p.weight_filler, (p.num_output, p.num_output))
        self.bias_o = new_blob(p.bias_filler, (p.num_output,))

    def unroll(self, inputs: Tensor, cont: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        (hidden,) = states
        weight = self.weight_h.t()
        steps = []
        for step, goes_on in zip(inputs.unbind(), cont.unbind(), strict=True):
            hidden = torch.addmm(step, hidden * goes_on, weight).tanh()
            steps.append(hidden)
        return F.linear(torch.stack(steps), self.weight_o, self.bias_o).tanh(), [hidden]

    def unroll_onnx(self, g: OnnxGraph, steps: Sequence[tuple[str, str]], states: list[str]) -> tuple[str, list[str]]:
        (hidden,) = states
        weight, hidden_states = transposed(g, g.blob(self, "weight_h"), 1, 0), []
        for step, goes_on in steps:
            kept = g.node("MatMul", g.node("Mul", hidden, goes_on), weight)
            hidden = g.node("Tanh", g.node("Add", step, kept))
            hidden_states.append(hidden)
        every = g.node("Concat", *hidden_states, axis=0)
        out = g.node("MatMul", every, transposed(g, g.blob(self, "weight_o"), 1, 0))
        return g.node("Tanh", g.node("Add", out, g.blob(self, "bias_o"))), [hidden]

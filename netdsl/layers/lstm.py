"""LSTM: long short-term memory over a sequence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from netdsl.layer import OnnxGraph
from netdsl.layer.onnx_form import transposed
from netdsl.layers._recurrent import Recurrent, lstm_step, lstm_step_onnx


class LSTM(Recurrent):
    """Four gates decide what a cell takes in, keeps and gives out; the top is the hidden state of every step."""

    blobs = ("weight_x", "bias", "weight_static", "weight_h")
    bottoms = (2, 5)
    tops = (1, 3)
    states = ("hidden", "cell")
    gates = 4

    def unroll(self, inputs: Tensor, cont: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        hidden, cell = states
        weight = self.weight_h.t()
        tops = []
        for step, goes_on in zip(inputs.unbind(), cont.unbind(), strict=True):
            hidden, cell = lstm_step(torch.addmm(step, hidden * goes_on, weight), cell * goes_on)
            tops.append(hidden)
        return torch.stack(tops), [hidden, cell]

    def unroll_onnx(self, g: OnnxGraph, steps: Sequence[tuple[str, str]], states: list[str]) -> tuple[str, list[str]]:
        hidden, cell = states
        weight, tops = transposed(g, g.blob(self, "weight_h"), 1, 0), []
        for step, goes_on in steps:
            kept = g.node("MatMul", g.node("Mul", hidden, goes_on), weight)
            gates = g.node("Add", step, kept)
            hidden, cell = lstm_step_onnx(g, gates, g.node("Mul", cell, goes_on))
            tops.append(hidden)
        return g.node("Concat", *tops, axis=0), [hidden, cell]

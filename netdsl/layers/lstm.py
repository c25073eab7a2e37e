"""LSTM: long short-term memory over a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from netdsl.layer import OnnxGraph
from netdsl.layer.onnx_form import transposed
from netdsl.layers._recurrent import Recurrent, lstm_step, lstm_step_onnx

_WORTHWHILE = 5  # steps per sequence; for shorter ones, torch's LSTM was slower than single steps


class LSTM(Recurrent):
    """Computes an LSTM over a sequence. The top is the hidden state of each step."""

    blobs = ("weight_x", "bias", "weight_static", "weight_h")
    bottoms = (2, 5)
    tops = (1, 3)
    states = ("hidden", "cell")
    gates = 4

    def all_steps(
        self, x: Tensor, static: Tensor | None, cont: Tensor, states: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Return the result of torch's own LSTM where it is faster and equal, and otherwise that of `unroll`.

        torch's LSTM doesn't support cont, so it runs once for each sequence in the batch. Finding their starts would
        wait for a GPU and isn't possible for torch's compiler, so that the steps are unrolled there. They are also
        unrolled with autocast, which would reduce torch's cell state to two bytes.
        """
        unrolled = torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu")
        stretches = _stretches(cont) if x.is_cpu and not unrolled else []
        if not stretches or len(stretches) * _WORTHWHILE > len(x):
            return super().all_steps(x, static, cont, states)
        params, parts = self._params_of_torch(), []
        if static is not None:
            x = torch.cat([x, static.expand(len(x), -1, -1)], 2)
        for stretch in stretches:
            first = [(state * cont[stretch.start]).unsqueeze(0) for state in states]
            part, *last = torch.lstm(x[stretch], first, params, True, 1, 0.0, torch.is_grad_enabled(), False, False)
            parts.append(part)
            states = [state[0] for state in last]
        return torch.cat(parts), states

    def _params_of_torch(self) -> list[Tensor]:
        """Return the blobs in torch's order of gates: input, forget, candidate, output.

        torch has two biases. The second one is 0.
        """
        weight_x = self.weight_x if self.weight_static is None else torch.cat([self.weight_x, self.weight_static], 1)
        params = []
        for blob in (weight_x, self.weight_h, self.bias):
            i, f, o, candidate = blob.chunk(4)
            params.append(torch.cat([i, f, candidate, o]))
        return [*params, torch.zeros_like(self.bias)]

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


def _stretches(cont: Tensor) -> list[slice]:
    """Return ranges of steps in which only the first step may have a cont other than 1."""
    starts = [0, *(1 + (cont[1:] != 1).flatten(1).any(1).nonzero().flatten()).tolist()]
    return [slice(*ends) for ends in pairwise([*starts, len(cont)])]

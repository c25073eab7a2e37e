"""The shared code of recurrent layers: their bottoms, the state that they keep, and the step of an LSTM."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, new_blob, positive
from netdsl.layer.onnx_form import reshaped
from netdsl.layer.running import KeepsState
from netdsl.layers._settings import refuse


class Recurrent(KeepsState, HasOnnxForm):
    """A recurrent layer over bottoms x (T x N x ...), cont (T x N) and an optional static input (N x ...).

    With `expose_hidden`, the states are further bottoms and tops. Where cont is 0, a sequence begins and the layer
    forgets its state. A layer that doesn't expose its states keeps them from one batch to the next, as in Caffe.
    Gradients never pass from batch to batch.
    """

    config = pb.RecurrentParameter
    no_gradient = (1,)
    states: ClassVar[tuple[str, ...]]  # in Caffe's order
    gates: ClassVar[int]  # rows of the weights for each output

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.recurrent_param
        refuse(p, "forget_bias", "tf_rnn")
        self.outputs, self.exposed = positive(p, "num_output"), p.expose_hidden
        self.has_static = self._check_bottoms(bottoms)
        rows = self.gates * p.num_output
        self.weight_x = new_blob(p.weight_filler, (rows, math.prod(bottoms[0][2:])))
        self.bias = new_blob(p.bias_filler, (rows,))
        self.weight_static = new_blob(p.weight_filler, (rows, math.prod(bottoms[2][1:]))) if self.has_static else None
        self.weight_h = new_blob(p.weight_filler, (rows, p.num_output))
        for name in self.states:
            self.register_buffer(name, torch.zeros(1, bottoms[0][1], p.num_output), persistent=False)

    def _check_bottoms(self, bottoms: Sequence[Shape]) -> bool:
        """Check the bottoms and tops, and return whether there is a static input."""
        exposed = len(self.states) * self.exposed
        kept = f", {' and '.join(self.states)}" if exposed else ""
        if len(bottoms) - exposed not in (2, 3) or len(self.layer.top) != 1 + exposed:
            signature = (
                f"bottoms x, cont{kept} and at most a static input, and {1 + exposed} top{'s' if exposed else ''}"
            )
            raise NetError(
                f"the layer needs {signature}, but has {len(bottoms)} bottoms and {len(self.layer.top)} tops; "
                "set `bottom` and `top` to these"
            )
        has_static = len(bottoms) > 2 + exposed
        x, cont = bottoms[:2]
        if len(x) < 3 or cont != x[:2]:
            raise ShapeError(
                f"x must be T x N x ... and cont T x N, but they are {list(x)} and {list(cont)}; change them "
                "with Reshape layers, T being the number of steps and N that of streams"
            )
        if has_static and (len(bottoms[2]) < 2 or bottoms[2][0] != x[1]):
            raise ShapeError(
                f"the static input must be {x[1]} x ..., but it is {list(bottoms[2])}; give it a row for each of "
                f"the {x[1]} streams"
            )
        for name, shape in zip(self.states, bottoms[2 + has_static :], strict=False):
            if shape != (1, x[1], self.outputs):
                raise ShapeError(
                    f"the first {name} state must be {[1, x[1], self.outputs]}, but it is {list(shape)}; change "
                    "it with a Reshape layer, or set num_output to its length"
                )
        return has_static

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes without running the layer, which would unroll all time steps."""
        steps, items = bottoms[0][:2]
        return [(steps, items, self.outputs), *[(1, items, self.outputs)] * (len(self.layer.top) - 1)]

    def forward(self, x: Tensor, cont: Tensor, *more: Tensor) -> Tensor | tuple[Tensor, ...]:
        first = [state.detach() for state in more[self.has_static :]] if self.exposed else self._kept(x)
        static = more[0].flatten(1) if self.has_static else None
        top, last = self.all_steps(x.flatten(2), static, cont.unsqueeze(-1), [state[0] for state in first])
        last = [state.detach().unsqueeze(0) for state in last]
        if self.exposed:
            return (top, *last)
        for name, state in zip(self.states, last, strict=True):
            self._put(name, state)
        return top

    def all_steps(
        self, x: Tensor, static: Tensor | None, cont: Tensor, states: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Return the top and the last states, given the states before. One matrix product adds the inputs of all
        steps."""
        inputs = F.linear(x, self.weight_x, self.bias)
        if static is not None and self.weight_static is not None:
            inputs = inputs + F.linear(static, self.weight_static)
        return self.unroll(inputs, cont, states)

    def onnx(self, g: OnnxGraph, x: str, cont: str, *more: str) -> str | tuple[str, ...]:
        """Write all time steps in ONNX operators.

        States that aren't exposed start at 0, because an ONNX model keeps no state.
        """
        steps, items = g.length(x, 0), g.length(x, 1)
        inputs = self._added_onnx(g, "weight_x", x, steps, items, bias=True)
        if self.has_static:
            inputs = g.node(
                "Add", inputs, self._added_onnx(g, "weight_static", more[0], 1, g.length(more[0], 0), bias=False)
            )
        zero = np.zeros((1, items, self.outputs), np.float32)
        first = list(more[self.has_static :]) if self.exposed else [g.constant(zero) for _ in self.states]
        goes_on = g.node("Unsqueeze", cont, g.constant([-1]))
        each = g.constant([1] * steps)
        parts = [g.nodes("Split", value, each, outputs=steps, axis=0) for value in (inputs, goes_on)]
        top, last = self.unroll_onnx(g, list(zip(*parts, strict=True)), first)
        return (top, *last) if self.exposed else top

    def _added_onnx(self, g: OnnxGraph, weight: str, x: str, steps: int, items: int, *, bias: bool) -> str:
        """Return the contribution of a bottom to the gates of each step."""
        rows = reshaped(g, x, steps * items, -1)
        y = g.node("Gemm", rows, g.blob(self, weight), *([g.blob(self, "bias")] if bias else []), transB=1)
        return reshaped(g, y, steps, items, -1)

    def unroll_onnx(self, g: OnnxGraph, steps: Sequence[tuple[str, str]], states: list[str]) -> tuple[str, list[str]]:
        """Write `unroll` in ONNX operators. Each step has the inputs' contribution and the value of cont."""
        raise NotImplementedError

    def unroll(self, inputs: Tensor, cont: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Return the top and the last states of all time steps, given the inputs' contributions and the states
        before."""
        raise NotImplementedError

    def reset(self) -> None:
        """Forget the states."""
        self.keep({name: torch.zeros_like(state) for name, state in self.kept().items()})

    def kept(self) -> dict[str, Tensor]:
        """Return the states after the last batch. The result is empty if the states are exposed."""
        return {} if self.exposed else {name: getattr(self, name) for name in self.states}

    def keep(self, state: Mapping[str, Tensor]) -> None:
        """Continue from these states."""
        for name, before in self.kept().items():
            self._put(name, state[name].to(before.device))

    def _put(self, name: str, state: Tensor) -> None:
        """Store a state, in the memory of the previous one if it fits, where a recorded GPU step reads it."""
        before = getattr(self, name)
        fits = (before.shape, before.dtype, before.device) == (state.shape, state.dtype, state.device)
        if fits and not before.is_inference():
            before.copy_(state)
        else:
            setattr(self, name, state)

    def follow(self, sequences: Sequence[int]) -> None:
        """Continue with the states of these sequences."""
        self.keep({name: state[:, list(sequences)] for name, state in self.kept().items()})

    def _kept(self, x: Tensor) -> list[Tensor]:
        """Return the states after the last batch, or zeros if that batch had another size or device."""
        states = [getattr(self, name) for name in self.states]
        fit = all(state.shape[1] == x.shape[1] and state.device == x.device for state in states)
        if not fit:
            return [x.new_zeros(1, x.shape[1], self.outputs) for _ in states]
        # The backward pass reads the copy after the state is overwritten.
        return [state.to(x.dtype, copy=True) for state in states]


def lstm_step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Return the new hidden and cell states. Caffe orders the gates as input, forget, output, candidate."""
    size = cell.shape[-1]
    i, f, o = gates[..., : 3 * size].sigmoid().chunk(3, -1)
    cell = torch.addcmul(f * cell, i, gates[..., 3 * size :].tanh())
    return o * cell.tanh(), cell


def lstm_step_onnx(g: OnnxGraph, gates: str, cell: str) -> tuple[str, str]:
    """Write `lstm_step` in ONNX operators."""
    i, f, o, candidate = g.nodes("Split", gates, outputs=4, axis=-1, num_outputs=4)
    i, f, o = (g.node("Sigmoid", gate) for gate in (i, f, o))
    taken = g.node("Mul", i, g.node("Tanh", candidate))
    cell = g.node("Add", g.node("Mul", f, cell), taken)
    return g.node("Mul", o, g.node("Tanh", cell)), cell

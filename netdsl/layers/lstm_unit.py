"""LSTMUnit: one step of an LSTM, without its weights."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layers._recurrent import lstm_step, lstm_step_onnx


class LSTMUnit(HasOnnxForm):
    """Computes the new cell and hidden state from the cell (1 x N x D), the raw gates (1 x N x 4D) and cont (1 x N).

    The gradient is Caffe's on a GPU. Caffe's on a CPU differs for the forget gate if cont is neither 0 nor 1.
    """

    bottoms = (3, 3)
    tops = (2, 2)
    no_gradient = (2,)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        cell, gates, cont = bottoms
        if len(cell) != 3 or cell[0] != 1 or gates != (1, cell[1], 4 * cell[2]) or cont != cell[:2]:
            shapes = ", ".join(str(list(shape)) for shape in bottoms)
            raise ShapeError(
                f"the bottoms must be 1 x N x D, 1 x N x 4D and 1 x N, but their shapes are {shapes}; set "
                "num_output of the layer before it to four times the hidden size, and change the shapes with "
                "Reshape layers"
            )

    def forward(self, cell: Tensor, gates: Tensor, cont: Tensor) -> tuple[Tensor, Tensor]:
        hidden, cell = lstm_step(gates, cell * cont.unsqueeze(-1))
        return cell, hidden

    def onnx(self, g: OnnxGraph, cell: str, gates: str, cont: str) -> tuple[str, str]:
        goes_on = g.node("Unsqueeze", cont, g.constant([-1]))
        hidden, cell = lstm_step_onnx(g, gates, g.node("Mul", cell, goes_on))
        return cell, hidden

"""MarginInnerProduct: SphereFace's inner product, with a margin for the angle to the true class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ShapeError
from netdsl.layer import Layer, Shape, axis_of, new_blob, positive
from netdsl.layers._loss import MORE_OUTPUTS, classes_of, within


class MarginInnerProduct(Layer):
    """Computes |x| cos(angle) between the bottom and the weights of each class, with a margin for the label's class.

    For the label, the value is (lambda * |x| cos(angle) + |x| psi(angle)) / (1 + lambda). Psi is cos(m * angle),
    changed so that it always falls. `type` sets m to 1, 2, 3 or 4. Lambda, the second top, falls with the number of
    forward passes: it is base * (1 + gamma * passes) ^ -power, but at least lambda_min. As in Caffe, each pass
    normalizes the weight's rows to length 1. The gradient is also Caffe's own: the margin changes only its direction
    for the label's class, and the weight's gradient is that of a plain inner product.
    """

    config = pb.MarginInnerProductParameter
    blobs = ("weight",)
    bottoms = (2, 2)
    tops = (1, 2)
    no_gradient = (1,)
    passes: Tensor

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.margin_inner_product_param
        self.axis = axis_of(p.axis, len(bottoms[0]))
        rows = math.prod(bottoms[0][: self.axis])
        outputs = positive(p, "num_output")
        if math.prod(bottoms[1]) != rows:
            raise ShapeError(f"there are {math.prod(bottoms[1])} labels for {rows} vectors; give one for each")
        self.times, self.count = p.type + 1, len(layer.top)
        self.base, self.gamma, self.power, self.least = p.base, p.gamma, p.power, p.lambda_min
        self.weight = new_blob(p.weight_filler, (outputs, math.prod(bottoms[0][self.axis :])))
        self.register_buffer("passes", torch.tensor(float(p.iteration)), persistent=False)

    def allocate(self, device: torch.device | str, done: dict[int, Tensor]) -> None:
        super().allocate(device, done)
        self.passes = self.passes.to(device)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        return [(*bottoms[0][: self.axis], self.weight.shape[0]), (1,)][: self.count]

    def forward(self, x: Tensor, label: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        with torch.no_grad():
            self.passes += 1
            weigh = (self.base * (1 + self.gamma * self.passes).pow(-self.power)).clamp(min=self.least)
            self.weight.div_(self.weight.norm(dim=1, keepdim=True))
        vectors = x.flatten(self.axis)
        flat = vectors.reshape(-1, vectors.shape[-1])
        if self.times == 1:
            top = F.linear(flat, self.weight)
        else:
            classes = within(classes_of(label.flatten(), self.layer), len(self.weight), MORE_OUTPUTS)
            top = _Margin.apply(flat, self.weight, classes, weigh, self.times)  # type: ignore[no-untyped-call]
        top = top.view(*x.shape[: self.axis], -1)
        return (top, weigh.view(1)) if self.count == 2 else top


class _Margin(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, label: Tensor, weigh: Tensor, times: int) -> Tensor:
        top = F.linear(x, weight)
        rows = torch.arange(len(x), device=x.device)
        length = x.norm(dim=1)
        cosine = top[rows, label] / length
        psi, psi_slope = _psi(cosine, times)
        top[rows, label] = (top[rows, label] * weigh + length * psi) / (1 + weigh)
        # d(|x| psi)/dx is psi' w + (psi - psi' cos) x / |x|. Caffe keeps only the direction.
        along_weight, along_x = psi_slope, (psi - psi_slope * cosine) / length
        size = (along_weight.square() + along_x.square()).sqrt()
        ctx.save_for_backward(x, weight, label, weigh, along_weight / size, along_x / size)
        return top

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (top,) = grads
        x, weight, label, weigh, along_weight, along_x = ctx.saved_tensors
        mine = top.gather(1, label[:, None]) / (1 + weigh)
        turned = (along_weight - 1)[:, None] * weight[label] + along_x[:, None] * x
        return top @ weight + mine * turned, top.t() @ x, None, None, None


def _psi(cosine: Tensor, times: int) -> tuple[Tensor, Tensor]:
    """Return a falling variant of cos(times * angle), and its derivative in cos.

    Each piece has its sign changed and an offset added so that the function falls monotonically.
    """
    sign = cosine.sign()
    if times == 2:
        return 2 * sign * cosine**2 - 1, 4 * sign * cosine
    if times == 3:
        turn = (cosine.abs() - 0.5).sign()
        return turn * (4 * cosine**3 - 3 * cosine) + sign * (1 + turn) - 2, turn * (12 * cosine**2 - 3)
    turn = sign * (2 * cosine**2 - 1).sign()
    value = turn * (8 * cosine**4 - 8 * cosine**2 + 1) + 2 * sign + turn - 3
    return value, turn * (32 * cosine**3 - 16 * cosine)

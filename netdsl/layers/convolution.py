"""Convolution: a bank of learned filters that slides over the input."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from caffe_proto.copies import copy_of
from netdsl.errors import ShapeError
from netdsl.layer import Shape
from netdsl.layer.deploying import AbsorbsPreparation, NewLayer
from netdsl.layers._window import Convolving

_CONVOLVE = (F.conv1d, F.conv2d, F.conv3d)


class Convolution(Convolving, AbsorbsPreparation):
    """Convolves the bottom with learned filters and adds a bias.

    At each position, a filter's value is the sum of its products with a window of the bottom.
    """

    operator = "Conv"

    def filters(self, channels: int, outputs: int) -> tuple[int, int]:
        return outputs, channels // self.group

    def scaled(self, factor: Tensor) -> Tensor:
        return self.weight * factor.view(-1, *[1] * (self.weight.dim() - 1))

    def with_preparation(self, order: Sequence[int], shift: Tensor) -> NewLayer | None:
        """Return the layer that also prepares images, or `None` if zero padding makes the added numbers impossible."""
        padded = self.window.same or any(self.window.begin + self.window.end)
        if self.axis != 1 or self.group > 1 or len(self.layer.top) > 1 or (padded and shift.any()):
            return None
        made = copy_of(self.layer)
        weight = torch.empty_like(self.weight)
        weight[:, list(order)] = self.weight
        if self.bias is None and not shift.any():
            return made, [weight]
        made.convolution_param.ClearField("bias_term")
        bias = self.weight.flatten(2).sum(2) @ shift
        return made, [weight, bias if self.bias is None else self.bias + bias]

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes of the tops, which follow from the bottoms and the window.

        On meta tensors, torch would load its shape compiler for this.
        """
        return [self._top_shape(bottom) for bottom in bottoms]

    def _top_shape(self, bottom: Shape) -> Shape:
        self.check_channels(bottom)
        sizes = bottom[self.axis + 1 :]
        w = self.window.on(sizes)
        padded = [sum(ends) for ends in zip(sizes, w.begin, w.end, strict=False)]
        if any(size < extent for size, extent in zip(padded, w.extent, strict=False)):
            raise ShapeError(
                f"the kernel covers {list(w.extent)}, but the padded bottom has only {padded}; lower kernel_size or "
                "raise pad"
            )
        places = [(size - extent) // step + 1 for size, extent, step in zip(padded, w.extent, w.stride, strict=False)]
        return *bottom[: self.axis], len(self.weight), *places

    def slide(self, x: Tensor, weight: Tensor) -> Tensor:
        w = self.window.on(x.shape[2:])
        pad = w.begin
        if not w.symmetric:
            x, pad = F.pad(x, w.padding), (0,) * len(pad)
        return _CONVOLVE[len(pad) - 1](x, weight, self.bias, w.stride, pad, w.dilation, self.group)

"""What Convolution and Deconvolution have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of, new_blob, positive
from netdsl.layer.folding import AbsorbsAffine, NewLayer
from netdsl.layer.onnx_form import UNKNOWN, reshaped
from netdsl.layer.overwriting import Reads, ReadsInBackward
from netdsl.layer.running import MakesNewMemory, PrefersChannelsLast
from netdsl.layers._window import convolution_window


class Convolving(AbsorbsAffine, HasOnnxForm, MakesNewMemory, PrefersChannelsLast, ReadsInBackward):
    """Filters that move over all axes after the channels. Every bottom has a top; all use the same filters."""

    config = pb.ConvolutionParameter
    blobs = ("weight", "bias")
    bottoms = (1, None)
    tops = (1, None)
    any_layout = True
    operator: ClassVar[str]  # in ONNX
    depthwise: ClassVar[bool] = False  # whether every channel is a group

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.convolution_param
        self.axis = axis_of(p.axis, len(bottoms[0]))
        self.spatial = len(bottoms[0]) - self.axis - 1
        self.channels = channels = bottoms[0][self.axis]
        self.group = channels if self.depthwise else p.group
        outputs = channels if self.depthwise and not p.num_output else positive(p, "num_output")
        self._check(layer, bottoms, channels, outputs)
        self.window = convolution_window(p, self.spatial)
        kernel = self.window.kernel[: self.spatial]
        self.weight = new_blob(p.weight_filler, (*self.filters(channels, outputs), *kernel))
        self.bias = new_blob(p.bias_filler, (outputs,)) if p.bias_term else None

    def _check(self, layer: pb.LayerParameter, bottoms: Sequence[Shape], channels: int, outputs: int) -> None:
        if len(bottoms) != len(layer.top):
            raise NetError(f"has {len(bottoms)} bottoms and {len(layer.top)} tops; every bottom needs a top")
        if any(shape != bottoms[0] for shape in bottoms):
            raise ShapeError(f"all bottoms must have one shape; they have {[list(shape) for shape in bottoms]}")
        if self.group < 1 or channels % self.group or outputs % self.group:
            raise ShapeError(f"group {self.group} must divide the {channels} channels and num_output {outputs}")
        if self.spatial > 3:
            raise ShapeError(f"there are {self.spatial} spatial axes; torch convolves over 3 at most")

    @abstractmethod
    def filters(self, channels: int, outputs: int) -> tuple[int, int]:
        """The first two axes of the weights."""

    @abstractmethod
    def slide(self, x: Tensor, weight: Tensor) -> Tensor:
        """Compute with one axis before the channels."""

    @abstractmethod
    def scaled(self, factor: Tensor) -> Tensor:
        """The weights with every channel of the top multiplied."""

    def with_affine(self, factor: Tensor, shift: Tensor) -> NewLayer | None:
        if self.axis != 1 or len(self.layer.top) > 1:
            return None
        made = pb.LayerParameter()
        made.CopyFrom(self.layer)
        made.convolution_param.ClearField("bias_term")
        return made, [self.scaled(factor), shift if self.bias is None else self.bias * factor + shift]

    def forward(self, *bottoms: Tensor) -> Tensor | tuple[Tensor, ...]:
        if len(bottoms) == 1:
            return self._one(bottoms[0])
        return tuple(self._one(x) for x in bottoms)

    def prefers_channels_last(self) -> bool:
        return self.axis == 1 and self.spatial == 2

    def reads_bottoms(self) -> Reads:
        return Reads.VALUES if self.weight.requires_grad else Reads.NOTHING

    def onnx(self, g: OnnxGraph, *bottoms: str) -> tuple[str, ...]:
        return tuple(self._one_onnx(g, x) for x in bottoms)

    def _one_onnx(self, g: OnnxGraph, x: str) -> str:
        shape = g.shape(x)
        w = self.window.on(g.length(x, axis) for axis in range(self.axis + 1, len(shape)))
        whole = self.axis == 1 and self.spatial
        flat = x if whole else reshaped(g, x, UNKNOWN, *shape[self.axis :], *(() if self.spatial else (1,)))
        weight = g.blob(self, "weight", None if self.spatial else (*self.weight.shape, 1))
        inputs = [flat, weight] if self.bias is None else [flat, weight, g.blob(self, "bias")]
        settings = {"strides": w.stride, "pads": w.begin + w.end, "dilations": w.dilation, "group": self.group}
        y = g.node(self.operator, *inputs, kernel_shape=w.kernel, **settings)
        return y if whole else reshaped(g, y, *shape[: self.axis], *self._sizes_after(g, x))

    def _sizes_after(self, g: OnnxGraph, x: str) -> Shape:
        """The channels and sizes of the top."""
        lengths = [g.length(x, axis) for axis in range(self.axis, self.axis + 1 + self.spatial)]
        return self.top_shapes([(*(1,) * self.axis, *lengths)])[0][self.axis :]

    def check_channels(self, bottom: Shape) -> None:
        """Raise a ShapeError for a bottom that has other channels than the one the layer was made for."""
        if bottom[self.axis] != self.channels:
            found = f"a bottom {list(bottom)} has {bottom[self.axis]} on axis {self.axis}"
            raise ShapeError(f"takes {self.channels} channels, and {found}")

    def _filters_for(self, x: Tensor) -> Tensor:
        """The filters, with channels last only if x has them so: torch takes them for a wish, and would copy x."""
        return self.weight if x.dim() != 4 or x.stride(1) == 1 else self.weight.contiguous()

    def _one(self, x: Tensor) -> Tensor:
        self.check_channels(x.shape)
        if self.axis == 1 and self.spatial:
            return self.slide(x, self._filters_for(x))
        outer, flat = x.shape[: self.axis], x.reshape(-1, *x.shape[self.axis :])
        if not self.spatial:
            return self.slide(flat.unsqueeze(-1), self.weight.unsqueeze(-1)).reshape(*outer, -1)
        y = self.slide(flat, self.weight)
        return y.reshape(*outer, *y.shape[1:])

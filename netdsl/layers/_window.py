"""Windows that slide over the spatial axes of a bottom, and the filters of convolutions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from google.protobuf.message import Message
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape, axis_of, new_blob, positive
from netdsl.layer.deploying import AbsorbsAffine, NewLayer
from netdsl.layer.onnx_form import UNKNOWN, reshaped
from netdsl.layer.running import MakesNewMemory, PrefersChannelsLast, Reads, ReadsInBackward
from netdsl.layers._settings import refuse

Numbers = tuple[int, ...]
_FOREIGN = ("relu", "coeff", "fusion_type", "fuse_type", "shape_offset", "input_scale", "output_scale",
            "saturate", "weight_fixed", "dis_mode", "gen_mode", "eltwise_param", "relu_param")  # fmt: skip
_HOLES = ("filter_stride", "filter_stride_h", "filter_stride_w")
_SIDES = ("pad_t", "pad_l", "pad_b", "pad_r")


@dataclass(frozen=True)
class Window:
    """The size, stride, padding and dilation of a window, with one number for each spatial axis.

    The padding may differ between the two ends of an axis. With `same`, it is TensorFlow's SAME padding, which `on`
    computes for a bottom of a given size.
    """

    kernel: Numbers
    stride: Numbers
    begin: Numbers
    end: Numbers
    dilation: Numbers
    same: bool = False

    def __post_init__(self) -> None:
        for name in ("kernel", "stride", "dilation"):
            if min(getattr(self, name)) < 1:
                raise NetError(f"{name} is {list(getattr(self, name))}; set it to 1 or more on each axis")

    def on(self, sizes: Iterable[int]) -> Window:
        """Return the window for a bottom of these sizes. SAME padding makes room for one window per stride.

        Synopsys' rule: the padding in front of the bottom ignores the dilation.
        """
        if not self.same:
            return self
        begin, end = [], []
        for size, kernel, extent, stride in zip(sizes, self.kernel, self.extent, self.stride, strict=True):
            begin.append(max(0, kernel - (size % stride or stride)) // 2)
            end.append(max(0, (size - 1) // stride * stride + extent - size - begin[-1]))
        return replace(self, begin=tuple(begin), end=tuple(end), same=False)

    @property
    def symmetric(self) -> bool:
        """Whether the padding is the same at both ends."""
        return self.begin == self.end

    @property
    def padding(self) -> list[int]:
        """The padding in the order of `F.pad`: last axis first."""
        ends = zip(reversed(self.begin), reversed(self.end), strict=True)
        return [size for pair in ends for size in pair]

    @property
    def extent(self) -> Numbers:
        """The length of the dilated kernel along each axis."""
        return tuple(hole * (size - 1) + 1 for size, hole in zip(self.kernel, self.dilation, strict=True))


def plain(kernel: Iterable[int], stride: Iterable[int] | None = None, pad: Iterable[int] | None = None) -> Window:
    """Return a window without dilation and with the same padding at both ends."""
    kernel = tuple(kernel)
    pad = tuple(pad or [0] * len(kernel))
    return Window(kernel, tuple(stride or [1] * len(kernel)), pad, pad, (1,) * len(kernel))


def convolution_window(p: pb.ConvolutionParameter, axes: int) -> Window:
    """Return the window of a convolution over `axes` spatial axes. Without spatial axes, it is a single point."""
    refuse(p, *_FOREIGN)
    if not axes:
        return plain((1,))
    holes = "filter_stride" if any(p.HasField(name) for name in _HOLES) else "dilation"
    same = is_same(p)
    begin, end = sides(p, axes) or (per_axis(p, "pad", axes, 0, half=0),) * 2
    kernel, stride = per_axis(p, "kernel_size", axes, None), per_axis(p, "stride", axes, 1)
    return Window(kernel, stride, begin, end, per_axis(p, holes, axes, 1), same)


def is_same(p: pb.ConvolutionParameter | pb.PoolingParameter) -> bool:
    """Return whether Synopsys' `pad_type` selects TensorFlow's SAME padding."""
    if p.pad_type > 1:
        raise NetError(f"pad_type is {p.pad_type}; set it to 0 for the given padding, or to 1 for SAME")
    if p.pad_type and any(name.startswith("pad") and name != "pad_type" for name in set_names(p)):
        raise NetError("pad_type: 1 computes the padding; remove pad, or remove pad_type")
    return bool(p.pad_type)


def set_names(p: Message) -> list[str]:
    """Return the names of the fields that are set."""
    return [field.name for field, _ in p.ListFields()]


def per_axis(p: Message, field: str, axes: int, default: int | None, *, half: int | None = None) -> Numbers:
    """Return a setting for each axis: given once for all, once for each, or as _h and _w.

    `half` is the default if only one of _h and _w is set.
    """
    values, pair = _given(p, field), [f"{field.removesuffix('_size')}_{side}" for side in "hw"]
    if any(p.HasField(name) for name in pair):
        if values or axes != 2:
            problem = f"{field} is set too" if values else f"the bottom has {axes} spatial axes, not 2"
            raise NetError(
                f"{pair[0]} and {pair[1]} can't be used because {problem}; remove them, or write {field} once for "
                "each axis"
            )
        missing = [name for name in pair if not p.HasField(name)]
        if missing and half is None:
            raise NetError(f"{missing[0]} is missing; set both {pair[0]} and {pair[1]}, or {field}")
        return tuple(getattr(p, name) if p.HasField(name) else half or 0 for name in pair)
    if not values and default is not None:
        return (default,) * axes
    if len(values) not in (1, axes):
        raise NetError(
            f"{field} is given {len(values)} times; give it once, or once for each of the {axes} spatial axes"
        )
    return tuple(values) if len(values) == axes else (values[0],) * axes


def _given(p: Message, field: str) -> list[int]:
    value = getattr(p, field)
    if isinstance(value, int):
        return [value] if p.HasField(field) else []
    return list(value)


def sides(p: Message, axes: int) -> tuple[Numbers, Numbers] | None:
    """Return the padding of each side of an image, as some forks define it, or `None` if it isn't set."""
    top, left, bottom, right = (getattr(p, name) for name in _SIDES)
    if not (top or left or bottom or right):
        return None
    if axes != 2 or _given(p, "pad") or p.HasField("pad_h") or p.HasField("pad_w"):
        problem = f"the bottom has {axes} spatial axes, not 2" if axes != 2 else "pad, pad_h or pad_w is set too"
        raise NetError(
            f"pad_l, pad_r, pad_t and pad_b can't be used because {problem}; remove them, or write pad "
            "once for each axis"
        )
    return (top, left), (bottom, right)


class Convolving(AbsorbsAffine, HasOnnxForm, MakesNewMemory, PrefersChannelsLast, ReadsInBackward):
    """A layer whose filters slide over all axes after the channels.

    Each bottom has a top, and all use the same filters.
    """

    config = pb.ConvolutionParameter
    blobs = ("weight", "bias")
    bottoms = (1, None)
    tops = (1, None)
    any_layout = True
    operator: ClassVar[str]  # the ONNX operator
    depthwise: ClassVar[bool] = False  # whether each channel is a group

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.convolution_param
        self.axis = axis_of(p.axis, len(bottoms[0]))
        self.spatial = len(bottoms[0]) - self.axis - 1
        self.channels = channels = bottoms[0][self.axis]
        self.group = channels if self.depthwise else p.group
        outputs = channels if self.depthwise and not p.num_output else positive(p, "num_output")
        self._check_shapes(layer, bottoms, channels, outputs)
        self.window = convolution_window(p, self.spatial)
        kernel = self.window.kernel[: self.spatial]
        self.weight = new_blob(p.weight_filler, (*self.filters(channels, outputs), *kernel))
        self.bias = new_blob(p.bias_filler, (outputs,)) if p.bias_term else None

    def _check_shapes(self, layer: pb.LayerParameter, bottoms: Sequence[Shape], channels: int, outputs: int) -> None:
        if len(bottoms) != len(layer.top):
            raise NetError(f"there are {len(bottoms)} bottoms and {len(layer.top)} tops; give one top for each bottom")
        if any(shape != bottoms[0] for shape in bottoms):
            raise ShapeError(
                f"all bottoms must have the same shape, not {[list(shape) for shape in bottoms]}; connect bottoms "
                "of one shape"
            )
        if self.group < 1 or channels % self.group or outputs % self.group:
            raise ShapeError(
                f"group {self.group} doesn't divide the {channels} channels and num_output {outputs}; set it to "
                "a number that divides both, such as 1"
            )
        if self.spatial > 3:
            raise ShapeError(
                f"the bottom has {self.spatial} spatial axes, but torch supports at most 3; raise axis, or join "
                "axes with a Reshape layer"
            )

    @abstractmethod
    def filters(self, channels: int, outputs: int) -> tuple[int, int]:
        """Return the first two lengths of the weights."""

    @abstractmethod
    def slide(self, x: Tensor, weight: Tensor) -> Tensor:
        """Return the convolution of a bottom with one axis in front of the channels."""

    @abstractmethod
    def scaled(self, factor: Tensor) -> Tensor:
        """Return the weights with each output channel multiplied by its factor."""

    def with_affine(self, factor: Tensor, shift: Tensor) -> NewLayer | None:
        if self.axis != 1 or len(self.layer.top) > 1:
            return None
        made = copy_of(self.layer)
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
        """Return the number of channels and the sizes of the top."""
        lengths = [g.length(x, axis) for axis in range(self.axis, self.axis + 1 + self.spatial)]
        return self.top_shapes([(*(1,) * self.axis, *lengths)])[0][self.axis :]

    def check_channels(self, bottom: Shape) -> None:
        """Raise a `ShapeError` unless the bottom has as many channels as the layer was built for."""
        if bottom[self.axis] != self.channels:
            found = f"the bottom {list(bottom)} has {bottom[self.axis]} on axis {self.axis}"
            raise ShapeError(
                f"the weights are for {self.channels} channels, but {found}; use weights of this net, or correct "
                "the net's channels"
            )

    def _filters_for(self, x: Tensor) -> Tensor:
        """Return the filters, with channels last only if x has them last too.

        Otherwise torch would convert x to channels last.
        """
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

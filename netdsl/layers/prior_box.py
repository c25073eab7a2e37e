"""PriorBox: SSD's boxes of fixed sizes at each position of a feature map."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.limits import Limit
from netdsl.errors import NetError, ShapeError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.samples import BlobKind
from netdsl.layers._constants import constants
from netdsl.layers._settings import refuse

_SAME = 1e-6  # Caffe's rule: ratios that differ by less are the same


class PriorBox(HasOnnxForm):
    """Outputs boxes relative to the image's size in the first channel, and their variances in the second.

    At each position, each `min_size` has a square, a larger square if it has a `max_size`, and one box for each aspect
    ratio. With Synopsys' `tf`, the larger square is the last one. Its `yx_order` puts y before x, which then applies to
    everything computed from the boxes.
    """

    config = pb.PriorBoxParameter
    bottoms = (1, 2)
    no_gradient = (0, 1)
    bottom_kinds = (BlobKind.NUMBER, BlobKind.NUMBER)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.prior_box_param
        refuse(p, "faceboxes", "box_width", "box_height")
        self.image = _pair(p, "img", "img_size")
        self.step = _pair(p, "step", "step")
        if self.image is None and len(bottoms) < 2:
            raise NetError("the image's size is unknown; add the image as the second bottom, or set img_size")
        if any(len(shape) < 3 for shape in bottoms):
            raise ShapeError(
                f"the bottoms must be feature maps of (batch, channels, height, width), not {list(bottoms[0])}; "
                "connect the tops of convolutions"
            )
        self.sides = list(self.sides_of(p))
        self.variances = _variances(p)
        self.clip, self.offset, self.y_first = p.clip, p.offset, p.yx_order

    def forward(self, x: Tensor, image: Tensor | None = None) -> Tensor:
        height, width = _map(x)
        image_size = self.image or _map(image if image is not None else x)
        step = self.step or (image_size[0] / height, image_size[1] / width)
        y, x_ = (self._centers(x, count, each) for count, each in zip((height, width), step, strict=True))
        centers = torch.stack((x_.expand(height, -1), y[:, None].expand(-1, width)), -1)[:, :, None]
        sides, size = (constants(each, centers) for each in (self.sides, image_size[::-1]))
        halves, inset = sides[:, :2] / 2, sides[:, 2:]
        corners = (centers - halves) / size + inset, (centers + halves) / size - inset
        boxes = torch.cat([corner.flip(-1) if self.y_first else corner for corner in corners], -1)
        boxes = boxes.clamp(0, 1) if self.clip else boxes
        return torch.stack((boxes, constants(self.variances, boxes).expand_as(boxes))).reshape(1, 2, -1).to(x.dtype)

    def onnx(self, g: OnnxGraph, *bottoms: str) -> str:
        sizes = ([g.length(bottom, axis) for axis in range(2, len(g.shape(bottom)))] for bottom in bottoms)
        return g.constant(self.forward(*(torch.empty(1, 1, *size) for size in sizes)).numpy())

    def sides_of(self, p: pb.PriorBoxParameter) -> Iterator[tuple[float, float, float]]:
        """Yield the width and height of each box, and the part of the image by which each side is inset."""
        refuse(p, "width", "height")
        return _sides(p)

    def _centers(self, x: Tensor, count: int, step: float) -> Tensor:
        return (torch.arange(count, dtype=torch.float64, device=x.device) + self.offset) * step


def _map(x: Tensor) -> tuple[int, int]:
    return x.shape[2], x.shape[3] if x.dim() > 3 else 1


def _pair(p: pb.PriorBoxParameter, prefix: str, both: str) -> tuple[float, float] | None:
    """Return a height and a width that are set together or separately."""
    names = f"{prefix}_h", f"{prefix}_w"
    if not any(p.HasField(name) for name in (both, *names)):
        return None
    if p.HasField(both) and any(p.HasField(name) for name in names):
        raise NetError(
            f"{both} can't be combined with {names[0]} and {names[1]}; remove {both}, or remove the other two"
        )
    pair = (getattr(p, both),) * 2 if p.HasField(both) else (getattr(p, names[0]), getattr(p, names[1]))
    if min(pair) <= 0:
        raise NetError(f"{names[0]} or {names[1]} isn't positive; set both, or {both}, to more than 0")
    return pair


def _ratios(p: pb.PriorBoxParameter) -> list[float]:
    """Return the aspect ratios other than 1: each once, and with `flip` its inverse."""
    found, near = list[float](), {1 // _SAME: [1.0]}  # ratios by intervals, so that few are compared with each other
    for ratio in p.aspect_ratio:
        if ratio <= 0:
            raise NetError(f"aspect_ratio is {ratio:g}; set it to more than 0")
        place = ratio // _SAME
        others = [other for step in (-1, 0, 1) for other in near.get(place + step, ())]
        if all(abs(ratio - other) >= _SAME for other in others):
            for added in [ratio, 1 / ratio] if p.flip else [ratio]:
                found.append(added)
                near.setdefault(added // _SAME, []).append(added)
    return found


def _sides(p: pb.PriorBoxParameter) -> Iterator[tuple[float, float, float]]:
    """Yield the width and height of each box, and the part of the image by which each side is inset.

    Caffe's rule: sizes are cut to whole numbers. Synopsys' rule: with `tf`, squares of 60 are smaller.
    """
    if not p.min_size or min(p.min_size) <= 0:
        raise NetError("min_size is missing or not positive; set at least one, and each to more than 0")
    if p.max_size and len(p.max_size) != len(p.min_size):
        raise NetError(
            f"there are {len(p.max_size)} max_size for {len(p.min_size)} min_size; give one for each or none"
        )
    ratios = _ratios(p)
    Limit.BOXES.check(len(p.min_size) * (1 + len(ratios)), "each position of the map")
    for index, least in enumerate(p.min_size):
        side = float(int(least))
        yield side, side, 0.05 if p.tf and side == 60 else 0.0
        more = [(side * math.sqrt(ratio), side / math.sqrt(ratio), 0.0) for ratio in ratios]
        if p.max_size:
            if p.max_size[index] <= least:
                raise NetError(f"max_size {p.max_size[index]:g} isn't more than its min_size {least:g}; raise max_size")
            root = math.sqrt(side * int(p.max_size[index]))
            more.insert(len(more) if p.tf else 0, (root, root, 0.0))
        yield from more


def _variances(p: pb.PriorBoxParameter) -> list[float]:
    given = list(p.variance) or [0.1]
    if len(given) not in (1, 4) or min(given) <= 0:
        raise NetError(f"there are {len(given)} variances; give one or four, each more than 0")
    return given * 4 if len(given) == 1 else given

"""DummyData: blobs of made-up values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import ConversionError, NetError
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.blobs import fill, new_statistics
from netdsl.layer.data import MakesData

T = TypeVar("T")


class DummyData(MakesData, HasOnnxForm):
    """Fills each top with its `data_filler`: once if the filler is constant, and otherwise in each forward pass."""

    config = pb.DummyDataParameter
    tops = (1, None)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        p = layer.dummy_data_param
        self.shapes = self._shapes(p)
        self.fillers = self._for_each_top("data_filler", p.data_filler or [pb.FillerParameter()])
        # An empty buffer, which moves with the net, determines the device and the type of all tops.
        self.register_buffer("anchor", new_statistics((0,)), persistent=False)
        for index, (shape, filler) in enumerate(zip(self.shapes, self.fillers, strict=True)):
            top = new_statistics(shape)
            fill(top, filler)  # this only checks the filler, since the tensor has no memory yet
            if filler.type == "constant":
                self.register_buffer(f"top_{index}", top, persistent=False)

    def _shapes(self, p: pb.DummyDataParameter) -> list[Shape]:
        if not (p.num or p.channels or p.height or p.width):
            return [tuple(shape.dim) for shape in self._for_each_top("shape", p.shape)]
        if p.shape:
            raise NetError("shapes are given in both the new and the old form; keep only `shape`")
        sizes = [self._for_each_top(name, getattr(p, name)) for name in ("num", "channels", "height", "width")]
        return list(zip(*sizes, strict=True))

    def _for_each_top(self, what: str, values: Sequence[T]) -> list[T]:
        tops = len(self.layer.top)
        if len(values) not in (1, tops):
            raise NetError(
                f"there are {len(values)} values of {what} for {tops} tops; give one for each, or one for all"
            )
        return list(values) * tops if len(values) == 1 else list(values)

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Return the shapes in the settings."""
        return self.shapes

    def allocate(self, device: torch.device | str, done: dict[int, Tensor]) -> None:
        super().allocate(device, done)
        for name, buffer in list(self.named_buffers(recurse=False)):
            if buffer.is_meta:
                setattr(self, name, torch.empty_like(buffer, device=device))
        for index, filler in enumerate(self.fillers):
            if filler.type == "constant":
                fill(getattr(self, f"top_{index}"), filler)

    def forward(self) -> tuple[Tensor, ...]:
        return tuple(self._top(index) for index in range(len(self.shapes)))

    def onnx(self, g: OnnxGraph) -> tuple[str, ...]:
        if any(filler.type != "constant" for filler in self.fillers):
            raise ConversionError("can't be exported with random data; use an Input layer instead")
        return tuple(g.constant(self._top(index).cpu().numpy()) for index in range(len(self.shapes)))

    def _top(self, index: int) -> Tensor:
        if self.fillers[index].type == "constant":
            constant: Tensor = getattr(self, f"top_{index}")
            return constant
        top: Tensor = self.anchor.new_empty(self.shapes[index])
        fill(top, self.fillers[index])
        return top

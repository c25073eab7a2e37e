"""Split: one blob for several readers, whose gradients are added."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.layer import HasOnnxForm, OnnxGraph, Shape
from netdsl.layer.running import SharesMemory

Top = tuple[int, int]  # the index of a layer and of one of its tops


class Split(HasOnnxForm, SharesMemory):
    """Copies the bottom to each top."""

    tops = (1, None)
    any_layout = True
    keeps_values = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.count = len(layer.top)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(x.view_as(x) for _ in range(self.count))

    def onnx(self, g: OnnxGraph, x: str) -> tuple[str, ...]:
        return (x,) * self.count


def insert_splits(net: pb.NetParameter) -> pb.NetParameter:
    """Return the net with Caffe's Split layers for blobs with several readers.

    torch doesn't need these layers, but pycaffe shows them. A top with a loss weight has one more reader.
    """
    sources, readers = _sources(net)
    weights = {(index, place): weight for index, layer in enumerate(net.layer)
               for place, weight in enumerate(layer.loss_weight[: len(layer.top)]) if weight}  # fmt: skip
    tops_used: Counter[Top] = Counter(dict.fromkeys(weights, 1))
    split = copy_of(net, without=["layer"])
    for index, original in enumerate(net.layer):
        split.layer.append(original)
        layer = split.layer[-1]
        for place, name in enumerate(original.bottom):
            top = sources[index, place]
            if readers[top] + (top in weights) > 1:
                layer.bottom[place] = f"{_prefix(net, top, name)}_{tops_used[top]}"
                tops_used[top] += 1
        for place, name in enumerate(original.top):
            count = readers[index, place] + ((index, place) in weights)
            if count > 1:
                _add_split(split, layer, _prefix(net, (index, place), name), name, count, weights.get((index, place)))
    return split


def _sources(net: pb.NetParameter) -> tuple[dict[Top, Top], Counter[Top]]:
    """Return the source of each bottom, and the number of readers of each top."""
    latest: dict[str, Top] = {}
    sources: dict[Top, Top] = {}
    for index, layer in enumerate(net.layer):
        for place, name in enumerate(layer.bottom):
            sources[index, place] = latest[name]
        latest.update({name: (index, place) for place, name in enumerate(layer.top)})
    return sources, Counter(sources.values())


def _prefix(net: pb.NetParameter, top: Top, blob: str) -> str:
    return f"{blob}_{net.layer[top[0]].name}_{top[1]}_split"


def _add_split(
    net: pb.NetParameter, maker: pb.LayerParameter, prefix: str, blob: str, count: int, weight: float | None
) -> None:
    layer = net.layer.add(name=prefix, type="Split", bottom=[blob], top=[f"{prefix}_{k}" for k in range(count)])
    if weight:
        maker.ClearField("loss_weight")
        layer.loss_weight.extend([weight, *[0.0] * (count - 1)])

"""A Caffe net under construction, whose shapes are known from layer to layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caffe_proto import caffe_pb2 as pb
from netdsl import dsl
from netdsl.errors import ConversionError, ShapeError
from netdsl.layer import Shape
from netdsl.layers import LAYERS
from netdsl.model import Model
from netdsl.weights.match import AnyArray

Make = Callable[..., pb.LayerParameter]


@dataclass(frozen=True)
class NetBlob:
    """A blob of the net that is made."""

    name: str
    shape: Shape


Value = NetBlob | AnyArray  # something that depends on the inputs, or a constant


class NetWriter:
    """Takes layers in their order. `node` is what the next ones are called; names in `reserved` are for `rename`."""

    def __init__(self, name: str, reserved: Sequence[str] = ()) -> None:
        self.net = pb.NetParameter(name=name)
        self.weights: dict[str, list[AnyArray]] = {}
        self.node = ""
        self._inputs: set[str] = set()
        self._read: Counter[str] = Counter()
        self._layers: set[str] = set()
        self._blobs: set[str] = set(reserved)

    def input(self, name: str, shape: Shape) -> NetBlob:
        """A blob that comes from outside, under just this name."""
        self.net.layer.append(dsl.Input(_free(name, self._layers), [], tops=[name], shape=[{"dim": list(shape)}]))
        self._blobs.add(name)
        self._inputs.add(name)
        return NetBlob(name, shape)

    def layer(
        self, make: Make, bottoms: Sequence[NetBlob], *arrays: AnyArray, part: str = "", **settings: Any
    ) -> NetBlob:
        """A layer with one top. A node of several layers names all but its main one by a `part`."""
        return self.layers(make, bottoms, *arrays, part=part, tops=1, **settings)[0]

    def layers(
        self, make: Make, bottoms: Sequence[NetBlob], *arrays: AnyArray, tops: int, part: str = "", **settings: Any
    ) -> tuple[NetBlob, ...]:
        """A layer with several tops."""
        name = _free(f"{self.node}/{part}" if part else self.node, self._layers)
        names = [_free(name if tops == 1 else f"{name}/{rank}", self._blobs) for rank in range(tops)]
        layer = make(name, [bottom.name for bottom in bottoms], tops=names, **settings)
        shapes = _shapes(layer, [bottom.shape for bottom in bottoms], [array.shape for array in arrays])
        self.net.layer.append(layer)
        if arrays:
            self.weights[name] = [np.asarray(array, np.float32, order="C") for array in arrays]
        self._read.update(bottom.name for bottom in bottoms)
        return tuple(NetBlob(*pair) for pair in zip(names, shapes, strict=True))

    def shape_of(self, make: Make, bottom: NetBlob, **settings: Any) -> Shape:
        """The shape of the top that a layer would have."""
        return _shapes(make("", [bottom.name], tops=[""], **settings), [bottom.shape], ())[0]

    def rename(self, blob: NetBlob, name: str) -> NetBlob:
        """Give a blob that a layer made another name."""
        for layer in self.net.layer:
            for names in (layer.bottom, layer.top):
                names[:] = [name if each == blob.name else each for each in names]
        self._blobs.add(name)
        self._read[name] = self._read.pop(blob.name, 0)
        return NetBlob(name, blob.shape)

    def finished(self, outputs: Sequence[tuple[str, Value]]) -> tuple[Model, list[str]]:
        """The net, with the values as its only outputs, and what the outputs are called in it.

        Caffe's rule: outputs are the blobs that nobody reads.
        """
        names: list[str] = []
        for wanted, value in outputs:
            if not isinstance(value, NetBlob):
                raise ConversionError(f"output '{wanted}' is the same for all inputs, which a Caffe net can't give")
            if self._read[value.name] or value.name in self._inputs or value.name in names:
                self.node = f"{wanted}/output"
                value = self.layer(dsl.Split, [value])
            names.append(value.name)
        self._silence(names)
        return Model(self.net, self.weights), names

    def _silence(self, outputs: Sequence[str]) -> None:
        tops = [top for layer in self.net.layer for top in layer.top]
        unread = [top for top in tops if not self._read[top] and top not in outputs]
        if unread:
            self.net.layer.append(dsl.Silence(_free("silence", self._layers), unread))


def along(axis: int) -> dict[str, Any]:
    """The setting of an axis, where it isn't the channels', which most layers take by themselves."""
    return {} if axis == 1 else {"axis": axis}


def _free(wanted: str, taken: set[str]) -> str:
    """The name, with a number behind it if it is taken."""
    name, rank = wanted, 2
    while name in taken:
        name, rank = f"{wanted}_{rank}", rank + 1
    taken.add(name)
    return name


def _shapes(layer: pb.LayerParameter, bottoms: Sequence[Shape], arrays: Sequence[Shape]) -> list[Shape]:
    """The shapes of the tops, from the layer itself."""
    try:
        made = LAYERS[layer.type](layer, bottoms)
        shapes = made.top_shapes(bottoms)
    except (RuntimeError, ValueError, IndexError) as problem:
        raise ShapeError(f"as {layer.type}: {next(iter(str(problem).splitlines()), problem)}") from None
    own = [tuple(blob.shape) for blob in made.blob_tensors()]
    if arrays and own != list(arrays):
        raise ShapeError(f"weights of shapes {list(arrays)} don't fit a {layer.type}, whose blobs are {own}")
    return shapes

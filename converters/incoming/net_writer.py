"""Builds a Caffe net layer by layer with its shapes, and collects the problems of an import."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, LimitError
from caffe_proto.limits import Ledger, Limit
from caffe_proto.shown_text import shown
from netdsl import dsl
from netdsl.errors import ConversionError, ShapeError
from netdsl.layer import Shape
from netdsl.layers import LAYERS
from netdsl.model.model import Model
from netdsl.model.weights.match import AnyArray

LayerConstructor = Callable[..., pb.LayerParameter]

_MAX_NODES = 3  # the number of node names for each kind of problem


@dataclass(frozen=True)
class NetBlob:
    """A blob of the net under construction."""

    name: str
    shape: Shape


Value = NetBlob | AnyArray  # a blob that depends on the inputs, or a constant
Tops = NetBlob | Sequence[NetBlob]  # the tops of an operator


class NetWriter:
    """Builds a net layer by layer.

    `node` is the name for the next layers. Only `rename` uses the names in `reserved`.
    """

    def __init__(self, name: str, reserved: Sequence[str] = ()) -> None:
        self.net = pb.NetParameter(name=name)
        self.weights: dict[str, list[AnyArray]] = {}
        self.node = ""
        self._zeros = Ledger()
        self._inputs: set[str] = set()
        self._read: Counter[str] = Counter()
        self._layers: set[str] = set()
        self._blobs: set[str] = set(reserved)
        # the fields that contain a blob's name, each with its index, so that renaming needn't search the net
        self._places = defaultdict[str, list[tuple[MutableSequence[str], int]]](list)

    def input(self, name: str, shape: Shape) -> NetBlob:
        """Add an input of the net with exactly this name."""
        self._append(dsl.Input(_unique_name(name, self._layers), [], tops=[name], shape=[{"dim": list(shape)}]))
        self._blobs.add(name)
        self._inputs.add(name)
        return NetBlob(name, shape)

    def layer(
        self,
        constructor: LayerConstructor,
        bottoms: Sequence[NetBlob],
        *arrays: AnyArray,
        part: str = "",
        **settings: Any,
    ) -> NetBlob:
        """Add a layer with one top. If a node becomes several layers, all but the main layer have a `part` name."""
        return self.layers(constructor, bottoms, *arrays, part=part, tops=1, **settings)[0]

    def layers(
        self,
        constructor: LayerConstructor,
        bottoms: Sequence[NetBlob],
        *arrays: AnyArray,
        tops: int,
        part: str = "",
        **settings: Any,
    ) -> tuple[NetBlob, ...]:
        """Add a layer with several tops."""
        name = _unique_name(f"{self.node}/{part}" if part else self.node, self._layers)
        names = [_unique_name(name if tops == 1 else f"{name}/{rank}", self._blobs) for rank in range(tops)]
        layer = constructor(name, [bottom.name for bottom in bottoms], tops=names, **settings)
        shapes = _shapes(layer, [bottom.shape for bottom in bottoms], [array.shape for array in arrays])
        self._append(layer)
        if arrays:
            self.weights[name] = [np.asarray(array, np.float32, order="C") for array in arrays]
        self._read.update(bottom.name for bottom in bottoms)
        return tuple(NetBlob(*pair) for pair in zip(names, shapes, strict=True))

    def charge_zeros(self, count: int) -> None:
        """Count bytes of zeros that are about to be added to filters. Raises a `LimitError` if they are too many."""
        self._zeros.charge(Limit.MEMORY, count, f"the convolution '{shown(self.node)}' with those before it")

    def shape_of(self, constructor: LayerConstructor, bottom: NetBlob, **settings: Any) -> Shape:
        """Return the shape of the top that a layer would produce."""
        return _shapes(constructor("", [bottom.name], tops=[""], **settings), [bottom.shape], ())[0]

    def rename(self, blob: NetBlob, name: str) -> NetBlob:
        """Rename a layer's top, including where it is a bottom."""
        for names, index in self._places[blob.name]:
            names[index] = name
        if name != blob.name:
            self._places[name] += self._places.pop(blob.name)
        self._blobs.add(name)
        self._read[name] = self._read.pop(blob.name, 0)
        return NetBlob(name, blob.shape)

    def end(self, outputs: Sequence[tuple[str, Value]]) -> list[str]:
        """End the net with these values as its only outputs, and return their blob names.

        Caffe's rule: outputs are the blobs that no layer reads.
        """
        names: list[str] = []
        for output, value in outputs:
            if not isinstance(value, NetBlob):
                raise ConversionError(
                    f"output '{output}' is the same for all inputs, which a Caffe net can't compute; export the "
                    "model without this output"
                )
            if self._read[value.name] or value.name in self._inputs or value.name in names:
                self.node = f"{output}/output"
                value = self.layer(dsl.Split, [value])
            names.append(value.name)
        self._silence(names)
        return names

    def model(self) -> Model:
        """Return the net that was written, with its weights."""
        return Model(self.net, self.weights)

    def _append(self, layer: pb.LayerParameter) -> None:
        self.net.layer.append(layer)
        for names in (self.net.layer[-1].bottom, self.net.layer[-1].top):
            for index, name in enumerate(names):
                self._places[name].append((names, index))

    def _silence(self, outputs: Sequence[str]) -> None:
        tops = [top for layer in self.net.layer for top in layer.top]
        unread = [top for top in tops if not self._read[top] and top not in outputs]
        if unread:
            self.net.layer.append(dsl.Silence(_unique_name("silence", self._layers), unread))


def axis_setting(axis: int) -> dict[str, Any]:
    """Return the `axis` setting of a layer. It is empty for the channel axis, which is the default of most layers."""
    return {} if axis == 1 else {"axis": axis}


def _unique_name(base: str, taken: set[str]) -> str:
    """Return the name, with a number added if the name is in use."""
    name, rank = base, 2
    while name in taken:
        name, rank = f"{base}_{rank}", rank + 1
    taken.add(name)
    return name


def _shapes(layer: pb.LayerParameter, bottoms: Sequence[Shape], arrays: Sequence[Shape]) -> list[Shape]:
    """Return the shapes of a layer's tops."""
    try:
        instance = LAYERS[layer.type](layer, bottoms)
        shapes = instance.top_shapes(bottoms)
    except (RuntimeError, ValueError, IndexError) as problem:
        raise ShapeError(f"as {layer.type}: {next(iter(str(problem).splitlines()), problem)}") from None
    blob_shapes = [tuple(blob.shape) for blob in instance.blob_tensors()]
    if arrays and blob_shapes != list(arrays):
        raise ShapeError(
            f"weights of shapes {list(arrays)} don't fit a {layer.type} layer, whose blobs have shapes "
            f"{blob_shapes}; pass weights of these shapes"
        )
    return shapes


class ConversionProblems:
    """Collects the nodes that can't be converted, by operator and reason."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], list[str]] = {}

    def add(self, operator: str, node: str, reason: str = "") -> None:
        """Add a node that can't be converted."""
        self._nodes.setdefault((operator, reason), []).append(node)

    @contextmanager
    def of(self, operator: str, node: str) -> Iterator[None]:
        """Collect errors that are raised in the block, unless the file asks for too much work."""
        try:
            yield
        except LimitError:
            raise
        except CaffeError as problem:
            self.add(operator, node, str(problem))

    def check(self, what: str) -> None:
        """Raise a `ConversionError` that lists all problems, if there are any."""
        if self._nodes:
            reasons = "; ".join(_describe(*key, nodes) for key, nodes in self._nodes.items())
            raise ConversionError(
                f"{what} can't be converted to Caffe: {reasons}; change these parts of the model, and convert it again"
            )


def _describe(operator: str, reason: str, nodes: list[str]) -> str:
    more = f" and {len(nodes) - _MAX_NODES} more" if len(nodes) > _MAX_NODES else ""
    text = f"{operator} ({', '.join(map(repr, nodes[:_MAX_NODES]))}{more})"
    return f"{text}: {reason}" if reason else text

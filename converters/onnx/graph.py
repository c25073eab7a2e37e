"""Builds an ONNX graph layer by layer, and names its values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from converters.lengths import ChangingLength, LengthSource
from converters.onnx.library import onnx
from converters.onnx.older_opsets import NewNode, older_form
from converters.onnx.reader import ANY_READER, OnnxReader
from netdsl.layer import Layer, Shape
from netdsl.layer.onnx_form import UNKNOWN
from netdsl.model.weights.files import array_of
from netdsl.model.weights.match import AnyArray
from netdsl.net.build import Built


class UniqueNames:
    """Makes names that aren't in use."""

    def __init__(self, used: Iterable[str] = ()) -> None:
        self._used = set(used)
        self._next: dict[str, int] = {}

    def unique(self, base: str) -> str:
        """Return the name, with a number added if the name is in use."""
        name = base
        while name in self._used or not name:
            self._next[base] = number = self._next.get(base, 1) + 1
            name = f"{base}_{number}"
        self._used.add(name)
        return name


def edge_names(built: Built) -> list[str]:
    """Return a unique name for every edge: the name of its blob.

    If layers work in place, a blob has several edges. The input of the net, or else the last edge, has the blob's name.
    The other names also contain the name of the layer that produces the edge.
    """
    blobs, names = built.graph.blobs, UniqueNames(built.graph.blobs)
    name_owners = {blob: edge for edge, blob in enumerate(blobs)}
    name_owners.update({blobs[edge]: edge for edge in built.input_edges()})
    producers = {edge: node.layer.name for node in built.graph.nodes for edge in node.tops}
    return [
        blob if name_owners[blob] == edge else names.unique(f"{blob}/{producers.get(edge, edge)}")
        for edge, blob in enumerate(blobs)
    ]


# the shapes of bottoms by name, with every length that can change
Bottoms = Mapping[str, tuple[Shape, Mapping[int, ChangingLength]]]


class FixedLengthError(Exception):
    """A layer needs a fixed length, so the length can't change with its source."""

    def __init__(self, source: LengthSource) -> None:
        super().__init__(source.name)
        self.source = source


class UnsupportedOpsetError(Exception):
    """A layer needs operators that onnxruntime supports only up to an opset."""

    def __init__(self, opset: int) -> None:
        super().__init__(f"opset {opset}")
        self.opset = opset


class GraphBuilder:
    """Collects the nodes and initializers of layers. `names` are the names that blobs use."""

    def __init__(self, opset: int, dtype: DTypeLike, names: Sequence[str], reader: OnnxReader = ANY_READER) -> None:
        self.opset, self.dtype, self._reader = opset, np.dtype(dtype), reader
        self.all_nodes: list[Any] = []
        self.initializers: list[Any] = []  # without the values
        self.values: list[AnyArray] = []  # the values of the initializers; those of blobs aren't copied
        self._value_names, self._node_names = UniqueNames(names), UniqueNames()
        self._blobs: dict[tuple[int, Shape], str] = {}
        self._layer = ""
        self._bottoms: Bottoms = {}
        self._nodes: list[Any] = []
        self._constants: dict[str, AnyArray] = {}  # those of the layer

    def begin(self, layer: str, bottoms: Bottoms) -> None:
        """Begin the nodes of a layer."""
        self._layer, self._bottoms, self._nodes, self._constants = layer, bottoms, [], {}

    def end(self, results: Sequence[str], tops: Sequence[str]) -> None:
        """End the nodes of a layer.

        The layer's results get the names of its tops, and its last node gets the layer's name.
        """
        assert len(results) >= len(tops), f"{self._layer} returned {len(results)} values for {len(tops)} tops"
        node_outputs = {output for node in self._nodes for output in node.output}
        renamed: dict[str, str] = {}
        for value, top in zip(results, tops, strict=False):
            if value not in node_outputs or value in renamed:
                value = self.node("Identity", value)
            renamed[value] = top
        main = next((node for node in reversed(self._nodes) if set(node.output) & renamed.keys()), None)
        for node in self._nodes:
            for values in (node.input, node.output):
                values[:] = [renamed.get(value, value) for value in values]
            node.name = self._node_names.unique(self._layer if node is main else f"{self._layer}/{node.op_type}")
        self.all_nodes += self._nodes
        self._remove_unused_constants()

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output."""
        return self.nodes(op, *inputs, outputs=1, **attributes)[0]

    def nodes(self, op: str, *inputs: str, outputs: int, **attributes: Any) -> tuple[str, ...]:
        """Add a node with several outputs."""
        node = NewNode(op, inputs, outputs, attributes)
        form = self._reader.other_form(op) or older_form(self.opset, op)
        return self.add(node) if form is None else form(self, node)

    def add(self, node: NewNode) -> tuple[str, ...]:
        """Add a node exactly as given."""
        names = [self._value_names.unique(f"{self._layer}/{node.op}") for _ in range(node.outputs)]
        self._nodes.append(onnx().helper.make_node(node.op, node.inputs, names, **node.attributes))
        return tuple(names)

    def constant(self, values: Any) -> str:
        """Add an initializer with constant values."""
        array = np.asarray(values)
        whole_dtype = np.dtype(np.bool_) if array.dtype == np.bool_ else np.dtype(np.int64)
        floating = array.dtype.kind == "f" or not array.size
        name = self._initializer(f"{self._layer}/constant", array.astype(self.dtype if floating else whole_dtype))
        self._constants[name] = self.values[-1]
        return name

    def values_of(self, constant: str) -> list[Any]:
        """Return the values of one of the layer's constants."""
        values: list[Any] = self._constants[constant].reshape(-1).tolist()
        return values

    def _remove_unused_constants(self) -> None:
        """Remove the layer's constants that no node reads, since an older opset has them as attributes."""
        read = {value for node in self._nodes for value in node.input}
        unused = self._constants.keys() - read
        if unused:
            kept = [at for at, each in enumerate(self.initializers) if each.name not in unused]
            self.initializers[:] = [self.initializers[at] for at in kept]
            self.values[:] = [self.values[at] for at in kept]

    def blob(self, layer: Layer, name: str, shape: Sequence[int] | None = None) -> str:
        """Add an initializer for a layer's blob. Layers that share the blob in one shape share the initializer."""
        owner = layer.owner_of(name)
        shape = tuple(getattr(layer, name).shape if shape is None else shape)
        key = id(owner), shape
        if key not in self._blobs:
            array = array_of(owner).reshape(shape)
            self._blobs[key] = self._initializer(f"{self._layer}/{name}", array.astype(self.dtype, copy=False))
        return self._blobs[key]

    def _initializer(self, name: str, array: AnyArray) -> str:
        name = self._value_names.unique(name)
        kind = onnx().helper.np_dtype_to_tensor_dtype(array.dtype)
        self.initializers.append(onnx().TensorProto(dims=array.shape, data_type=kind, name=name))
        self.values.append(array)
        return name

    def shape(self, bottom: str) -> tuple[int, ...]:
        """Return the lengths of a bottom's axes. Lengths that can change are UNKNOWN."""
        lengths, changing = self._bottoms[bottom]
        return tuple(UNKNOWN if axis in changing else length for axis, length in enumerate(lengths))

    def lengths_of(self, value: str) -> tuple[int, ...] | None:
        """Return the lengths of a value's axes, if it is a bottom of the layer."""
        return self.shape(value) if value in self._bottoms else None

    def length(self, bottom: str, axis: int) -> int:
        """Return the length of an axis, which must stay fixed from now on."""
        lengths, changing = self._bottoms[bottom]
        axis %= max(len(lengths), 1)
        if axis in changing:
            raise FixedLengthError(changing[axis].source)
        return lengths[axis]

    def at_most(self, opset: int) -> None:
        """Require an opset that isn't newer than the given one."""
        if self.opset > opset:
            raise UnsupportedOpsetError(opset)

    def to_float(self, value: str) -> str:
        """Cast a value to the net's own type."""
        kind = onnx().helper.np_dtype_to_tensor_dtype(self.dtype)
        return self.node("Cast", value, to=kind)

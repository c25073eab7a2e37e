"""A net as boxes and wires. Each box is a layer together with the layers that only change its top, and each wire is a
blob."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl.constructors import settings_field
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer, Loss, NotDeployed, Shape
from netdsl.layer.data import MakesData
from netdsl.layer.user_code import RunsUserCode
from netdsl.layers import type_of
from netdsl.model.model import Model
from netdsl.net.graph import Graph, Node, Phase

_WINDOW = "kernel_size"  # the setting of all types that slide a window over their bottom

_TIMES = " \N{MULTIPLICATION SIGN} "
_MOST_SETTINGS = 4  # maximum number of settings in a box


class LayerKind(Enum):
    """A kind of layer, as named in the legend."""

    DATA = "data"
    LEARNS_WINDOW = "weights, sliding window"
    LEARNS = "learns"
    WINDOW = "windows"
    EACH_VALUE = "element-wise"
    JOINS = "combines blobs"
    LOSS = "loss"
    MEASURE = "metric or training aid"
    USER_CODE = "user code"
    OTHER = "other"
    UNKNOWN = "unknown type"


def _kind_of(node: Node, kind: type[Layer] | None) -> LayerKind:
    """Return the kind of a layer. `kind` is its class, or `None` for an unknown type."""
    if kind is None:
        return LayerKind.UNKNOWN
    for base, layer_kind in _BASES:
        if issubclass(kind, base):
            return layer_kind
    has_window = kind.config is not None and _WINDOW in kind.config.DESCRIPTOR.fields_by_name
    if kind.blobs:
        return LayerKind.LEARNS_WINDOW if has_window else LayerKind.LEARNS
    if has_window:
        return LayerKind.WINDOW
    if len(node.bottoms) > 1:
        return LayerKind.JOINS
    return LayerKind.EACH_VALUE if _usually_in_place(kind) else LayerKind.OTHER


def _usually_in_place(kind: type[Layer]) -> bool:
    """Return whether layers of a type change each value in place, without the exceptions that Caffe checks."""
    return kind.in_place and not kind.in_place_in_caffe


_BASES: tuple[tuple[type[Layer], LayerKind], ...] = (
    (BringsData, LayerKind.DATA),
    (MakesData, LayerKind.DATA),
    (Loss, LayerKind.LOSS),
    (NotDeployed, LayerKind.MEASURE),
    (RunsUserCode, LayerKind.USER_CODE),
)


@dataclass(frozen=True)
class LayerBox:
    """A layer together with the following layers that only change its top."""

    name: str
    type: str
    kind: LayerKind
    settings: tuple[str, ...] = ()  # such as "kernel_size 5"
    folded: tuple[str, ...] = ()  # such as "relu1 (ReLU)"
    tops: tuple[str, ...] = ()  # the shapes of the tops, with names if there are several


@dataclass(frozen=True)
class BlobWire:
    """A blob: the box that computes it, and the boxes that read it, in the order of the net."""

    blob: str
    source: int
    targets: tuple[int, ...]


@dataclass(frozen=True)
class NetBoxes:
    """The boxes and wires of a net in one phase."""

    name: str
    phase: Phase
    boxes: tuple[LayerBox, ...]
    wires: tuple[BlobWire, ...]

    def kinds(self) -> list[LayerKind]:
        """Return the kinds of layers in the net, in the order of the legend."""
        present = {box.kind for box in self.boxes}
        return [kind for kind in LayerKind if kind in present]


def boxes_of(model: Model, phase: Phase | None = None) -> NetBoxes:
    """Return the boxes of a model's net in one phase: by default TEST, or TRAIN for a net without a TEST phase.

    If the layers don't fit together, as in an unfinished net, boxes have no shapes.
    """
    graph = _of_phase(model.net, model.graphs, phase)
    try:
        built = model.layers(graph.phase, stub_unknown=True)
    except NetError:
        return _Collector(graph, ()).collect()
    return _Collector(built.graph, built.shapes).collect()


def _of_phase(net: pb.NetParameter, graphs: Sequence[Graph], phase: Phase | None) -> Graph:
    for graph in graphs:
        if phase in (None, graph.phase):
            return graph
    if phase is None:
        raise NetError("the net has no layers; add layers, or name the file that contains them")
    raise NetError(
        f"net '{net.name}' has no layers that fit together in phase {phase.name}; find the reason with `zoo check`"
    )


class _Collector:
    """Collects the boxes of a graph."""

    def __init__(self, graph: Graph, shapes: Sequence[Shape]) -> None:
        self._graph, self._shapes = graph, shapes
        self._boxes: list[LayerBox] = []
        self._maker: dict[int, int] = {}  # the box of each edge
        self._readers: dict[int, list[int]] = {}
        self._reads = Counter(edge for node in graph.nodes for edge in node.bottoms)

    def collect(self) -> NetBoxes:
        """Return all boxes and wires."""
        for node in self._graph.nodes:
            self._add_node(node, type_of(node.layer))
        blobs = self._graph.blobs
        wires = [BlobWire(blobs[edge], self._maker[edge], tuple(boxes)) for edge, boxes in self._readers.items()]
        return NetBoxes(self._graph.net.name, self._graph.phase, tuple(self._boxes), tuple(wires))

    def _add_node(self, node: Node, kind: type[Layer] | None) -> None:
        host = self._box_to_fold_into(node, kind)
        if host is not None:
            box = self._boxes[host]
            folded = (*box.folded, f"{node.layer.name} ({node.layer.type})")
            self._boxes[host] = replace(box, folded=folded, tops=self._top_shapes(node))
            self._maker[node.tops[0]] = host
            return
        index = len(self._boxes)
        for edge in dict.fromkeys(node.bottoms):
            self._readers.setdefault(edge, []).append(index)
        self._maker.update(dict.fromkeys(node.tops, index))
        layer = node.layer
        settings = _stated_settings(layer, kind)
        self._boxes.append(
            LayerBox(layer.name, layer.type, _kind_of(node, kind), settings, tops=self._top_shapes(node))
        )

    def _box_to_fold_into(self, node: Node, kind: type[Layer] | None) -> int | None:
        """Return the box into which a layer can be folded, or `None`. The layer must be able to work in place there, so
        no other layer may need its bottom."""
        if kind is None or not _usually_in_place(kind) or len(node.bottoms) != 1 or len(node.tops) != 1:
            return None
        bottom = node.bottoms[0]
        host = self._maker[bottom]
        makes = [edge for edge, box in self._maker.items() if box == host and self._reads[edge]]
        is_alone = self._reads[bottom] == 1 and all(edge == bottom or edge not in self._readers for edge in makes)
        has_one_top = len(self._boxes[host].tops) == 1 or not self._shapes
        return host if is_alone and has_one_top and self._boxes[host].kind is not LayerKind.DATA else None

    def _top_shapes(self, node: Node) -> tuple[str, ...]:
        if not self._shapes:
            return ()
        shapes = [_TIMES.join(map(str, self._shapes[edge])) or "1 value" for edge in node.tops]
        names = [f"{self._graph.blobs[edge]} " if len(node.tops) > 1 else "" for edge in node.tops]
        return tuple(name + shape for name, shape in zip(names, shapes, strict=True))


def _stated_settings(layer: pb.LayerParameter, kind: type[Layer] | None) -> tuple[str, ...]:
    """Return the first settings of a layer that are numbers or words. Messages, such as fillers, are left out."""
    if kind is None or kind.config is None:
        return ()
    message: Message = getattr(layer, settings_field(kind.config))
    stated = [
        f"{setting.name} {_setting_text(setting, value)}"
        for setting, value in message.ListFields()
        if setting.message_type is None
    ]
    return tuple(stated[:_MOST_SETTINGS])


def _setting_text(setting: FieldDescriptor, value: object) -> str:
    values = value if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else [value]
    if setting.enum_type is not None:
        values = [setting.enum_type.values_by_number[int(str(number))].name for number in values]
    return " ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in values)

"""The programs that read ONNX files in their own way: with operators that ONNX doesn't define, for layers of Caffe that
they compute themselves, and without some forms of ONNX's own operators."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from caffe_proto.descriptors import enum_of
from converters.onnx.older_opsets import NewNode, OlderForm, OlderGraph, Outputs
from netdsl.layer import Layer
from netdsl.net.build import Built


@dataclass(frozen=True)
class OnnxReader:
    """What a program's reader of ONNX takes besides ONNX, and what it misreads.

    `caffe_layers` are types of layers that the program computes by operators with their names. `sized_layers` are such
    types whose layers are constants unless the size of the images is free. The operators' attributes are the layers'
    settings, with enums as numbers or as names. `misreads` names forms in `MISREAD`.
    """

    caffe_layers: tuple[str, ...] = ()
    enums_as_numbers: bool = False
    misreads: tuple[str, ...] = ()
    sized_layers: tuple[str, ...] = ()

    def other_form(self, op: str) -> OlderForm | None:
        """Return how an operator is written for the program, or `None` if ONNX's usual form is right."""
        return next((form for name in self.misreads for known, form in [MISREAD[name]] if known == op), None)

    def operator(self, layer: Layer, bottoms: Collection[str], tops: int) -> NewNode:
        """Return the operator of a layer. Its attributes are the layer's settings."""
        attributes: dict[str, Any] = {}
        for field, value in layer.layer.ListFields():
            if layer.config is not None and field.message_type is layer.config.DESCRIPTOR:
                attributes = dict(self._settings(value))
        return NewNode(layer.layer.type, list(bottoms), tops, attributes)

    def computes(self, layer_type: str, *, sized: bool) -> bool:
        """Return whether the program computes layers of a type itself. `sized` is true if the size of the images that
        they read is free."""
        return layer_type in self.caffe_layers or (sized and layer_type in self.sized_layers)

    def layers_in(self, built: Built, *, sized: bool) -> list[str]:
        """Return the names of the layers that become such operators."""
        return [node.layer.name for node in built.graph.nodes if self.computes(node.layer.type, sized=sized)]

    def _settings(self, message: Message) -> Iterator[tuple[str, Any]]:
        """Yield the settings of a message, with their defaults, and those of the messages in it, whose names say
        enough."""
        for field in message.DESCRIPTOR.fields:
            value = getattr(message, field.name)
            if field.is_repeated:
                values = list(value)
            elif message.HasField(field.name) or field.has_default_value:
                values = [value]
            else:
                continue
            if field.message_type is not None:
                for each in values:
                    yield from self._settings(each)
            elif values:
                plain = [self._plain(field, each) for each in values]
                yield field.name, plain if field.is_repeated else plain[0]

    def _plain(self, field: Any, value: Any) -> Any:
        if field.enum_type is not None and not self.enums_as_numbers:
            return enum_of(field).values_by_number[value].name
        return int(value) if isinstance(value, bool) else value


def _pad_before_1x1(g: OlderGraph, node: NewNode) -> Outputs:
    """Pad the bottom of a 1x1 convolution with an operator of its own."""
    pads = node.attributes.get("pads", [])
    if any(pads) and set(node.attributes["kernel_shape"]) == {1}:
        half = len(pads) // 2
        padded = g.node("Pad", node.inputs[0], g.constant([0, 0, *pads[:half], 0, 0, *pads[half:]]))
        node = node._replace(inputs=[padded, *node.inputs[1:]], attributes={**node.attributes, "pads": [0] * len(pads)})
    return g.add(node)


# Forms that a program misreads: the operator, and how it is written instead.
MISREAD: dict[str, tuple[str, OlderForm]] = {"padded-1x1-convolution": ("Conv", _pad_before_1x1)}

ANY_READER = OnnxReader()

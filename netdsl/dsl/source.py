"""Generated Python source code that describes a net in the DSL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.dialects import dialect_to_record, mark
from caffe_proto.locations import unlocated
from netdsl.dsl import layer_types
from netdsl.dsl.blocks import Block, fold_repetitions
from netdsl.dsl.constructors import Constructor
from netdsl.dsl.expression import INDENT, WIDTH, Expression, LayerWriter, Leaf, lines_of, quoted, settings_of
from netdsl.dsl.params import RDDLayer, net_message


@dataclass(frozen=True)
class _Program:
    """The source of a module: imports, and a body that can also run with other functions under the imported names."""

    head: str
    body: str

    def __str__(self) -> str:
        return f"{self.head}\n{self.body}\n"


def to_python(net: pb.NetParameter) -> str:
    """Return the source of a module that defines `params`, a NetParams equal to the net without its weights.

    Repeated layers become a function only if it makes exactly the same layers.
    """
    writer = LayerWriter()
    layers = [writer.layer(layer) for layer in net.layer]
    calls, blocks = fold_repetitions(
        layers, {*writer.used, *writer.unknown_types.values(), "LayerParameter", "NetParams", "params"}
    )
    folded = _program(net, writer, calls, blocks)
    plain = _program(net, writer, layers, [])
    return str(folded if _describes(folded, net) else plain)


def _program(
    net: pb.NetParameter, writer: LayerWriter, calls: Sequence[Expression], blocks: Sequence[Block]
) -> _Program:
    title = re.sub(r"[^\w .,+-]+", " ", net.name)[:80].strip() or "A net"
    imports = ["from caffe_proto.caffe_pb2 import LayerParameter"] if blocks else []
    imports += _import({*writer.used, "NetParams"})
    unknown = [f"{function} = Constructor({quoted(type_name)})" for type_name, function in writer.unknown_types.items()]
    functions = [line for block in blocks for line in ("", "", *block.source())]
    lines = [*_after_blank_lines(unknown, 1), *functions, *_after_blank_lines(_params(net, calls), 2 if blocks else 1)]
    return _Program("\n".join([f'"""{title}."""', "", *imports]), "\n".join(lines))


def _after_blank_lines(lines: list[str], blank: int) -> list[str]:
    return [*[""] * blank, *lines] if lines else []


def _params(net: pb.NetParameter, calls: Sequence[Expression]) -> list[str]:
    """Return the lines of the net, with one for each layer even if all would fit on a single line."""
    name = [Leaf(quoted(net.name))] if net.HasField("name") else []
    items = [*(("", call) for call in (*name, *calls)), *settings_of(net, without=("name", "layer"))]
    dialect = dialect_to_record(net)
    items += [("dialect=", Leaf(quoted(dialect)))] if dialect else []
    inner = [line for before, value in items for line in lines_of(value, WIDTH - len(INDENT), before, after=",")]
    return ["params = NetParams(", *(INDENT + line for line in inner), ")"] if inner else ["params = NetParams()"]


def _import(names: Iterable[str]) -> list[str]:
    """Return the import statement for names in the order of formatters: constants, classes, others."""
    ordered = sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name.lower()))
    line = f"from netdsl import {', '.join(ordered)}"
    return [line] if len(line) <= WIDTH else ["from netdsl import (", *(f"{INDENT}{name}," for name in ordered), ")"]


def _describes(program: _Program, net: pb.NetParameter) -> bool:
    """Return whether the program makes the net. It runs without builtins, and all its strings are literals."""
    names: dict[str, Any] = {name: getattr(layer_types, name) for name in layer_types.__all__}
    names |= {"Constructor": Constructor, "RDDLayer": RDDLayer, "NetParams": _message}
    names["__builtins__"] = {"float": float}
    exec(compile(program.body, "<net>", "exec"), names)
    expected = unlocated(net)
    dialect = dialect_to_record(expected)
    mark(expected, [dialect] if dialect else [])
    for layer in expected.layer:
        layer.ClearField("blobs")
    return _bytes(names["params"]) == _bytes(expected)


def _message(*name_and_layers: Any, dialect: str | None = None, **settings: Any) -> pb.NetParameter:
    return net_message(name_and_layers, settings, dialect)


def _bytes(message: Message) -> bytes:
    """Return the encoded message. Unlike `==` on messages, its bytes distinguish -0 from 0, and NaN equals NaN."""
    message.DiscardUnknownFields()
    return message.SerializePartialToString(deterministic=True)

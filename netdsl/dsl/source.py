"""A net as readable Python: the program that would describe it in the DSL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from netdsl.dsl import layer_types
from netdsl.dsl.blocks import Block
from netdsl.dsl.constructors import Constructor
from netdsl.dsl.expression import INDENT, WIDTH, Expression, Leaf, lines_of, quoted
from netdsl.dsl.folding import fold
from netdsl.dsl.friendly import RDDLayer
from netdsl.dsl.params import describe
from netdsl.dsl.writing import Writer, settings_of


@dataclass(frozen=True)
class _Program:
    """A module in two parts, of which the second can be run with names of one's choice."""

    head: str
    body: str

    def __str__(self) -> str:
        return f"{self.head}\n{self.body}\n"


def to_python(net: pb.NetParameter) -> str:
    """The source of a module with `params`, a NetParams that equals the net. Weights are left out.

    Layers that repeat become a function, if what it makes is exactly the same.
    """
    writer = Writer()
    layers = [writer.layer(layer) for layer in net.layer]
    calls, blocks = fold(layers, {*writer.used, *writer.unknown.values(), "LayerParameter", "NetParams", "params"})
    folded = _program(net, writer, calls, blocks)
    plain = _program(net, writer, layers, [])
    return str(folded if _describes(folded, net) else plain)


def _program(net: pb.NetParameter, writer: Writer, calls: Sequence[Expression], blocks: Sequence[Block]) -> _Program:
    about = re.sub(r"[^\w .,+-]+", " ", net.name)[:80].strip() or "A net"
    imports = ["from caffe_proto.caffe_pb2 import LayerParameter"] if blocks else []
    imports += _import({*writer.used, "NetParams"})
    unknown = [f"{function} = Constructor({quoted(type_name)})" for type_name, function in writer.unknown.items()]
    functions = [line for block in blocks for line in ("", "", *block.source())]
    lines = [*_apart(unknown, 1), *functions, *_apart(_params(net, calls), 2 if blocks else 1)]
    return _Program("\n".join([f'"""{about}."""', "", *imports]), "\n".join(lines))


def _apart(lines: list[str], blank: int) -> list[str]:
    return [*[""] * blank, *lines] if lines else []


def _params(net: pb.NetParameter, calls: Sequence[Expression]) -> list[str]:
    """The net itself, one layer a line, even if all would fit in one."""
    name = [Leaf(quoted(net.name))] if net.HasField("name") else []
    items = [*(("", call) for call in (*name, *calls)), *settings_of(net, without=("name", "layer"))]
    inner = [line for before, value in items for line in lines_of(value, WIDTH - len(INDENT), before, after=",")]
    return ["params = NetParams(", *(INDENT + line for line in inner), ")"] if inner else ["params = NetParams()"]


def _import(names: Iterable[str]) -> list[str]:
    """An import in the order of formatters: constants, classes, the rest."""
    ordered = sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name.lower()))
    line = f"from netdsl import {', '.join(ordered)}"
    return [line] if len(line) <= WIDTH else ["from netdsl import (", *(f"{INDENT}{name}," for name in ordered), ")"]


def _describes(program: _Program, net: pb.NetParameter) -> bool:
    """Whether running the program gives the net. Its strings are literals; there is nothing else that it could call."""
    names: dict[str, Any] = {name: getattr(layer_types, name) for name in layer_types.__all__}
    names |= {"Constructor": Constructor, "RDDLayer": RDDLayer, "NetParams": _message}
    names["__builtins__"] = {"float": float}
    exec(compile(program.body, "<net>", "exec"), names)
    wanted = pb.NetParameter()
    wanted.CopyFrom(net)
    for layer in wanted.layer:
        layer.ClearField("blobs")
    return _bytes(names["params"]) == _bytes(wanted)


def _message(*name_and_layers: Any, **settings: Any) -> pb.NetParameter:
    return describe(name_and_layers, settings)


def _bytes(message: Message) -> bytes:
    """What tells -0 from 0 and takes nan for nan, which `==` doesn't."""
    message.DiscardUnknownFields()
    return message.SerializePartialToString(deterministic=True)

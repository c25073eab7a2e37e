"""The shapes of a net's blobs for `zoo show --shapes`, and the options that shapes depend on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import CaffeError, in_file
from caffe_proto.files import CaffeFile
from caffe_proto.locations import located
from netdsl.errors import NetError
from zoo.cli.output import complain

if TYPE_CHECKING:
    from netdsl.model.data_shapes import DataShape

Shape = tuple[int, ...]
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _assumed(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Mapping[str, Shape]:
    shapes: dict[str, Shape] = {}
    for value in values:
        name, _, sizes = value.rpartition("=")
        numbers = sizes.split("x")
        if not name or not all(number.isdecimal() and int(number) for number in numbers):
            raise click.BadParameter(f"'{value}' isn't like data=3x224x224")
        shapes[name] = tuple(map(int, numbers))
    return shapes


assume: Decorator = click.option(
    "--assume",
    multiple=True,
    metavar="BLOB=SHAPE",
    callback=_assumed,
    help="The shape of a blob whose data layer doesn't say it, without the batch: data=3x224x224.",
)
stages: Decorator = click.option(
    "--stage", "stages", multiple=True, metavar="NAME", help="A stage that the net is in, for include rules."
)
level: Decorator = click.option(
    "--level",
    type=int,
    default=0,
    show_default=True,
    metavar="N",
    help="The level that the net is in, for include rules.",
)
stub_unknown: Decorator = click.option(
    "--stub-unknown", is_flag=True, help="Let layers of unknown types hand on what they get, so that the rest is seen."
)


@dataclass(frozen=True)
class TopShape:
    """One top of one layer."""

    layer: str
    type: str
    top: str
    shape: Shape


@dataclass(frozen=True)
class Shapes:
    """The shapes of all tops in each of a net's phases, what is known of its data, and the types with stubs."""

    phases: dict[str, list[TopShape]]
    data: Mapping[str, DataShape]
    stubbed: list[str]


def infer(content: CaffeFile[Message], assumed: Mapping[str, Shape], stages: tuple[str, ...], *, stub: bool) -> Shapes:
    """The shapes of a net that was read from a file, which errors name."""
    # These import torch, which takes seconds and isn't needed by `zoo show` without shapes.
    from netdsl.model.model import Model, todays_form
    from netdsl.net.placeholder_layer import unavailable_types

    if not isinstance(content.message, pb.NetParameter):
        kind = content.message.DESCRIPTOR.name
        raise NetError(f"{content.path}: has no shapes to infer: it is no net, but a {kind}")
    try:
        net = todays_form(located(content.message, content.path, content.body))
        model = Model(net, items=assumed, stages=stages)
        builts = [model.layers(phase, stub_unknown=stub) for phase in model.phases]
    except CaffeError as problem:
        raise type(problem)(in_file(content.path, problem)) from None
    phases: dict[str, list[TopShape]] = {}
    data: dict[str, DataShape] = {}
    for built in builts:
        pairs = ((node.layer, edge) for node in built.graph.nodes for edge in node.tops)
        phases[built.graph.phase.name] = [
            TopShape(layer.name, layer.type, built.graph.blobs[edge], built.shapes[edge]) for layer, edge in pairs
        ]
        data.update(model.data(built.graph.phase, stub_unknown=stub))
    return Shapes(phases, data, unavailable_types(built.graph for built in builts) if stub else [])


def complain_of_unused(assumed: Mapping[str, Shape], used: Collection[str]) -> None:
    """Warn about assumed shapes of blobs that no data layer brings, which are typos."""
    for name in assumed:
        if name not in used:
            complain(f"warning: --assume {name}: no data layer brings this blob")

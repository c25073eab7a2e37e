"""The shapes of a net's blobs: options that say how a net is looked at, and what `zoo show --shapes` shows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import click
from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from zoo.cli.output import complain

Shape = tuple[int, ...]
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _assumed(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Mapping[str, Shape]:
    found: dict[str, Shape] = {}
    for value in values:
        name, _, sizes = value.rpartition("=")
        numbers = sizes.split("x")
        if not name or not all(number.isdecimal() and int(number) for number in numbers):
            raise click.BadParameter(f"'{value}' isn't like data=3x224x224")
        found[name] = tuple(map(int, numbers))
    return found


assume: Decorator = click.option(
    "--assume",
    multiple=True,
    metavar="BLOB=SHAPE",
    callback=_assumed,
    help="The shape of a blob whose data layer doesn't say it, without the batch: data=3x224x224.",
)
stages: Decorator = click.option(
    "--stage", "stages", multiple=True, help="A stage that the net is in, for include rules."
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
    """The shapes of all tops in every phase that a net is for, with what was assumed and which types have stubs."""

    phases: dict[str, list[TopShape]]
    assumed: dict[str, Shape]
    stubbed: list[str]


def infer(file: str, message: Message, assumed: Mapping[str, Shape], stages: tuple[str, ...], *, stub: bool) -> Shapes:
    """The shapes of a net that was read from a file; an error says which one."""
    # Imported here because of torch, which takes seconds, and `zoo show` without shapes doesn't need it.
    from netdsl.checking.lint import CheckSettings, resolve_shapes
    from netdsl.open_net import todays_form

    if not isinstance(message, pb.NetParameter):
        raise NetError(f"{file}: has no shapes to infer: it is no net, but a {message.DESCRIPTOR.name}")
    try:
        found = resolve_shapes(todays_form(message), CheckSettings(assumed, stages, stub))
    except NetError as problem:
        raise type(problem)(f"{file}: {problem}") from None
    phases = {}
    for built in found.builts:
        pairs = ((node.layer, edge) for node in built.graph.nodes for edge in node.tops)
        phases[built.graph.phase.name] = [
            TopShape(layer.name, layer.type, built.graph.blobs[edge], built.shapes[edge]) for layer, edge in pairs
        ]
    return Shapes(phases, found.assumed, found.stubbed)


def complain_of_unused(assumed: Mapping[str, Shape], used: Collection[str]) -> None:
    """An assumption about a blob that no data layer brings is a typo."""
    for name in assumed:
        if name not in used:
            complain(f"warning: --assume {name}: no data layer brings this blob")

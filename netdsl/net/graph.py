"""The graph of a net for one phase: its layers, connected by edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import IntEnum

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers
from caffe_proto.errors import name_advice
from caffe_proto.limits import Limit
from caffe_proto.locations import error_label
from netdsl.errors import GraphError, NetError


class Phase(IntEnum):
    """A phase of a net. The values are Caffe's numbers."""

    TRAIN = pb.TRAIN
    TEST = pb.TEST


_PHASES = {Phase.TRAIN: pb.TRAIN, Phase.TEST: pb.TEST}


def phase_of(phase: int | str) -> Phase:
    """Return the phase with a name or with Caffe's number."""
    try:
        return Phase[phase.upper()] if isinstance(phase, str) else Phase(phase)
    except (KeyError, ValueError):
        raise NetError(f"phase {phase!r} is unknown; use TRAIN or TEST") from None


@dataclass(frozen=True)
class Node:
    """A layer with its edges, which are indices into `Graph.blobs`. A layer in place creates a new edge of the same
    name."""

    layer: pb.LayerParameter
    bottoms: tuple[int, ...]
    tops: tuple[int, ...]


@dataclass
class Graph:
    """The layers of a net in order. `blobs` contains the name of every edge. No layer reads the edges in `outputs`."""

    net: pb.NetParameter
    phase: Phase
    nodes: list[Node] = field(default_factory=list)
    blobs: list[str] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def edge_of(self, name: str) -> int:
        """Return the last edge with a name, after all layers that work in place, as Caffe does."""
        if name not in self.blobs:
            advice = name_advice(name, dict.fromkeys(self.blobs))
            raise GraphError(f"net '{self.net.name}' doesn't have the blob '{name}'; {advice}")
        return len(self.blobs) - 1 - self.blobs[::-1].index(name)

    def needed_for(self, edges: Iterable[int]) -> list[Node]:
        """Return the layers that some edges depend on, in order."""
        needed, nodes = set(edges), list[Node]()
        for node in reversed(self.nodes):
            if needed.intersection(node.tops):
                nodes.append(node)
                needed.update(node.bottoms)
        return nodes[::-1]


def resolve(net: pb.NetParameter, phase: Phase = Phase.TEST, *, level: int = 0, stages: Sequence[str] = ()) -> Graph:
    """Return the graph of the layers of a phase, level and stages. The net must be in today's form."""
    return connect(filter_layers(net, state_of(net, phase, level, stages)))


def resolve_all(net: pb.NetParameter, *, level: int = 0, stages: Sequence[str] = ()) -> list[Graph]:
    """Return the graphs of a net's phases, TEST first.

    A phase whose bottoms are missing doesn't count, such as TEST of a training net without test data. If bottoms are
    missing in both phases, the error of the first is raised.
    """
    graphs, problems = [], []
    for phase in (Phase.TEST, Phase.TRAIN):
        try:
            graph = resolve(net, phase, level=level, stages=stages)
        except GraphError as problem:
            problems.append(problem)
        else:
            graphs += [graph] if graph.nodes else []
    if problems and not graphs:
        raise problems[0]
    return graphs


def with_input_layer(net: pb.NetParameter) -> pb.NetParameter:
    """Return a net whose inputs without shapes are tops of a layer, so that they can get shapes. Caffe drops such
    inputs."""
    if not net.input:
        return net
    made = copy_of(net)
    made.layer.insert(0, pb.LayerParameter(name="input", type="Input", top=made.input))
    made.ClearField("input")
    return made


def state_of(net: pb.NetParameter, phase: Phase, level: int = 0, stages: Sequence[str] = ()) -> pb.NetState:
    """Return the state of a net. By Caffe's rule, phase and level replace the net's own, and stages are added to its
    own."""
    state = copy_of(net.state)
    state.phase, state.level = _PHASES[phase], level
    state.stage.extend([stages] if isinstance(stages, str) else stages)
    return state


def filter_layers(net: pb.NetParameter, state: pb.NetState) -> pb.NetParameter:
    """Return a copy of a net with only the layers of a state, and with that state."""
    filtered = with_layers(net, (layer for layer in net.layer if is_included(layer, state)))
    filtered.state.CopyFrom(state)
    return filtered


def without_layers(net: pb.NetParameter, goes: Callable[[pb.LayerParameter], bool]) -> pb.NetParameter:
    """Return a copy of a net without some layers, and without layers that read tops only these layers produce."""
    layers, made, gone = list[pb.LayerParameter](), set[str](), set[str]()
    for layer in net.layer:
        if goes(layer) or gone.intersection(layer.bottom):
            gone.update(top for top in layer.top if top not in made)
        else:
            layers.append(layer)
            made.update(layer.top)
            gone.difference_update(layer.top)
    return with_layers(net, layers)


def net_of(net: pb.NetParameter, layers: Iterable[pb.LayerParameter]) -> pb.NetParameter:
    """Return a copy of a net with some layers in place of its own. The layers have no rules that could exclude them."""
    return with_layers(net, (copy_of(layer, without=("include", "exclude")) for layer in layers))


def resolve_own_state(net: pb.NetParameter) -> Graph:
    """Return the graph of the layers in the net's own state. The graph has its own copies of the messages."""
    return connect(filter_layers(net, net.state))


def connect(net: pb.NetParameter) -> Graph:
    """Return the graph of a net whose layers all belong to its state."""
    Limit.LAYERS.check(len(net.layer), "the net")
    graph = Graph(net, Phase(net.state.phase))
    current: dict[str, int] = {}  # the latest edge of each name
    unread: dict[int, None] = {}  # edges, in the order of the file
    for layer in net.layer:
        _add(graph, layer, current, unread)
    graph.outputs = list(unread)
    return graph


def is_included(layer: pb.LayerParameter, state: pb.NetState) -> bool:
    """Return whether a layer belongs to a state. By Caffe's rule, a matching `include` includes it, and a matching
    `exclude` excludes it."""
    if layer.include and layer.exclude:
        raise GraphError(
            f"{error_label(layer)}: there are include and exclude rules, but Caffe accepts only one kind; "
            "remove the include rules or the exclude rules"
        )
    if layer.include:
        return any(matches_rule(state, rule) for rule in layer.include)
    return not any(matches_rule(state, rule) for rule in layer.exclude)


def matches_rule(state: pb.NetState, rule: pb.NetStateRule) -> bool:
    """Return whether a state satisfies a rule."""
    return (
        (not rule.HasField("phase") or rule.phase == state.phase)
        and (not rule.HasField("min_level") or state.level >= rule.min_level)
        and (not rule.HasField("max_level") or state.level <= rule.max_level)
        and set(rule.stage) <= set(state.stage)
        and not set(rule.not_stage) & set(state.stage)
    )


def _add(graph: Graph, original: pb.LayerParameter, current: dict[str, int], unread: dict[int, None]) -> None:
    layer = copy_of(original)
    if not layer.HasField("phase"):
        layer.phase = _PHASES[graph.phase]
    if layer.propagate_down and len(layer.propagate_down) != len(layer.bottom):
        what = f"{len(layer.propagate_down)} propagate_down values for {len(layer.bottom)} bottoms"
        raise GraphError(f"{error_label(layer)}: there are {what}; give one for each or none")
    bottoms = tuple(_bottom(layer, name, current) for name in layer.bottom)
    for edge in bottoms:
        unread.pop(edge, None)
    tops = []
    for index, name in enumerate(layer.top):
        in_place = index < len(layer.bottom) and layer.bottom[index] == name
        if name in current and not in_place:
            raise GraphError(
                f"{error_label(layer)}: top '{name}' is also a top of {_describe_source(graph, current[name])}; "
                "rename one of them"
            )
        current[name] = len(graph.blobs)
        graph.blobs.append(name)
        tops.append(current[name])
    unread.update(dict.fromkeys(tops))
    graph.nodes.append(Node(layer, bottoms, tuple(tops)))


def _bottom(layer: pb.LayerParameter, name: str, current: dict[str, int]) -> int:
    if name not in current:
        raise GraphError(
            f"{error_label(layer)}: bottom '{name}' isn't a top of any layer before it{_suggestion(name, current)}"
        )
    return current[name]


def _suggestion(name: str, known: Iterable[str]) -> str:
    matches = get_close_matches(name, list(known), 1)
    return (
        f"; did you mean '{matches[0]}'?"
        if matches
        else "; correct the name, or move the layer that makes it before this one"
    )


def _describe_source(graph: Graph, edge: int) -> str:
    return next((f"layer '{node.layer.name}'" for node in graph.nodes if edge in node.tops), "the same layer")

"""Builds the layers of a graph: looks up types, infers shapes and shares blobs. No memory is allocated here."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from traceback import walk_tb

import torch
from torch import Tensor, nn

from caffe_proto import caffe_pb2 as pb
from caffe_proto.errors import LimitError, few
from caffe_proto.locations import error_label, place
from netdsl.errors import (
    DialectWarning,
    NetError,
    ShapeError,
    UnknownLayerError,
    memory_shortage,
    range_problem,
    user_code_problem,
)
from netdsl.html_table import html_table
from netdsl.layer import BringsData, Layer, Loss, Shape
from netdsl.layer.blobs import LayerBlobs
from netdsl.layer.core import DialectDoubt
from netdsl.layer.running import KeepsState
from netdsl.layers import meaning_of, type_of
from netdsl.net.compute_precision import ComputePrecision, products_of
from netdsl.net.graph import Graph, Node
from netdsl.net.placeholder_layer import PlaceholderLayer, is_unavailable

AUTOMATIC = "(automatic)"
_NEW_TYPE = (
    "; if a plug-in contains it, use --plugin MODULE, or add it as in 'How to add a layer type' in CONTRIBUTING.md"
)


@dataclass
class Owner:
    """The layer that created a named parameter, the blob's name there, and the multipliers that any layer set for
    it."""

    layer: Layer
    blob: str
    multipliers: dict[str, float] = field(default_factory=dict)


Owners = dict[str, Owner]  # owners by parameter name


@dataclass
class Built:
    """A graph with a layer for every node and a shape for every edge."""

    graph: Graph
    layers: list[Layer] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)

    def with_own_blobs(self) -> Built:
        """Return copies of the layers that share everything but blobs with these. Blobs of the copies can get memory
        separately."""
        copies: dict[LayerBlobs, Layer] = {layer: layer.with_own_blobs() for layer in self.layers}
        for layer in copies.values():
            layer.share_with_copies(copies)
        return Built(self.graph, list(copies.values()), list(self.shapes))

    def pairs(self) -> list[tuple[Node, Layer]]:
        """Return the nodes in order, each with its layer."""
        return list(zip(self.graph.nodes, self.layers, strict=True))

    def data_layers(self) -> list[tuple[Node, BringsData]]:
        """Return the layers whose tops come from outside the net."""
        return [(node, layer) for node, layer in self.pairs() if isinstance(layer, BringsData)]

    def remembering_layers(self) -> list[tuple[Node, KeepsState]]:
        """Return the layers that carry a state from one batch to the next."""
        return [(node, layer) for node, layer in self.pairs() if isinstance(layer, KeepsState) and layer.kept()]

    def input_edges(self) -> list[int]:
        """Return the edges whose values come from outside the net."""
        return [edge for node, _ in self.data_layers() for edge in node.tops]

    def blob_text(self, edges: Iterable[int]) -> str:
        """Return the names of blobs with their shapes."""
        return ", ".join(f"{self.graph.blobs[edge]} {'x'.join(map(str, self.shapes[edge]))}".strip() for edge in edges)

    def size_text(self) -> str:
        """Return the phase, and the number of layers and of weights; weights that layers share count once."""
        count = f"{len(self.layers)} layer{'' if len(self.layers) == 1 else 's'}"
        shared_once = {id(tensor): tensor.numel() for layer in self.layers for tensor in layer.blob_tensors()}
        return f"{self.graph.phase.name}, {count}, {sum(shared_once.values()):,} weights"

    def html(self, caption: str) -> str:
        """Return a table of the layers with their shapes and numbers of weights, for notebooks."""
        rows = [
            (
                node.layer.name,
                node.layer.type,
                ", ".join(node.layer.bottom),
                self.blob_text(node.tops),
                f"{sum(tensor.numel() for tensor in layer.blob_tensors()):,}" if layer.blob_names() else "",
            )
            for node, layer in self.pairs()
        ]
        return html_table(caption, ("layer", "type", "bottoms", "tops", "weights"), rows)


def build(graph: Graph, *, stub_unknown: bool = False) -> Built:
    """Create the layers of a graph in order and infer all shapes.

    Warns of layers whose settings mean something else in other dialects. With `stub_unknown`, placeholders replace
    layers whose type is unknown or whose code isn't allowed to run.
    """
    built = infer(graph, stub_unknown=stub_unknown)
    warn_of_doubts(built)
    return built


def infer(graph: Graph, *, stub_unknown: bool = False) -> Built:
    """Create the layers of a graph in order and infer all shapes, without warnings. This is for trying out shapes."""
    if not stub_unknown:
        _check_types(graph)
    built = Built(graph, shapes=[()] * len(graph.blobs))
    owners: Owners = {}
    for index, node in enumerate(graph.nodes):
        with at_layer(node.layer):
            graph.nodes[index] = node = _with_automatic_top(graph, node)
            built.shapes += [()] * (len(graph.blobs) - len(built.shapes))
            _build_node(built, node, owners, stub_unknown=stub_unknown)
    return built


def warn_of_doubts(built: Built) -> None:
    """Warn of settings that mean something else in other dialects, once for all layers that have them."""
    for doubt in doubts_of(built):
        advice = "if the net is for another fork of Caffe, name its dialect"
        warnings.warn(f"{doubt.sentence}; {advice}", DialectWarning, stacklevel=3)


def doubts_of(built: Built) -> list[DialectDoubt]:
    """Return the settings that mean something else in other dialects, each with the first layer that has it."""
    layers: dict[str, list[pb.LayerParameter]] = {}
    dialects: dict[str, dict[str, None]] = {}
    for node, layer in built.pairs():
        for doubt in layer.doubts:
            layers.setdefault(doubt.sentence, []).append(node.layer)
            dialects.setdefault(doubt.sentence, {}).update(dict.fromkeys(doubt.dialects))
    doubts = []
    for sentence, (first, *others) in layers.items():
        more = f" and {len(others)} more" if others else ""
        doubts.append(DialectDoubt(f"{error_label(first)}{more}: {sentence}", tuple(dialects[sentence])))
    return doubts


def reshape(built: Built, inputs: Mapping[int, Shape]) -> None:
    """Infer all shapes again from the shapes of some edges. The layers stay the same."""
    for node, layer in built.pairs():
        if isinstance(layer, BringsData):
            for edge in node.tops:
                built.shapes[edge] = inputs.get(edge, built.shapes[edge])
        else:
            with at_layer(node.layer):
                _infer(built, node, layer)


def set_batch(built: Built, batch: int) -> None:
    """Change the batch size of the first input, and of all inputs with the same batch size."""
    shapes = {edge: built.shapes[edge] for edge in built.input_edges()}
    own = next((shape[0] for shape in shapes.values() if shape), None)
    if own is None:
        raise NetError(
            "the net has no input with a batch size, because its layers create their data themselves; name a net "
            "with an Input layer"
        )
    reshape(built, {edge: (batch, *shape[1:]) for edge, shape in shapes.items() if shape[:1] == (own,)})


def check_fillers(built: Built) -> None:
    """Raise a `NetError` if a layer's blobs can't get their first values. Nets whose weights are loaded don't need
    these."""
    for node, layer in built.pairs():
        with at_layer(node.layer):
            layer.check_fillers()


def unknown_types(graph: Graph) -> list[Node]:
    """Return the nodes of unknown types."""
    return [node for node in graph.nodes if type_of(node.layer) is None]


def _check_types(graph: Graph) -> None:
    """Raise an `UnknownLayerError` that lists all unknown types, because a user who adds one needs to know the
    others."""
    nodes, unknown = unknown_types(graph), dict[str, list[str]]()
    for node in nodes:
        if not node.layer.type:
            raise UnknownLayerError(f"{error_label(node.layer)}: the type is missing; set it, as in type: 'ReLU'")
        unknown.setdefault(node.layer.type, []).append(node.layer.name)
    if not nodes:
        return
    near = {kind: match for kind in unknown if (match := meaning_of(kind)) is not None}
    parts = [
        f"'{kind}' (layers {few(names, 3)}{f', did you mean {near[kind]}?' if kind in near else ''})"
        for kind, names in unknown.items()
    ]
    advice = "" if near.keys() == unknown.keys() else _NEW_TYPE
    raise UnknownLayerError(f"{place(nodes[0].layer)}unknown layer type {'; '.join(parts)}{advice}")


@contextmanager
def at_layer(layer: pb.LayerParameter) -> Iterator[None]:
    """Add the layer's name to any error raised in the block."""
    try:
        yield
    except Exception as problem:
        named = _with_layer(problem, layer)
        if named is None:
            raise
        raise named from problem


@contextmanager
def running(
    built: Built,
    inputs: Mapping[int, Tensor] | None = None,
    precision: ComputePrecision = ComputePrecision.EXACT,
) -> Iterator[None]:
    """Run the net in a precision, and add the name of the layer that ran to any error.

    The layer is found as `self` in the error's frames. The error also names the inputs, given by edge, that don't have
    the shapes that the net states.
    """
    shapes = {edge: tuple(tensor.shape) for edge, tensor in (inputs or {}).items()}
    try:
        with products_of(precision):
            yield
    except Exception as problem:
        layers = {id(layer): index for index, layer in enumerate(built.layers)}
        indices = (layers.get(id(frame.f_locals.get("self"))) for frame, _ in walk_tb(problem.__traceback__))
        index = next((index for index in indices if index is not None), None)
        named = None if index is None else _with_layer(problem, built.graph.nodes[index].layer)
        if named is None:
            raise
        raise type(named)(f"{named}{_other_inputs(built, shapes)}") from problem


def _other_inputs(built: Built, shapes: Mapping[int, Shape]) -> str:
    """Return a clause for an error about inputs that don't have the shapes that the net states."""
    words = [
        f"'{built.graph.blobs[edge]}' has shape {list(shape)}, but was built for {list(built.shapes[edge])}"
        for edge, shape in shapes.items()
        if built.shapes[edge] not in ((), shape)
    ]
    return f"; input {', '.join(words)}" if words else ""


def _with_layer(problem: Exception, layer: pb.LayerParameter) -> NetError | LimitError | None:
    """Return the same problem with the layer's name, or `None` if it is the user's own exception or a bug in netdsl."""
    if user_code_problem(problem) is not None:
        return None
    where, reason = error_label(layer), next(iter(str(problem).splitlines()), "")
    if isinstance(problem, (NetError, LimitError)):
        return type(problem)(f"{where}: {problem}")
    shortage = memory_shortage(problem)
    if shortage is not None:
        return NetError(f"{where}: {shortage}")
    out_of_range = range_problem(problem)
    if out_of_range is not None:
        return NetError(f"{where}, or a layer before it: {out_of_range}")  # GPUs report errors late
    if isinstance(problem, (RuntimeError, ValueError, IndexError, TypeError, ZeroDivisionError)):
        return ShapeError(f"{where} ({layer.type}): {reason or type(problem).__name__}")
    return None


def _with_automatic_top(graph: Graph, node: Node) -> Node:
    """Add an automatic top to a loss without tops. By Caffe's rule, the loss has one that no layer can read."""
    kind = type_of(node.layer)
    if node.tops or kind is None or not issubclass(kind, Loss):
        return node
    node.layer.top.append(AUTOMATIC)
    graph.blobs.append(AUTOMATIC)
    return replace(node, tops=(len(graph.blobs) - 1,))


def _build_node(built: Built, node: Node, owners: Owners, *, stub_unknown: bool) -> None:
    kind = type_of(node.layer)
    if stub_unknown and is_unavailable(node.layer):
        kind = PlaceholderLayer
    assert kind is not None
    bottoms = [built.shapes[edge] for edge in node.bottoms]
    layer = kind(node.layer, bottoms)
    _check_in_place(node, layer)
    _share(layer, owners, force=built.graph.net.force_backward)
    built.layers.append(layer)
    _infer(built, node, layer)
    _check_empty(built, node)


def _check_in_place(node: Node, layer: Layer) -> None:
    if layer.works_in_place() and not layer.in_place:
        shared = next(name for name in node.layer.top if name in node.layer.bottom)
        raise NetError(
            f"a layer of type {node.layer.type} can't work in place, but '{shared}' is both bottom and top; rename "
            "the top"
        )


def _check_empty(built: Built, node: Node) -> None:
    """Raise a `ShapeError` if a top has no values, because Caffe doesn't give it memory.

    A built net can still be reshaped to an empty batch.
    """
    for edge in node.tops:
        if 0 in built.shapes[edge]:
            what = f"top '{built.graph.blobs[edge]}' has shape {list(built.shapes[edge])}, which has no values"
            raise ShapeError(f"{what}; make every length 1 or more")


def _infer(built: Built, node: Node, layer: Layer) -> None:
    shapes = layer.top_shapes([built.shapes[edge] for edge in node.bottoms])
    if len(shapes) < len(node.tops):
        raise ShapeError(f"the layer has {len(shapes)} tops, but the net names {len(node.tops)}; remove the last ones")
    for edge, shape in zip(node.tops, shapes, strict=False):
        if any(length < 0 for length in shape):
            raise ShapeError(
                f"top '{built.graph.blobs[edge]}' has shape {list(shape)}, but no length can be negative; correct "
                "the shapes of the layers before it"
            )
        torch.empty(shape, device="meta")  # fails if the size overflows
        built.shapes[edge] = shape


def _share(layer: Layer, owners: Owners, *, force: bool) -> None:
    """Share the named parameters of a layer.

    Caffe's rule: parameters with the same name are one parameter. STRICT requires equal shapes, PERMISSIVE equal
    counts. Each layer may set a parameter's multipliers, but not to different values. A parameter whose lr_mult is 0
    doesn't need a gradient, unless the net forces gradients everywhere.
    """
    names = layer.blob_names()
    if len(layer.layer.param) > len(names):
        raise NetError(
            f"there are {len(layer.layer.param)} param messages for {len(names)} blobs; remove the last ones"
        )
    for name, spec in zip(names, layer.layer.param, strict=False):
        blob = getattr(layer, name)
        if spec.lr_mult == 0 and not force and isinstance(blob, nn.Parameter):
            blob.requires_grad_(False)
        if not spec.name:
            continue
        owner = owners.setdefault(spec.name, Owner(layer, name))
        if owner.layer is not layer:
            _share_one(layer, name, owner.layer, owner.blob, permissive=spec.share_mode == spec.PERMISSIVE)
        _merge_multipliers(owner, spec)


def _merge_multipliers(owner: Owner, spec: pb.ParamSpec) -> None:
    for name in ("lr_mult", "decay_mult"):
        value = getattr(spec, name)
        if spec.HasField(name) and owner.multipliers.setdefault(name, value) != value:
            whose = f"the parameter '{spec.name}', which it shares with layer '{owner.layer.layer.name}',"
            values = f"is {owner.multipliers[name]:g} there and {value:g} here"
            raise NetError(f"{name} of {whose} {values}; set it in only one of the layers, or to the same value in all")


def _share_one(layer: Layer, name: str, owner: Layer, owned: str, *, permissive: bool) -> None:
    mine, theirs = getattr(layer, name), getattr(owner, owned)
    if mine.shape == theirs.shape:
        setattr(layer, name, theirs)
    elif permissive and mine.numel() == theirs.numel():
        layer.share_reshaped(name, owner, owned)
    else:
        shapes = f"{list(theirs.shape)} there and {list(mine.shape)} here"
        raise ShapeError(
            f"the parameter that it shares with layer '{owner.layer.name}' has shape {shapes}; give both layers "
            "the same settings, or rename the parameter in one of them"
        )

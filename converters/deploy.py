"""The net to deploy, made from the one that was trained: data become inputs, losses become what they predict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from caffe_proto import caffe_pb2 as pb
from converters.deploy_layers import cleaned, instead, predicting
from netdsl.checking.lint import CheckSettings, in_todays_form, resolve_shapes
from netdsl.checking.shape_guesses import assume
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer, Loss, NotDeployed, Shape
from netdsl.layer.data import INPUT_TYPE
from netdsl.layer.user_code import RunsUserCode
from netdsl.layers import LAYERS
from netdsl.net.build import Types, type_of
from netdsl.net.graph import Graph, Node, resolve_all

__all__ = ["deploy"]

_PREDICTION = "prob"  # what Caffe's own deploy nets call a prediction
_NO_SHAPES: Mapping[str, Shape] = {}

Kind = type[Layer] | None


@dataclass
class _Plan:
    """What becomes of the layers of a graph; those that aren't in `replaced` stay, if something needs them."""

    graph: Graph
    kinds: list[Kind]
    training: list[Node]  # the layers of the net that is trained, where that is another one
    removed: set[int] = field(default_factory=set)
    replaced: dict[int, pb.LayerParameter] = field(default_factory=dict)  # layers in the place of others
    read: dict[int, int] = field(default_factory=dict)  # the edge that each of those reads
    needed: set[int] = field(default_factory=set)  # edges


def deploy(
    net: pb.NetParameter,
    *,
    shapes: Mapping[str, Shape] = _NO_SHAPES,
    batch: int | None = None,
    stages: Sequence[str] = (),
    types: Types = LAYERS,
) -> pb.NetParameter:
    """The net for whoever uses it: of its TEST phase, or of TRAIN if it has no other.

    Data layers become inputs, of `shapes` without the batch where those are given, and a batch of 1 where none is.
    Losses become their predictions. Layers that only measure go, and so does what only fed them: labels, and branches
    whose loss weighs less than another one with the same labels. Fields that only training needs are left out.
    """
    whole = _told(in_todays_form(net), shapes, stages, types)
    graphs = resolve_all(whole, stages=stages)
    if not graphs:
        raise NetError(f"net '{net.name}' has no layers")
    graph = graphs[0]
    plan = _Plan(
        graph, [type_of(node, types) for node in graph.nodes], [node for other in graphs[1:] for node in other.nodes]
    )
    _remove(plan)
    _predict(plan, types)
    _need(plan)
    return _written(plan, batch, types)


def _told(net: pb.NetParameter, shapes: Mapping[str, Shape], stages: Sequence[str], types: Types) -> pb.NetParameter:
    """The net, whose data layers know the shapes that are given, or with which the net works."""
    with suppress(NetError):  # whether the net works is for whoever builds it to say
        shapes = {**resolve_shapes(net, CheckSettings(shapes, stages, True, types)).assumed, **shapes}
    assume(net, shapes, types)
    return net


def _remove(plan: _Plan) -> None:
    """Layers that are for training or testing only go, and so do all that read what they make."""
    gone: set[int] = set()
    for index, (node, kind) in enumerate(zip(plan.graph.nodes, plan.kinds, strict=True)):
        if (kind is not None and issubclass(kind, NotDeployed)) or gone.intersection(node.bottoms):
            plan.removed.add(index)
            gone.update(node.tops)


def _predict(plan: _Plan, types: Types) -> None:
    """Find what the deploy net ends in: what losses predict, or without any what is measured; and other outputs."""
    nodes, learned = plan.graph.nodes, _learned(plan)
    losses = _heads(plan)
    for index in losses or sorted(plan.removed):
        kind = plan.kinds[index]
        read = [nodes[index].bottoms[place] for place in _predictions(kind)]
        found = [edge for edge in read if edge in learned] or read[:1]
        loss = nodes[index] if losses else _loss_of(plan, found, types)
        if loss is None or not found or not _replace(plan, index, loss, found[0], types):
            plan.needed.update(found)
    _name(plan)
    outside = {edge for node, kind in zip(nodes, plan.kinds, strict=True) if _is_data(node, kind) for edge in node.tops}
    gone = {edge for index in plan.removed for edge in nodes[index].tops}
    plan.needed.update(set(plan.graph.outputs) & learned - outside - gone)
    if not plan.needed and not plan.read:  # all that there is may be silenced
        plan.needed.update(edge for index in plan.removed for edge in nodes[index].bottoms if edge in learned)


def _learned(plan: _Plan) -> set[int]:
    """The edges that depend on layers that learn; a layer of an unknown type may."""
    found: set[int] = set()
    for node, kind in zip(plan.graph.nodes, plan.kinds, strict=True):
        learns = bool(node.bottoms) if kind is None or issubclass(kind, RunsUserCode) else bool(kind.blobs)
        if learns or found.intersection(node.bottoms):
            found.update(node.tops)
    return found


def _heads(plan: _Plan) -> list[int]:
    """The losses that count: of those with the same labels the ones that weigh most; others only helped to train."""
    weights: dict[int, float] = {}
    groups: dict[tuple[int, ...], float] = {}
    for index in sorted(plan.removed):
        node, kind = plan.graph.nodes[index], plan.kinds[index]
        if kind is None or not issubclass(kind, Loss):
            continue
        weights[index] = node.layer.loss_weight[0] if node.layer.loss_weight else 1.0
        labels = _labels(node, kind)
        groups[labels] = max(groups.get(labels, 0.0), weights[index])
    nodes, kinds = plan.graph.nodes, plan.kinds
    return [index for index, weight in weights.items() if weight >= groups[_labels(nodes[index], kinds[index])]]


def _labels(node: Node, kind: Kind) -> tuple[int, ...]:
    """The bottoms of a loss that aren't predictions; where all can be, the last."""
    predictions = _predictions(kind)
    rest = tuple(edge for place, edge in enumerate(node.bottoms) if place not in predictions)
    return rest or node.bottoms[-1:]


def _predictions(kind: Kind) -> tuple[int, ...]:
    return kind.predictions if kind is not None and issubclass(kind, NotDeployed) else ()


def _loss_of(plan: _Plan, edges: Sequence[int], types: Types) -> Node | None:
    """The loss that is taken in training of what is measured in tests, where no loss is."""
    names = {plan.graph.blobs[edge] for edge in edges}
    losses = ((node, type_of(node, types)) for node in plan.training if names.intersection(node.layer.bottom[:1]))
    return next((node for node, kind in losses if kind is not None and issubclass(kind, Loss)), None)


def _replace(plan: _Plan, index: int, loss: Node, edge: int, types: Types) -> bool:
    """Put the layer that a loss stands for in a layer's place, unless the net has that already."""
    kind = type_of(loss, types)
    if kind is None or kind.deploys_as is None:
        return False
    for other, found in enumerate(plan.graph.nodes):
        if found.layer.type == kind.deploys_as and found.bottoms == (edge,) and other not in plan.removed:
            plan.needed.update(found.tops)
            return True
    if edge not in plan.read.values():
        plan.read[index] = edge
        plan.replaced[index] = predicting(loss.layer, kind, types[kind.deploys_as], plan.graph.blobs[edge])
    return True


def _name(plan: _Plan) -> None:
    """A single prediction is called as in Caffe's own deploy nets, one of several after the blob that it is made of."""
    graph = plan.graph
    taken = {node.layer.name for index, node in enumerate(graph.nodes) if index not in plan.removed}
    taken.update(graph.blobs)
    for index, layer in plan.replaced.items():
        name = _PREDICTION if len(plan.replaced) == 1 else f"{graph.blobs[plan.read[index]]}_{_PREDICTION}"
        layer.name = name if name not in taken else f"{layer.name}_{_PREDICTION}"
        if not layer.top:
            layer.top.append(layer.name)


def _need(plan: _Plan) -> None:
    """From the end to the beginning: the edges that the predictions are made of."""
    plan.needed.update(plan.read.values())
    for index in reversed(range(len(plan.graph.nodes))):
        node = plan.graph.nodes[index]
        if index not in plan.removed and plan.needed.intersection(node.tops):
            plan.needed.update(node.bottoms[:1] if _gives_way(node, plan.kinds[index]) else node.bottoms)


def _gives_way(node: Node, kind: Kind) -> bool:
    """Whether a layer amid the net does something for training only, and hands its first bottom on without that."""
    replaced = kind is not None and not issubclass(kind, NotDeployed) and kind.deploys_as is not None
    return bool(node.bottoms) and replaced


def _written(plan: _Plan, batch: int | None, types: Types) -> pb.NetParameter:
    """A copy of the net with the layers that are left."""
    net = pb.NetParameter()
    net.CopyFrom(plan.graph.net)
    for name in ("layer", "state", "force_backward"):
        net.ClearField(name)
    net.layer.extend(_layers(plan, batch, types))
    if not net.layer:
        raise NetError(f"net '{net.name}' predicts nothing: no layer that learns is read by a loss, or is an output")
    return net


def _layers(plan: _Plan, batch: int | None, types: Types) -> Iterator[pb.LayerParameter]:
    brings = _sources(plan)
    for index, (node, kind) in enumerate(zip(plan.graph.nodes, plan.kinds, strict=True)):
        if index in plan.replaced:
            yield cleaned(plan.replaced[index], kind)
        elif index in plan.removed or not plan.needed.intersection(node.tops):
            continue
        elif index in brings:
            yield _input(plan, index, batch, types)
        elif kind is not None and kind.deploys_as is not None and _gives_way(node, kind):
            yield cleaned(instead(node.layer, kind, types[kind.deploys_as]), kind)
        else:
            yield cleaned(node.layer, kind)


def _is_data(node: Node, kind: Kind) -> bool:
    """Whether a layer brings data: by its type, or as private code that reads nothing."""
    return not node.bottoms and (kind is None or issubclass(kind, (BringsData, RunsUserCode)))


def _sources(plan: _Plan) -> set[int]:
    """The layers that become inputs. Made-up data are data only where there is nothing else."""
    pairs = list(enumerate(zip(plan.graph.nodes, plan.kinds, strict=True)))
    needed = [(index, each) for index, each in pairs if plan.needed.intersection(each[0].tops)]
    found = {index for index, (node, kind) in needed if _is_data(node, kind)}
    made_up = {index for index, (node, kind) in needed if not node.bottoms and kind is not None and kind.deploys_as}
    return found or made_up


def _input(plan: _Plan, index: int, batch: int | None, types: Types) -> pb.LayerParameter:
    """An input in the place of a layer that brings data: of those tops that something needs."""
    node, kind = plan.graph.nodes[index], plan.kinds[index]
    shapes = dict(zip(node.tops, _shapes(node.layer, kind), strict=False))
    made = pb.LayerParameter(name=node.layer.name, type=INPUT_TYPE)
    for edge in node.tops:
        if edge not in plan.needed:
            continue
        name, shape = plan.graph.blobs[edge], shapes.get(edge, ())
        if not shape and not (kind and issubclass(kind, BringsData)):
            raise NetError(
                f"layer '{node.layer.name}': nothing says the shape of '{name}'; give it, as in {name}=3x224x224"
            )
        made.top.append(name)
        first = batch or (1 if kind is None or kind.deploys_as else shape[0] if shape else 1)
        made.input_param.shape.add(dim=(first, *shape[1:]) if shape else ())
    return made


def _shapes(layer: pb.LayerParameter, kind: Kind) -> list[Shape]:
    """What a layer's settings say that it brings; for private code only what is assumed."""
    alone = pb.LayerParameter()
    alone.CopyFrom(layer)
    if kind is None or issubclass(kind, RunsUserCode):
        return [tuple(shape.dim) for shape in layer.input_param.shape]
    return kind(alone, []).top_shapes([])

"""A net for other classes: its heads are new, some layers stay as they are, and it reads other data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain, count

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers
from caffe_proto.errors import few
from netdsl.dsl import Accuracy, Data, SoftmaxWithLoss
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer, Loss, NotDeployed
from netdsl.layer.core import add_specs
from netdsl.layers import LAYERS, type_of
from netdsl.model.deploy.deploy_layers import settings_field
from netdsl.model.deploy.predictions import loss_predictions
from netdsl.model.model import Model
from netdsl.net.graph import Graph, Node
from netdsl.net.placeholder_layer import is_unavailable

ACCURACY = "accuracy"  # the top that tells how good the net is
HEAD_RATE = 10.0  # times the rate of other layers, as in Caffe's own recipe

_LABEL = "label"
_OUTPUTS = "num_output"  # in the settings of every type whose outputs are a matter of choice
_PROBABILITIES = LAYERS.own()[SoftmaxWithLoss.__name__].deploys_as  # the type that makes them of scores


@dataclass(frozen=True)
class DataLayers:
    """What the net reads: a source, a batch and the preparation of images, for each phase."""

    sources: Mapping[pb.Phase, str]
    batches: Mapping[pb.Phase, int]
    transforms: Mapping[pb.Phase, pb.TransformationParameter]


@dataclass(frozen=True)
class TunableModel:
    """A model that learns other classes, with the new names of its heads by the old ones, and the layers that stay."""

    model: Model
    heads: dict[str, str]
    frozen: tuple[str, ...]


def heads_of(model: Model, replaced: Mapping[str, int | None], classes: int) -> dict[str, int]:
    """Return the layers that are replaced, and their numbers of outputs: those that are named, or those that are
    found."""
    name, layers = model.net.name, {layer.name for layer in model.net.layer}
    for head in replaced:
        if head not in layers:
            raise NetError(f"net '{name}' has no layer '{head}' to replace")
    heads = dict(replaced) or dict.fromkeys(_head_names(model))
    if not heads:
        raise NetError(
            f"net '{name}': no layer makes the outputs that a loss compares with labels; name the one to replace, "
            "as in --replace fc8:20"
        )
    return {head: outputs or classes for head, outputs in heads.items()}


def _head_names(model: Model) -> list[str]:
    """Return the names of a net's heads, which make what losses compare with labels or, if there are none, the net's
    outputs.

    A net with losses that only help training, as GoogLeNet has, has a head for each.
    """
    edges = [(graph, edge) for graph in model.graphs for edge in _compared(graph)]
    if not edges:
        edges = [(graph, edge) for graph in model.graphs[:1] for edge in graph.outputs]
    heads = (_head(graph, edge) for graph, edge in edges)
    return list(dict.fromkeys(head for head in heads if head is not None))


def _compared(graph: Graph) -> list[int]:
    """Return what losses compare with labels."""
    return [
        node.bottoms[place]
        for node in graph.nodes
        for kind in [type_of(node.layer)]
        if kind is not None and issubclass(kind, Loss) and len(node.bottoms) > 1
        for place in kind.predictions
        if place < len(node.bottoms)
    ]


def _head(graph: Graph, edge: int) -> str | None:
    """Return the nearest layer above a blob that makes a chosen number of outputs; None where blobs come together
    before."""
    makers = {top: node for node in graph.nodes for top in node.tops}
    node: Node | None = makers.get(edge)
    while node is not None and node.bottoms:
        if _outputs_field(node.layer, type_of(node.layer)) is not None:
            return node.layer.name
        if len(node.bottoms) > 1:
            return None
        node = makers.get(node.bottoms[0])
    return None


def _outputs_field(layer: pb.LayerParameter, kind: type[Layer] | None) -> str | None:
    """Return the settings of a layer that say how many outputs it learns; None if it has none that do."""
    if kind is None or not kind.blobs or kind.config is None or _OUTPUTS not in kind.config.DESCRIPTOR.fields_by_name:
        return None
    return settings_field(layer, kind)


def tunable_model(
    model: Model, data: DataLayers, heads: Mapping[str, int], suffix: str, frozen: Sequence[str] = ()
) -> TunableModel:
    """Return the model with other data, which have an image and a class, and with new heads of these numbers of
    outputs.

    Heads are named with the suffix, so that no weights are taken for theirs, and their blobs keep their names. Other
    layers that are named like one of the patterns in `frozen` keep their weights.
    """
    learned = _learned(model)
    kept = _frozen_names(frozen, [name for name in learned if name not in heads])
    layers = [copy_of(layer) for layer in _layers_with_data(model, data)]
    used = {layer.name for layer in layers}
    names = {head: _free_name(f"{head}_{suffix}", used) for head in heads}
    for layer in layers:
        if layer.name in heads:
            _renew_head(layer, learned.get(layer.name), heads[layer.name])
            layer.name = names[layer.name]
        elif layer.name in kept:
            learned[layer.name].freeze(layer)
    net = copy_of(with_layers(model.net, layers), without=("input", "input_shape", "input_dim", "state"))
    return TunableModel(replace(model, net=net, file=None), names, kept)


def _free_name(name: str, used: Collection[str]) -> str:
    """Return a name that no layer has, so that no weights are taken for those of another head."""
    return next(free for free in chain([name], (f"{name}_{number}" for number in count(2))) if free not in used)


def _renew_head(message: pb.LayerParameter, layer: Layer | None, outputs: int) -> None:
    """Give a layer another number of outputs, random values to begin with, and a higher rate."""
    field = _outputs_field(message, type(layer)) if layer is not None else None
    if layer is None or field is None:
        raise NetError(f"layer '{message.name}': has no number of outputs, so it can't be a head; name another one")
    settings = getattr(message, field)
    setattr(settings, _OUTPUTS, outputs)
    if settings.weight_filler.type in ("", "constant"):
        settings.weight_filler.type = "xavier"
    add_specs(message, len(layer.blob_names()))
    for spec in message.param:
        spec.lr_mult *= HEAD_RATE
        spec.ClearField("name")


def _frozen_names(patterns: Sequence[str], learned: Sequence[str]) -> tuple[str, ...]:
    """Return the layers that learn whose names are like one of the patterns."""
    frozen = dict[str, None]()
    for pattern in patterns:
        names = [name for name in learned if fnmatchcase(name, pattern)]
        if not names:
            raise NetError(f"--freeze '{pattern}': no layer of such a name has weights; there are {few(learned, 10)}")
        frozen |= dict.fromkeys(names)
    return tuple(frozen)


def _learned(model: Model) -> dict[str, Layer]:
    """Return the layers that have weights, by their names. Data layers needn't be available, since others replace
    them."""
    stub = any(is_unavailable(layer) for layer in model.net.layer if not layer.bottom)
    builts = [model.settled(phase, stub_unknown=stub).built for phase in model.phases]
    return {layer.layer.name: layer for built in builts for layer in built.layers if layer.blob_names()}


def _layers_with_data(model: Model, data: DataLayers) -> list[pb.LayerParameter]:
    """Return the layers of the net, but with other ones that bring data, a loss, and one that measures its accuracy."""
    image, label, scores = _image(model), label_of(model), _scores(model)
    layers = [layer for layer in model.net.layer if not (_reads(layer) or _measures(layer))]
    if not any(_is(layer, Loss) for layer in layers):
        layers = [layer for layer in layers if not (layer.type == _PROBABILITIES and scores in layer.bottom)]
        layers.append(SoftmaxWithLoss("loss", [scores, label]))
    made = [_data_layer(image, label, data, phase) for phase in (pb.TRAIN, pb.TEST)]
    return [*made, *layers, Accuracy(ACCURACY, [scores, label], include={"phase": pb.TEST})]


def label_of(model: Model) -> str:
    """Return the blob with the classes that losses compare with, or its name in a net that has no loss yet."""
    labels = [layer.bottom[-1] for layer in model.net.layer if _is(layer, Loss) and len(layer.bottom) > 1]
    return labels[-1] if labels else _LABEL


def _image(model: Model) -> str:
    """Return the blob that the data bring beside labels."""
    layers = model.graphs[-1].net.layer
    names = dict.fromkeys(top for layer in layers if _reads(layer) for top in layer.top)
    compared = {layer.bottom[-1] for layer in layers if _is(layer, Loss) and len(layer.bottom) > 1}
    images = [name for name in names if name not in compared]
    if len(images) != 1:
        what = f"reads {few(map(repr, images), 5)}" if images else "reads no data"
        raise NetError(
            f"net '{model.net.name}' {what}; fine-tuning is for nets that take an image and predict its class"
        )
    return images[0]


def _scores(model: Model) -> str:
    """Return the blob with a score for each class."""
    graph = model.graphs[0]
    losses = loss_predictions([graph])
    edge = losses[0].edges[0] if losses else graph.outputs[-1]
    for node in graph.nodes:
        if edge in node.tops and node.layer.type == _PROBABILITIES:
            edge = node.bottoms[0]
    return graph.blobs[edge]


def _data_layer(image: str, label: str, data: DataLayers, phase: pb.Phase) -> pb.LayerParameter:
    return Data(
        "data",
        tops=[image, label],
        include={"phase": phase},
        transform_param=data.transforms[phase],
        source=data.sources[phase],
        batch_size=data.batches[phase],
        shuffle=phase == pb.TRAIN,
    )


def _reads(layer: pb.LayerParameter) -> bool:
    return not layer.bottom and (_is(layer, BringsData) or layer.type not in LAYERS)


def _measures(layer: pb.LayerParameter) -> bool:
    kind = LAYERS.get(layer.type)
    return kind is not None and issubclass(kind, NotDeployed) and not issubclass(kind, Loss) and bool(kind.predictions)


def _is(layer: pb.LayerParameter, mixin: type) -> bool:
    kind = LAYERS.get(layer.type)
    return kind is not None and issubclass(kind, mixin)

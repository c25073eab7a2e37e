"""Replaces a net's heads and data, so that it can learn other classes. Chosen layers are frozen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain, count

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers
from caffe_proto.errors import few, name_advice
from netdsl.dsl import MVN, Accuracy, Data, SoftmaxWithLoss
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer, Loss, NotDeployed
from netdsl.layer.core import add_specs
from netdsl.layers import LAYERS, type_of
from netdsl.model.deploy.deploy_layers import settings_field
from netdsl.model.deploy.predictions import loss_predictions
from netdsl.model.model import Model
from netdsl.net.graph import Graph, Node
from netdsl.net.placeholder_layer import is_unavailable

ACCURACY = "accuracy"  # the top with the accuracy
HEAD_RATE = 10.0  # times the learning rate of other layers, as in Caffe's own example; less for large features

_LABEL = "label"
_OUTPUTS = "num_output"  # a field in the settings of every layer type whose number of outputs can be chosen
_PROBABILITIES = LAYERS.own()[SoftmaxWithLoss.__name__].deploys_as  # the type that computes probabilities from scores


@dataclass(frozen=True)
class DataLayers:
    """The data layers of a net: a source, a batch size and a transform of images for each phase."""

    sources: Mapping[pb.Phase, str]
    batches: Mapping[pb.Phase, int]
    transforms: Mapping[pb.Phase, pb.TransformationParameter]


@dataclass(frozen=True)
class TunableModel:
    """A model for other classes, with the new names of its heads by their old names, and its frozen layers."""

    model: Model
    heads: dict[str, str]
    frozen: tuple[str, ...]
    with_fixed_statistics: int = 0  # the number of layers that use the model's statistics in training


def heads_of(model: Model, replaced: Mapping[str, int | None], classes: int) -> dict[str, int]:
    """Return the layers to replace, with their new numbers of outputs.

    These are the layers that the user names, or else the heads that are found in the net.
    """
    name, layers = model.net.name, [layer.name for layer in model.net.layer]
    for head in replaced:
        if head not in layers:
            raise NetError(f"net '{name}' has no layer '{head}' to replace; {name_advice(head, layers)}")
    heads = dict(replaced) or dict.fromkeys(_head_names(model))
    if not heads:
        raise NetError(
            f"net '{name}': no layer computes the outputs that a loss compares with labels; name the one to "
            "replace, as in --replace fc8:20"
        )
    return {head: outputs or classes for head, outputs in heads.items()}


def _head_names(model: Model) -> list[str]:
    """Return the names of a net's heads, whose outputs the losses compare with labels.

    In a net without losses, the heads are the layers of the net's outputs. A net with auxiliary losses, such as
    GoogLeNet, has a head for each loss.
    """
    edges = [(graph, edge) for graph in model.graphs for edge in _compared(graph)]
    if not edges:
        edges = [(graph, edge) for graph in model.graphs[:1] for edge in graph.outputs]
    heads = (_head(graph, edge) for graph, edge in edges)
    return list(dict.fromkeys(head for head in heads if head is not None))


def _compared(graph: Graph) -> list[int]:
    """Return the edges that losses compare with labels."""
    return [
        node.bottoms[place]
        for node in graph.nodes
        for kind in [type_of(node.layer)]
        if kind is not None and issubclass(kind, Loss) and len(node.bottoms) > 1
        for place in kind.predictions
        if place < len(node.bottoms)
    ]


def _head(graph: Graph, edge: int) -> str | None:
    """Return the nearest layer before a blob whose number of outputs can be chosen.

    Returns `None` if a layer with several bottoms comes first.
    """
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
    """Return the field with a layer's settings if they include its number of learned outputs, or else `None`."""
    if kind is None or not kind.blobs or kind.config is None or _OUTPUTS not in kind.config.DESCRIPTOR.fields_by_name:
        return None
    return settings_field(layer, kind)


def tunable_model(
    model: Model,
    data: DataLayers,
    heads: Mapping[str, int],
    suffix: str,
    frozen: Sequence[str] = (),
    *,
    fixed_statistics: bool = False,
) -> TunableModel:
    """Return the model with other data, which consist of an image and a class, and with new heads.

    `heads` contains their numbers of outputs. The names of new heads end with the suffix, so that they don't get the
    old weights. The names of their blobs stay the same. Other layers whose names match a pattern in `frozen` keep their
    weights. With `fixed_statistics`, batch normalization uses the model's statistics in training too.
    """
    learned, with_fixed = _learned(model), set[str]()
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
        elif fixed_statistics and layer.name in learned and learned[layer.name].fix_statistics(layer):
            with_fixed.add(layer.name)
    net = copy_of(with_layers(model.net, layers), without=("input", "input_shape", "input_dim", "state"))
    return TunableModel(replace(model, net=net, file=None), names, kept, len(with_fixed))


def with_standardized_images(model: Model) -> Model:
    """Return the model with a first layer that subtracts each image's mean and divides by its standard deviation."""
    image = _image(model)
    place = next(place for place, layer in enumerate(model.net.layer) if image in layer.bottom)
    name = _free_name("standardized", {layer.name for layer in model.net.layer})
    layers = list(model.net.layer)
    layers.insert(place, MVN(name, [image], in_place=True, across_channels=True))
    return replace(model, net=with_layers(model.net, layers))


def _free_name(name: str, used: Collection[str]) -> str:
    """Return a name that no layer has, so that the head doesn't get another layer's weights."""
    return next(free for free in chain([name], (f"{name}_{number}" for number in count(2))) if free not in used)


def _renew_head(message: pb.LayerParameter, layer: Layer | None, outputs: int) -> None:
    """Give a layer another number of outputs, random initial values and a higher learning rate."""
    field = _outputs_field(message, type(layer)) if layer is not None else None
    if layer is None or field is None:
        raise NetError(
            f"layer '{message.name}': its number of outputs can't be chosen, so it can't be a head; name an "
            "InnerProduct or Convolution layer with --replace"
        )
    settings = getattr(message, field)
    setattr(settings, _OUTPUTS, outputs)
    if settings.weight_filler.type in ("", "constant"):
        settings.weight_filler.type = "xavier"
    add_specs(message, len(layer.blob_names()))
    for spec in message.param:
        spec.lr_mult *= HEAD_RATE
        spec.ClearField("name")


def with_head_rates(net: pb.NetParameter, factors: Mapping[str, float]) -> pb.NetParameter:
    """Return the net with other learning rates for its heads' weights, which are multiplied by these factors.

    The biases keep their rates, because they don't depend on the features.
    """
    changed = copy_of(net)
    for layer in changed.layer:
        if layer.name in factors:
            layer.param[0].lr_mult *= factors[layer.name]
    return changed


def reading_training_data_in_tests(net: pb.NetParameter) -> pb.NetParameter:
    """Return a net of `tunable_model` whose tests read the training data. It has no training phase."""
    changed = copy_of(net)
    for layer in changed.layer:
        if _reads(layer):
            layer.include[0].phase = pb.TEST if layer.include[0].phase == pb.TRAIN else pb.TRAIN
    return changed


def _frozen_names(patterns: Sequence[str], learned: Sequence[str]) -> tuple[str, ...]:
    """Return the layers with weights whose names match a pattern."""
    frozen = dict[str, None]()
    for pattern in patterns:
        names = [name for name in learned if fnmatchcase(name, pattern)]
        if not names:
            raise NetError(
                f"--freeze '{pattern}': no layer with weights has such a name; name one of {few(learned, 10)}"
            )
        frozen |= dict.fromkeys(names)
    return tuple(frozen)


def _learned(model: Model) -> dict[str, Layer]:
    """Return the layers that have weights, by name.

    Data layers may be of unknown types, because they are replaced.
    """
    stub = any(is_unavailable(layer) for layer in model.net.layer if not layer.bottom)
    builts = [model.settled(phase, stub_unknown=stub).built for phase in model.phases]
    return {layer.layer.name: layer for built in builts for layer in built.layers if layer.blob_names()}


def _layers_with_data(model: Model, data: DataLayers) -> list[pb.LayerParameter]:
    """Return the net's layers with new data layers, a loss if there was none, and an accuracy layer."""
    image, label, scores = _image(model), label_of(model), _scores(model)
    layers = [layer for layer in model.net.layer if not (_reads(layer) or _measures(layer))]
    if not any(_is(layer, Loss) for layer in layers):
        layers = [layer for layer in layers if not (layer.type == _PROBABILITIES and scores in layer.bottom)]
        layers.append(SoftmaxWithLoss("loss", [scores, label]))
    made = [_data_layer(image, label, data, phase) for phase in (pb.TRAIN, pb.TEST)]
    return [*made, *layers, Accuracy(ACCURACY, [scores, label], include={"phase": pb.TEST})]


def label_of(model: Model) -> str:
    """Return the name of the blob with the classes that losses compare with, or of a new one if the net has no loss."""
    labels = [layer.bottom[-1] for layer in model.net.layer if _is(layer, Loss) and len(layer.bottom) > 1]
    return labels[-1] if labels else _LABEL


def _image(model: Model) -> str:
    """Return the blob that the data layers produce in addition to labels."""
    layers = model.graphs[-1].net.layer
    names = dict.fromkeys(top for layer in layers if _reads(layer) for top in layer.top)
    compared = {layer.bottom[-1] for layer in layers if _is(layer, Loss) and len(layer.bottom) > 1}
    images = [name for name in names if name not in compared]
    if len(images) != 1:
        what = f"reads {few(map(repr, images), 5)}" if images else "reads no data"
        raise NetError(
            f"net '{model.net.name}' {what}, but fine-tuning needs a net that reads an image and predicts its "
            "class; choose a classifier of `zoo list`"
        )
    return images[0]


def _scores(model: Model) -> str:
    """Return the blob that contains a score for each class."""
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

"""A net for other classes: its heads are new, some layers stay as they are, and it reads other data."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, count

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import few
from netdsl.dsl import Accuracy, Data, SoftmaxWithLoss
from netdsl.errors import NetError
from netdsl.layer import BringsData, Layer, Loss, NotDeployed
from netdsl.layer.core import add_specs
from netdsl.layers import LAYERS
from netdsl.model.deploy.predictions import PredictingGraph
from netdsl.model.model import Model
from netdsl.net.graph import resolve_all
from netdsl.tuning.heads import OUTPUTS, head_names, outputs_field

ACCURACY = "accuracy"  # the top that tells how good the net is
HEAD_RATE = 10.0  # times the rate of other layers, as in Caffe's own recipe

_LABEL = "label"
_PROBABILITIES = LAYERS.own()[SoftmaxWithLoss.__name__].deploys_as  # the type that makes them of scores


@dataclass(frozen=True)
class DataLayers:
    """What the net reads: a source, a batch and the preparation of images, for each phase."""

    sources: Mapping[pb.Phase, str]
    batches: Mapping[pb.Phase, int]
    transforms: Mapping[pb.Phase, pb.TransformationParameter]


def heads_of(net: pb.NetParameter, replaced: Mapping[str, int | None], classes: int) -> dict[str, int]:
    """The layers that are made anew and their numbers of outputs: those that are named, or those that are found."""
    names = [layer.name for layer in net.layer]
    for name in replaced:
        if name not in names:
            raise NetError(f"net '{net.name}' has no layer '{name}' to replace")
    heads = dict(replaced) or dict.fromkeys(head_names(net))
    if not heads:
        raise NetError(
            f"net '{net.name}': no layer makes the outputs that a loss compares with labels; name the one to replace, "
            "as in --replace fc8:20"
        )
    return {name: outputs or classes for name, outputs in heads.items()}


def with_heads(net: pb.NetParameter, heads: Mapping[str, int], suffix: str) -> dict[str, str]:
    """Make heads anew in a net, and return their new names. Blobs keep their names."""
    learned, names = _learned(net), dict[str, str]()
    for layer in net.layer:
        if layer.name in heads:
            _make_anew(layer, learned.get(layer.name), heads[layer.name])
            names[layer.name] = _free_name(f"{layer.name}_{suffix}", net)
            layer.name = names[layer.name]
    return names


def _free_name(name: str, net: pb.NetParameter) -> str:
    """A name that no layer has, so that no weights are taken for those of another head."""
    used = {layer.name for layer in net.layer}
    return next(free for free in chain([name], (f"{name}_{number}" for number in count(2))) if free not in used)


def _make_anew(message: pb.LayerParameter, layer: Layer | None, outputs: int) -> None:
    """Give a layer another number of outputs, random values to begin with, and a higher rate."""
    field = outputs_field(message, type(layer)) if layer is not None else None
    if layer is None or field is None:
        raise NetError(f"layer '{message.name}': has no number of outputs, so it can't be a head; name another one")
    settings = getattr(message, field)
    setattr(settings, OUTPUTS, outputs)
    if settings.weight_filler.type in ("", "constant"):
        settings.weight_filler.type = "xavier"
    add_specs(message, len(layer.blob_names()))
    for spec in message.param:
        spec.lr_mult *= HEAD_RATE
        spec.ClearField("name")


def freeze(net: pb.NetParameter, patterns: Sequence[str], heads: Collection[str]) -> list[str]:
    """Let layers whose names are like one of the patterns keep their weights, but for heads; returns their names."""
    learned = {name: layer for name, layer in _learned(net).items() if name not in heads}
    frozen = dict[str, None]()
    for pattern in patterns:
        names = [name for name in learned if fnmatchcase(name, pattern)]
        if not names:
            raise NetError(f"--freeze '{pattern}': no layer of such a name has weights; there are {few(learned, 10)}")
        frozen |= dict.fromkeys(names)
    for message in net.layer:
        if message.name in frozen:
            learned[message.name].freeze(message)
    return list(frozen)


def _learned(net: pb.NetParameter) -> dict[str, Layer]:
    """The layers that have weights, by their names."""
    model = Model(net)
    pairs = (pair for phase in model.phases for pair in model.settled(phase).built.pairs())
    return {node.layer.name: layer for node, layer in pairs if layer.blob_names()}


def with_data(net: pb.NetParameter, data: DataLayers) -> None:
    """Let a net read other data, which have an image and a class, in both phases, and measure its accuracy."""
    image, label, scores = _image(net), label_of(net), _scores(net)
    losses = [layer for layer in net.layer if _is(layer, Loss)]
    layers = [layer for layer in net.layer if not (_reads(layer) or _measures(layer))]
    if not losses:
        layers = [layer for layer in layers if not (layer.type == _PROBABILITIES and scores in layer.bottom)]
        layers.append(SoftmaxWithLoss("loss", [scores, label]))
    made = [_data_layer(image, label, data, phase) for phase in (pb.TRAIN, pb.TEST)]
    accuracy = Accuracy(ACCURACY, [scores, label], include={"phase": pb.TEST})
    copies = [_copy(layer) for layer in (*made, *layers, accuracy)]
    for field in ("layer", "input", "input_shape", "input_dim", "state"):
        net.ClearField(field)
    net.layer.extend(copies)


def label_of(net: pb.NetParameter) -> str:
    """The blob with the classes that losses compare with, or its name in a net that has no loss yet."""
    labels = [layer.bottom[-1] for layer in net.layer if _is(layer, Loss) and len(layer.bottom) > 1]
    return labels[-1] if labels else _LABEL


def _image(net: pb.NetParameter) -> str:
    """The blob that the data bring beside labels."""
    graph = resolve_all(net)[-1]
    tops = [layer.top for layer in graph.net.layer if _reads(layer)]
    names = dict.fromkeys(top for layer in tops for top in layer)
    compared = {layer.bottom[-1] for layer in graph.net.layer if _is(layer, Loss) and len(layer.bottom) > 1}
    images = [name for name in names if name not in compared]
    if len(images) != 1:
        what = f"reads {few(map(repr, images), 5)}" if images else "reads no data"
        raise NetError(f"net '{net.name}' {what}; fine-tuning is for nets that take an image and predict its class")
    return images[0]


def _scores(net: pb.NetParameter) -> str:
    """The blob with a score for each class."""
    graph = resolve_all(net)[0]
    predicting = PredictingGraph.of([graph])
    edge = predicting.losses[0].edges[0] if predicting.losses else graph.outputs[-1]
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


def _copy(layer: pb.LayerParameter) -> pb.LayerParameter:
    return copy_of(layer)

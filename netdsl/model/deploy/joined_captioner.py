"""Two nets that write captions together, as LRCN's authors have them, made one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of, with_layers
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.model import Model
from netdsl.net.build import Built
from netdsl.net.graph import Phase
from netdsl.net.sequences import sequence_inputs


def join_captioner(words: Model, image: Model, blob: str | None) -> Model:
    """Return one model of two: of `image` the layers that a blob depends on, and those of `words`, which reads words
    and the blob's values as its features. Where both have weights for a layer, those of `words` count."""
    sentence = _for_one_item(words)
    features, shape = _features(sentence.layers(Phase.TEST))
    if blob is None:
        raise NetError(f"takes features '{features}' of {list(shape)}; name the blob; {_fitting(image, shape)}")
    picture, reading = _layers_for(blob, image, shape), _renamed(sentence.net.layer, features, blob)
    _check_names(picture, reading, blob)
    return replace(
        words,
        net=with_layers(sentence.net, [*picture, *reading]),
        weights={**image.weights, **words.weights},
        file=None,
        sources={**image.sources, **words.sources},
    )


def _for_one_item(model: Model, outputs: Sequence[str] = ()) -> Model:
    """Return the model for use, without weights, which may be for both nets."""
    return deploy_model(replace(model, weights={}, file=None), batch=1, outputs=outputs)


def _features(built: Built) -> tuple[str, Shape]:
    """Return the only input that is neither words nor what marks where they begin, and its shape for one image."""
    begins, words = sequence_inputs(built.graph)
    inputs = built.input_edges()
    features = [edge for edge in inputs if edge not in begins | words]
    if not begins or not words or len(features) != 1:
        names = ", ".join(f"'{built.graph.blobs[edge]}'" for edge in inputs)
        raise NetError(
            "to write captions with another net's features, it must have three inputs, the numbers of words, what says "
            f"whether the caption goes on, and the features; they are {names or 'none'}"
        )
    return built.graph.blobs[features[0]], built.shapes[features[0]][1:]


def _layers_for(blob: str, image: Model, shape: Shape) -> Sequence[pb.LayerParameter]:
    """Return the layers for use that a blob depends on, which must have a shape for each image."""
    picture = _for_one_item(image, (blob,))
    built = picture.layers(Phase.TEST)
    found = built.shapes[built.graph.edge_of(blob)][1:]
    if found != shape:
        raise NetError(f"takes features of {list(shape)}, and '{blob}' is {list(found)}; {_fitting(image, shape)}")
    return picture.net.layer


def _fitting(image: Model, shape: Shape) -> str:
    """Return which blobs of a model have a shape for each image."""
    built = _for_one_item(image).layers(Phase.TEST)
    pairs = zip(built.graph.blobs, built.shapes, strict=True)
    names = dict.fromkeys(f"'{name}'" for name, each in pairs if each[1:] == shape)
    return f"net '{image.net.name}' makes {', '.join(names) or 'nothing'} of that shape"


def _renamed(layers: Sequence[pb.LayerParameter], features: str, blob: str) -> list[pb.LayerParameter]:
    """Return the layers that read words, with a blob in place of the input for features."""
    renamed = []
    for each in layers:
        layer = copy_of(each)
        if not layer.bottom and features in layer.top:
            place = list(layer.top).index(features)
            del layer.top[place], layer.input_param.shape[place]
        for names in (layer.bottom, layer.top):
            names[:] = [blob if name == features else name for name in names]
        if layer.bottom or layer.top:
            renamed.append(layer)
    return renamed


def _check_names(picture: Sequence[pb.LayerParameter], sentence: Sequence[pb.LayerParameter], blob: str) -> None:
    """An error where two blobs or two layers that compute would have one name."""
    blobs = {top for layer in picture for top in layer.top} & {top for layer in sentence for top in layer.top} - {blob}
    layers = {each.name for each in picture if each.bottom} & {each.name for each in sentence if each.bottom}
    if blobs | layers:
        names = ", ".join(f"'{name}'" for name in sorted(blobs | layers))
        raise NetError(f"both nets have a layer or a blob {names}; rename it in one of them")

"""Joins two nets that write captions together, as LRCN's authors published them."""

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
    """Return one model of two: one for images, and one for words.

    The model contains the layers of `image` that a blob depends on, and the layers of `words`, which reads words and
    the blob's values as features. If both have weights for a layer, the weights of `words` are used.
    """
    sentence = _for_one_item(words)
    features, shape = _features(sentence.layers(Phase.TEST))
    if blob is None:
        raise NetError(
            f"the net for words reads features '{features}' of shape {list(shape)}; name the blob that contains "
            f"them with --blob: {_fitting(image, shape)}"
        )
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
    """Return the model for prediction without weights, because the weights may belong to both nets."""
    return deploy_model(replace(model, weights={}, file=None), batch=1, outputs=outputs)


def _features(built: Built) -> tuple[str, Shape]:
    """Return the name and the shape, for one image, of the input that is neither words nor a mark of where they
    begin."""
    begins, words = sequence_inputs(built.graph)
    inputs = built.input_edges()
    features = [edge for edge in inputs if edge not in begins | words]
    if not begins or not words or len(features) != 1:
        names = ", ".join(f"'{built.graph.blobs[edge]}'" for edge in inputs)
        raise NetError(
            "a net that writes captions from another net's features needs three inputs: the numbers of words, "
            "the mark of whether the caption continues, and the features, but this net's inputs are "
            f"{names or 'none'}; name a net of the kind that docs/captions.md describes"
        )
    return built.graph.blobs[features[0]], built.shapes[features[0]][1:]


def _layers_for(blob: str, image: Model, shape: Shape) -> Sequence[pb.LayerParameter]:
    """Return the deployed layers that a blob depends on. Raises a `NetError` unless the blob has the shape for each
    image."""
    picture = _for_one_item(image, (blob,))
    built = picture.layers(Phase.TEST)
    found = built.shapes[built.graph.edge_of(blob)][1:]
    if found != shape:
        raise NetError(
            f"the net for words reads features of shape {list(shape)}, but '{blob}' has shape {list(found)}; "
            f"choose another with --blob: {_fitting(image, shape)}"
        )
    return picture.net.layer


def _fitting(image: Model, shape: Shape) -> str:
    """Return a clause about the blobs of a model that have the shape for each image."""
    built = _for_one_item(image).layers(Phase.TEST)
    pairs = zip(built.graph.blobs, built.shapes, strict=True)
    names = dict.fromkeys(f"'{name}'" for name, each in pairs if each[1:] == shape)
    return f"net '{image.net.name}' has {', '.join(names) or 'no blob'} of that shape"


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
    """Raise a `NetError` if two blobs, or two layers that compute, have the same name."""
    blobs = {top for layer in picture for top in layer.top} & {top for layer in sentence for top in layer.top} - {blob}
    layers = {each.name for each in picture if each.bottom} & {each.name for each in sentence if each.bottom}
    if blobs | layers:
        names = ", ".join(f"'{name}'" for name in sorted(blobs | layers))
        raise NetError(f"both nets have a layer or a blob {names}; rename it in one of them")

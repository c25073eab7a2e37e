"""Splits a net that writes captions into two parts: one runs once for an image, and the other once for each word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from caffe_proto import caffe_pb2 as pb
from netdsl.layer.data import INPUT_TYPE
from netdsl.model.model import Model
from netdsl.net.build import Built
from netdsl.net.graph import net_of
from netdsl.net.sequences import sequence_inputs


@dataclass(frozen=True)
class CaptionerParts:
    """The model that computes an image's features, and the model that reads words and has the features as inputs."""

    image: Model
    sentence: Model
    features: tuple[str, ...]  # the blobs that both models have


def split_captioner(model: Model) -> CaptionerParts | None:
    """Return the two parts of a model for prediction, or `None` if it doesn't read words or reads nothing else."""
    graph = model.graphs[0]
    begins, words = sequence_inputs(graph)
    if not begins or not words:
        return None
    steps, changing = [], begins | words
    for node in graph.nodes:
        if changing.intersection(node.bottoms):
            steps.append(node)
            changing.update(node.tops)
    features = {edge: None for node in steps for edge in node.bottoms if edge not in changing}
    if not features:
        return None
    names = tuple(graph.blobs[edge] for edge in features)
    read = [edge for node in steps for edge in node.bottoms if edge in begins | words]
    inputs = _inputs(model.settled(graph.phase).built, dict.fromkeys([*read, *features]))
    layers = [inputs, *(node.layer for node in steps)], [node.layer for node in graph.needed_for(features)]
    sentence, image = (replace(model, net=net_of(graph.net, part), file=None) for part in layers)
    return CaptionerParts(image, sentence, names)


def _inputs(built: Built, edges: Iterable[int]) -> pb.LayerParameter:
    layer = pb.LayerParameter(name="inputs", type=INPUT_TYPE)
    for edge in edges:
        layer.top.append(built.graph.blobs[edge])
        layer.input_param.shape.add(dim=built.shapes[edge])
    return layer

"""A net that writes captions, in its two parts: what is done once for an image, and what is done for each word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import with_layers
from netdsl.layer.data import INPUT_TYPE
from netdsl.net.build import Built, build
from netdsl.net.graph import Graph, Node, resolve
from netdsl.net.sequences import sequence_inputs


@dataclass(frozen=True)
class CaptionerParts:
    """The net that makes an image's features, and the one that reads words and takes these as inputs."""

    image: pb.NetParameter
    sentence: pb.NetParameter
    features: tuple[str, ...]  # the blobs that both have


def split_captioner(net: pb.NetParameter) -> CaptionerParts | None:
    """The parts of a net to be used; None if it reads no words, or nothing else."""
    graph = resolve(net)
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
    built = build(resolve(net))
    names = tuple(graph.blobs[edge] for edge in features)
    read = [edge for node in steps for edge in node.bottoms if edge in begins | words]
    inputs = _inputs(built, dict.fromkeys([*read, *features]))
    sentence = with_layers(graph.net, [inputs, *(node.layer for node in steps)])
    image = with_layers(graph.net, [node.layer for node in _needed(graph, features)])
    return CaptionerParts(image, sentence, names)


def _needed(graph: Graph, edges: Iterable[int]) -> list[Node]:
    """The layers that some edges depend on, in order."""
    needed, nodes = set(edges), list[Node]()
    for node in reversed(graph.nodes):
        if needed.intersection(node.tops):
            nodes.append(node)
            needed.update(node.bottoms)
    return nodes[::-1]


def _inputs(built: Built, edges: Iterable[int]) -> pb.LayerParameter:
    layer = pb.LayerParameter(name="inputs", type=INPUT_TYPE)
    for edge in edges:
        layer.top.append(built.graph.blobs[edge])
        layer.input_param.shape.add(dim=built.shapes[edge])
    return layer

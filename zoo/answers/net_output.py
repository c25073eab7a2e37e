"""Which blobs of a net are its answer, and what reads them: what the types of its layers say, or the card's task."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from caffe_proto import caffe_pb2 as pb
from netdsl.deploy.captioner import CaptionerParts
from netdsl.deploy.subgraph import PredictionSubgraph, prediction_subgraph
from netdsl.errors import NetError
from netdsl.layer import Layer, Shape
from netdsl.layer.tops import MakesDetections, MakesIndices, MakesRegions
from netdsl.net.build import Built, build
from netdsl.net.graph import resolve
from zoo.answers.output import (
    ClassNames,
    ClassReader,
    DetectionReader,
    OutputReader,
    ScalarReader,
    SegmentReader,
    ValueReader,
)
from zoo.answers.placement import ImageSize
from zoo.answers.regions import RegionReader
from zoo.cards import Task

_MAPS = (Task.SEGMENTATION, Task.EDGES)  # whose outputs may be smaller than their inputs
_AGNOSTIC = 8  # channels of box codes for the background and for objects of all classes alike
_VALUES = (Task.EMBEDDING, Task.KEYPOINTS, Task.RECONSTRUCTION, Task.SEQUENCE)


@dataclass(frozen=True)
class NetOutput:
    """The blobs that are a net's answer, none for its prediction; and the labels of the classes that it tells apart."""

    subgraph: PredictionSubgraph
    blobs: tuple[str, ...]
    task: Task | None
    note: str = ""  # what a user should know of the choice

    @property
    def edge(self) -> int:
        """The first edge of the answer."""
        edge = self.subgraph.outputs[self.blobs[0]] if self.blobs else self.subgraph.prediction
        assert edge is not None
        return edge

    @property
    def _layer(self) -> Layer:
        return _maker(self.subgraph.built, self.edge)

    @property
    def _shape(self) -> Shape:
        return self.subgraph.built.shapes[self.edge]

    @property
    def labels(self) -> int | None:
        """How many labels there are, the background among them; None if nothing says it."""
        if isinstance(self._layer, MakesDetections):
            return self._layer.label_count()
        if isinstance(self._layer, MakesRegions):
            return self.subgraph.built.shapes[self.subgraph.outputs[self.blobs[1]]][1]
        if isinstance(self._layer, MakesIndices) and self._layer.makes_indices():
            return None
        return self._shape[1] if len(self._shape) > 1 else None

    def names(self, names: Sequence[str]) -> ClassNames | None:
        """The names of labels, to which that of the background is added where only classes have one; None if they are
        for another number of labels.
        """
        if not names or self.labels in (None, len(names)):
            return ClassNames(tuple(names))
        background = self._layer.background() if isinstance(self._layer, MakesDetections) else None
        background = 0 if isinstance(self._layer, MakesRegions) else background
        if background is None or self.labels != len(names) + 1:
            return None
        return ClassNames((*names[:background], "background", *names[background:]))

    def reader(self, names: ClassNames, size: ImageSize) -> OutputReader:
        """What reads the answer of a net whose images have this size."""
        layer, shape = self._layer, self._shape
        if isinstance(layer, MakesDetections):
            return DetectionReader(self.edge, names)
        if isinstance(layer, MakesRegions):
            _, scores, codes = (self.subgraph.outputs[blob] for blob in self.blobs)
            return RegionReader(self.edge, names, scores, codes)
        if self.task not in _VALUES and _is_map(shape) and (shape[2:] == size or self.task in _MAPS):
            return SegmentReader(self.edge, names, isinstance(layer, MakesIndices) and layer.makes_indices())
        if self.task in _VALUES or math.prod(shape[2:]) != 1:
            return ValueReader(self.edge, names)
        return (ClassReader if math.prod(shape[1:]) > 1 else ScalarReader)(self.edge, names)


def find_output(net: pb.NetParameter, blob: str | None, task: Task | None) -> NetOutput:
    """The answer of a net to be used: the blob of a name, its prediction, or what a detector's layers make."""
    subgraph = prediction_subgraph(net, () if blob is None else (blob,))
    if blob is not None:
        return NetOutput(subgraph, (blob,), task)
    if subgraph.prediction is not None:
        return NetOutput(subgraph, (), task)
    built = build(resolve(net))
    outputs = {edge: built.graph.blobs[edge] for edge in built.graph.outputs}
    blobs = _detecting_blobs(built, outputs)
    if not blobs and task in _MAPS and outputs:  # those before the last one help it to learn
        last = outputs[max(outputs)]
        note = f"has several outputs, {_names(outputs)}; the answer is the last one, or what --blob names"
        return NetOutput(prediction_subgraph(net, (last,)), (last,), task, note)
    if not blobs:
        raise NetError(f"has several outputs, {_names(outputs)}; --blob names the one that is the answer")
    return NetOutput(prediction_subgraph(net, blobs), blobs, task)


def features_output(parts: CaptionerParts) -> NetOutput:
    """The features that a net makes of an image, for captions."""
    if not any(layer.bottom for layer in parts.image.layer):
        features = ", ".join(f"'{name}'" for name in parts.features)
        raise NetError(f"takes what another net makes of an image, {features}; name that net by --features-net")
    return NetOutput(prediction_subgraph(parts.image, parts.features), parts.features, None)


def _detecting_blobs(built: Built, outputs: Mapping[int, str]) -> tuple[str, ...]:
    """The names of the blobs that are a detector's answer; none if the net is no detector."""
    for edge, name in outputs.items():
        if isinstance(_maker(built, edge), MakesDetections):
            return (name,)
    regions = [built.graph.blobs[node.tops[0]] for node, layer in built.pairs() if isinstance(layer, MakesRegions)]
    flat = {edge: built.shapes[edge][1] for edge in outputs if math.prod(built.shapes[edge][2:]) == 1}
    if regions and len(flat) == 2:
        scores, codes = sorted(flat, key=lambda edge: _are_codes(flat[edge], flat.values()))
        return regions[0], outputs[scores], outputs[codes]
    return ()


def _are_codes(channels: int, of_both: Collection[int]) -> bool:
    """Whether an output moves boxes: four numbers for each class or, as R-FCN has it, for background and objects."""
    return channels == 4 * min(of_both) or (channels == _AGNOSTIC and 4 * channels not in of_both)


def _names(outputs: Mapping[int, str]) -> str:
    return ", ".join(outputs.values()) or "none"


def _maker(built: Built, edge: int) -> Layer:
    return next(layer for node, layer in built.pairs() if edge in node.tops)


def _is_map(shape: Shape) -> bool:
    return len(shape) == 4 and math.prod(shape[2:]) > 1

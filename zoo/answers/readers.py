"""Readers, which turn a net's outputs into answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, get_type_hints

import numpy as np

from netdsl.errors import DataError
from netdsl.prediction.captions import CaptionGenerator
from netdsl.prediction.decoders.boxes import suppressed
from netdsl.prediction.decoders.decoder import (
    Attributes,
    ClassScores,
    Decoded,
    Decoder,
    Detections,
    Embedding,
    People,
    Points,
)
from zoo.answers.answer import (
    Answer,
    AnswerSettings,
    Box,
    Boxes,
    Captions,
    Classes,
    ClassScore,
    Corners,
    ImageSize,
    Number,
    Numbers,
    Placement,
    PointsAndTraits,
    Segment,
    Segments,
    Several,
    Traits,
    Values,
)

Outputs = Mapping[int, Numbers]  # a net's outputs for a batch, and its images, by edge

_OVERLAP = 0.3  # overlap above which only the better box stays, as in Faster R-CNN
_LARGEST_GROWTH = np.log(1000 / 16)  # maximum growth of a box, as a logarithm, so that numbers don't overflow


@dataclass(frozen=True)
class ClassNames:
    """The names of labels. A label without a name is called by its number."""

    names: tuple[str, ...] = ()

    def __getitem__(self, label: int) -> str:
        return self.names[label] if 0 <= label < len(self.names) else str(label)


@dataclass(frozen=True)
class OutputReader(ABC):
    """Reads the answer about an image from the outputs for a batch."""

    LEAST_SCORE: ClassVar[float] = 0.01  # minimum score of detections in tests, as in SSD

    edge: int
    names: ClassNames

    @abstractmethod
    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Answer:
        """Return the answer about the image at this index of the batch."""

    @property
    def answers(self) -> type:
        """The type of the answers."""
        returned: type = get_type_hints(type(self).read)["return"]
        return returned


class ClassReader(OutputReader):
    """Reads the scores of classes."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Classes:
        """Return the classes with the highest scores. Equal scores keep the order of classes."""
        return best_classes(finite(outputs[self.edge][index]).ravel(), self.names, settings.top)


class ScalarReader(OutputReader):
    """Reads a net's only number."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Number:
        """Return the number."""
        return Number(float(finite(outputs[self.edge][index]).item()))


class ValueReader(OutputReader):
    """Reads values of any shape."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Values:
        """Return all values."""
        return Values(finite(outputs[self.edge][index]))


class EmbeddingReader(OutputReader):
    """Reads a vector that is compared with those of other images."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Embedding:
        """Return the vector."""
        return Embedding(finite(outputs[self.edge][index]).ravel())


class DetectionReader(OutputReader):
    """Reads rows with an image's index, a label, a score and a box in fractions of the crop."""

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Boxes:
        """Return the boxes of an image whose scores reach the threshold."""
        rows = outputs[self.edge].reshape(-1, 7)
        rows = finite(rows[(rows[:, 0] == index) & (rows[:, 1] >= 0)])
        rows = rows[rows[:, 2] >= settings.least_score]
        return boxes_of(rows[:, 1:], self.names, placement)


@dataclass(frozen=True)
class CaptionReader(OutputReader):
    """Writes captions from an image's features, which are the captioner's inputs with these names."""

    generator: CaptionGenerator
    features: Mapping[str, int]  # the edges of the features

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Captions:
        """Return the likeliest captions."""
        features = {name: finite(outputs[edge][index]) for name, edge in self.features.items()}
        return Captions(tuple(self.generator.write(features, settings.captions)[: settings.top]))


@dataclass(frozen=True)
class SegmentReader(OutputReader):
    """Reads a map of scores or, with `indices`, of the classes themselves."""

    indices: bool = False

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Segments:
        """Return the class of each pixel. If there is only one score, return whether it reaches the threshold."""
        scores = finite(outputs[self.edge][index])
        if self.indices:
            labels = scores[0].astype(np.int64)
        elif len(scores) == 1:
            labels = (scores[0] >= settings.least_score).astype(np.int64)
        else:
            labels = scores.argmax(0)
        found, counts = np.unique(labels, return_counts=True)
        pairs = sorted(zip(found.tolist(), counts.tolist(), strict=True), key=lambda pair: -pair[1])
        return Segments(tuple(Segment(label, self.names[label], count / labels.size) for label, count in pairs), labels)


def best_classes(scores: Numbers, names: ClassNames, top: int) -> Classes:
    """Return the classes with the highest scores. Equal scores keep the order of classes."""
    best = np.argsort(-scores, kind="stable")[:top].tolist()
    return Classes(tuple(ClassScore(label, names[label], float(scores[label])) for label in best))


def boxes_of(rows: Numbers, names: ClassNames, placement: Placement) -> Boxes:
    """Return boxes from rows with a label, a score and a box in fractions of the crop, from highest to lowest score."""
    found = []
    for label, score, *parts in rows[np.argsort(-rows[:, 1], kind="stable")].tolist():
        found.append(Box(int(label), names[int(label)], score, placement.corners(*parts)))
    return Boxes(tuple(found))


def finite(values: Numbers) -> Numbers:
    """Return the values. Raises a DataError if they aren't finite, since they mean nothing then."""
    if not np.isfinite(values).all():
        raise DataError(
            "the net's output for this image isn't finite; download the weights again, or train the net again with "
            "a lower base_lr"
        )
    return values


@dataclass(frozen=True)
class RegionReader(OutputReader):
    """Reads regions in the net's own pixels, with scores (region, class), background first, and box codes.

    As in py-faster-rcnn, the net's boxes include their last pixel. The answer's boxes end after it.
    """

    LEAST_SCORE = 0.05

    scores: int = -1  # the edges of the scores and codes
    codes: int = -1

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Boxes:
        """Return the boxes of an image whose scores reach the threshold, without those that overlap a better box of
        their class."""
        regions = finite(outputs[self.edge].reshape(-1, 5))
        mine = regions[:, 0] == index
        scores, codes = (finite(outputs[edge].reshape(len(regions), -1)[mine]) for edge in (self.scores, self.codes))
        regions = placement.boxes_on_image(regions[mine, 1:])
        found = list[Box]()
        for label in range(1, scores.shape[1]):
            # Or shared by all classes, after the background.
            own = label if codes.shape[1] == 4 * scores.shape[1] else 1
            sure = scores[:, label] >= settings.least_score
            boxes = _within_image(_moved_boxes(regions[sure], codes[sure, 4 * own : 4 * own + 4]), placement.image)
            same_class = np.zeros(len(boxes), np.int64)
            kept = suppressed(boxes, scores[sure, label], same_class, _OVERLAP, candidates=len(boxes), pixel=1)
            edges = (boxes[kept] + [0, 0, 1, 1]).tolist()
            pairs = zip(scores[sure, label][kept].tolist(), edges, strict=True)
            found += [Box(label, self.names[label], score, Corners(*corners)) for score, corners in pairs]
        return Boxes(tuple(sorted(found, key=lambda box: -box.score)))


def _moved_boxes(boxes: Numbers, codes: Numbers) -> Numbers:
    """Return boxes after their codes have moved and stretched them. The boxes include their last pixels."""
    sizes = boxes[:, 2:] - boxes[:, :2] + 1
    centers = boxes[:, :2] + sizes / 2 + codes[:, :2] * sizes
    sizes = sizes * np.exp(np.minimum(codes[:, 2:], _LARGEST_GROWTH))
    return np.concatenate([centers - sizes / 2, centers + sizes / 2], 1)


def _within_image(boxes: Numbers, image: ImageSize) -> Numbers:
    """Return boxes clipped to the image."""
    return np.clip(boxes, 0, np.array([image.width, image.height] * 2) - 1)


@dataclass(frozen=True)
class SeveralReader(OutputReader):
    """Reads each output of a net with its own reader."""

    by_blob: Mapping[str, OutputReader]

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Several:
        """Return the answers by blob."""
        readers = self.by_blob.items()
        return Several({blob: reader.read(outputs, index, placement, settings) for blob, reader in readers})


@dataclass(frozen=True)
class BlobPlace:
    """The edge of a blob, and the axis of its images. The axis is `None` if the blob is the same for all images."""

    edge: int
    axis: int | None


@dataclass(frozen=True)
class DecoderReader(OutputReader):
    """Reads outputs with a decoder. `image` is the edge of the net's input, whose size decoders need."""

    image: int
    decoder: Decoder
    places: Mapping[str, BlobPlace]

    @property
    def answers(self) -> type:
        """The type of the answers."""
        decoded: type = get_type_hints(type(self.decoder).decode).get("return", object)
        return {Detections: Boxes, Attributes: Traits}.get(decoded, decoded)

    def read(self, outputs: Outputs, index: int, placement: Placement, settings: AnswerSettings) -> Answer:
        """Return the decoded answer with places in the image's own pixels."""
        decoder, size = self._with_threshold(settings.threshold), outputs[self.image].shape[2:]
        blobs = {name: finite(_of_image(outputs[place.edge], place, index)) for name, place in self.places.items()}
        return self._answer(decoder.decode(blobs, (size[0], size[1])), placement, settings)

    def _with_threshold(self, threshold: float | None) -> Decoder:
        """Return the decoder with the user's threshold in place of its own, if it has one."""
        if threshold is None or "threshold" not in {setting.name for setting in fields(self.decoder)}:
            return self.decoder
        changed: dict[str, Any] = {"threshold": threshold}
        return replace(self.decoder, **changed)

    def _answer(self, decoded: Decoded, placement: Placement, settings: AnswerSettings) -> Answer:
        match decoded:
            case Detections():
                return boxes_on_image(decoded, ClassNames(decoded.names or self.names.names), placement)
            case Attributes(groups):
                return _traits(groups, settings.top)
            case Points() | People():
                moved = replace(decoded, points=placement.points_on_image(decoded.points))
                if isinstance(moved, Points) and moved.groups:
                    traits = _traits(moved.groups, settings.top)
                    return PointsAndTraits(moved.points, moved.scores, moved.names, traits=traits)
                return moved
        return decoded


def _of_image(blob: Numbers, place: BlobPlace, index: int) -> Numbers:
    """Return the part of a batch's blob that belongs to one image."""
    part: Numbers = blob[0] if place.axis is None else blob.take(index, place.axis)
    return part


def _traits(groups: Mapping[str, ClassScores | float], top: int) -> Traits:
    return Traits({name: _trait(group, top) for name, group in groups.items()})


def _trait(group: ClassScores | float, top: int) -> Classes | Number:
    if isinstance(group, ClassScores):
        return best_classes(group.scores, ClassNames(group.names), top)
    return Number(float(group))


def boxes_on_image(found: Detections, names: ClassNames, placement: Placement) -> Boxes:
    """Return detections as boxes that are clipped to the image."""
    height, width = placement.image
    edges = np.clip(placement.boxes_on_image(found.boxes), 0, [width, height, width, height]).tolist()
    points = [()] * len(edges) if found.points is None else placement.points_on_image(found.points).tolist()
    return Boxes(
        tuple(
            Box(label, names[label], score, Corners(*corners), tuple((x, y) for x, y in places))
            for label, score, corners, places in zip(
                found.labels.tolist(), found.scores.tolist(), edges, points, strict=True
            )
        )
    )

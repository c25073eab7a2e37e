"""The answer of a model about an image, such as classes or boxes, with places in the image's own pixels."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netdsl.prediction.captions import Caption, CaptionSettings
from netdsl.prediction.decoders.decoder import Embedding, People, Picture, Points, Text

Numbers = NDArray[Any]


class ImageSize(NamedTuple):
    """Height and width in pixels."""

    height: int
    width: int


class Corners(NamedTuple):
    """A box in an image's own pixels."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Placement:
    """The sizes of an image before and after resizing, and of the center crop that the net sees.

    `scale` is the exact scale of an image that kept its proportions, since sizes are rounded.
    """

    image: ImageSize
    resized: ImageSize
    crop: ImageSize
    scale: float | None = None

    def window(self) -> tuple[slice, slice]:
        """Return the rows and columns of the resized image that the net sees. They begin below 0 if the image has
        borders. As in Caffe, half pixels are rounded toward 0."""
        top, left = (int((whole - part) / 2) for whole, part in zip(self.resized, self.crop, strict=True))
        return slice(top, top + self.crop.height), slice(left, left + self.crop.width)

    def corners(self, left: float, top: float, right: float, bottom: float) -> Corners:
        """Return a box in the image's pixels, clipped to the image. The arguments are fractions of the crop."""
        rows, columns = self.window()
        (x1, x2), (y1, y2) = (
            [min(max((start + part * length) / whole, 0), 1) * own for part in parts]
            for parts, start, length, whole, own in (
                ((left, right), columns.start, self.crop.width, self.resized.width, self.image.width),
                ((top, bottom), rows.start, self.crop.height, self.resized.height, self.image.height),
            )
        )
        return Corners(x1, y1, x2, y2)

    def boxes_on_image(self, boxes: Numbers) -> Numbers:
        """Return boxes in the image's own pixels. The arguments are in pixels of the crop."""
        return self.points_on_image(boxes.reshape(-1, 2, 2)).reshape(boxes.shape)

    def points_on_image(self, points: Numbers) -> Numbers:
        """Return points, x and y on the last axis, in the image's own pixels. The arguments are in pixels of the
        crop."""
        rows, columns = self.window()
        scales = [self.scale or whole / own for whole, own in zip(self.resized, self.image, strict=True)]
        moved: Numbers = (points + np.array([columns.start, rows.start])) / scales[::-1]
        return moved

    def on_image(self, labels: Numbers) -> Numbers:
        """Return the net's label of each pixel of the image. `labels` may have any size. Pixels outside the crop get
        -1."""
        indices = [
            _nearest(own, whole, window, length)
            for own, whole, window, length in zip(self.image, self.resized, self.window(), labels.shape, strict=True)
        ]
        result = labels[np.ix_(*(np.maximum(places, 0) for places in indices))].astype(np.int64)
        result[indices[0] < 0] = -1
        result[:, indices[1] < 0] = -1
        return result


def _nearest(own: int, whole: int, window: slice, length: int) -> Numbers:
    """Return the index of the nearest of `length` labels for each pixel along an axis, or -1 outside the window."""
    places = (np.arange(own) + 0.5) * whole / own - window.start
    inside = (places >= 0) & (places < window.stop - window.start)
    labels = np.minimum(places * length / (window.stop - window.start), length - 1)
    return np.where(inside, labels, -1).astype(np.int64)


@dataclass(frozen=True)
class ClassScore:
    """A class and the net's score for it."""

    label: int
    name: str
    score: float


@dataclass(frozen=True)
class Box:
    """A detected object with its place in the image's own pixels, and the places of its landmarks, x and y."""

    label: int
    name: str
    score: float
    corners: Corners
    points: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Segment:
    """A class and its share of the pixels."""

    label: int
    name: str
    share: float


@dataclass(frozen=True)
class Classes:
    """The best classes, from best to worst."""

    best: tuple[ClassScore, ...]


@dataclass(frozen=True)
class Boxes:
    """The objects in an image, from highest to lowest score."""

    found: tuple[Box, ...]


@dataclass(frozen=True)
class Segments:
    """The classes of an image's pixels from largest to smallest, and the class of each pixel of the crop."""

    found: tuple[Segment, ...]
    labels: Numbers


@dataclass(frozen=True)
class Number:
    """The only number that a net computes for an image."""

    value: float


@dataclass(frozen=True)
class Values:
    """All values of a blob that shows neither classes nor places."""

    values: Numbers


@dataclass(frozen=True)
class Captions:
    """The captions of an image, the likeliest first."""

    best: tuple[Caption, ...]


@dataclass(frozen=True)
class Traits:
    """The attributes of an object by name: the best classes of a group, or a number."""

    found: Mapping[str, Classes | Number]


@dataclass(frozen=True, kw_only=True)
class PointsAndTraits(Points):
    """The landmarks and the attributes of an object."""

    traits: Traits


@dataclass(frozen=True)
class Subject:
    """A detected object, and the answer of the net that reads it alone."""

    box: Box
    answer: Answer


@dataclass(frozen=True)
class Subjects:
    """The objects in a photo with their answers, from highest to lowest score."""

    found: tuple[Subject, ...]


@dataclass(frozen=True)
class Several:
    """The answers of a net with several outputs, by blob."""

    by_blob: Mapping[str, Answer]


Answer = (
    Classes
    | Boxes
    | Segments
    | Number
    | Values
    | Captions
    | Traits
    | Several
    | Subjects
    | Points
    | People
    | Picture
    | Embedding
    | Text
)

_USUAL_THRESHOLD = 0.5


@dataclass(frozen=True)
class AnswerSettings:
    """The maximum number of classes in an answer, the minimum score of a box or of an object's pixel, and the settings
    for captions.

    A threshold of `None` is that of the model's decoder, or else 0.5.
    """

    top: int = 5
    threshold: float | None = None
    captions: CaptionSettings = field(default_factory=CaptionSettings)

    @property
    def least_score(self) -> float:
        """The minimum score for readers that have no threshold of their own."""
        return _USUAL_THRESHOLD if self.threshold is None else self.threshold


class Similarity(NamedTuple):
    """The similarity of an embedding to that of another image."""

    image: str
    distance: float
    cosine: float

    @classmethod
    def of(cls, embedding: Embedding, image: str, other: Embedding) -> Similarity:
        """Return the Euclidean distance and the cosine of the angle between two embeddings. `image` is the name of the
        other one's image."""
        one, two = (each.values.astype(np.float64) for each in (embedding, other))
        norms = float(np.linalg.norm(one) * np.linalg.norm(two))
        return cls(image, float(np.linalg.norm(one - two)), float(one @ two) / norms if norms else 0.0)


@dataclass(frozen=True)
class ImageAnswer:
    """The answer about an image, or a sentence about a problem with the image.

    `drawn` is the path of the picture that was written for the answer. `similarity` compares an embedding with that of
    the first image.
    """

    image: str
    placement: Placement | None = None
    answer: Answer | None = None
    problem: str = ""
    pixels: Numbers | None = None  # kept only if pictures will be drawn
    drawn: str = ""
    similarity: Similarity | None = None

    @property
    def size(self) -> ImageSize | None:
        """The image's own height and width."""
        return None if self.placement is None else self.placement.image


def as_plain(answer: ImageAnswer) -> dict[str, Any]:
    """Return an answer as JSON values."""
    plain: dict[str, Any] = {"image": answer.image}
    if answer.size is not None:
        plain |= {"width": answer.size.width, "height": answer.size.height}
    if answer.answer is None:
        return plain | {"error": answer.problem}
    plain |= _plain(answer.answer)
    if answer.similarity is not None:
        plain["similarity"] = answer.similarity._asdict()
    return plain | {"drawn": answer.drawn} if answer.drawn else plain


def _plain(answer: Answer) -> dict[str, Any]:
    match answer:
        case Classes(best):
            return {"classes": [{"label": each.label, "name": each.name, "score": each.score} for each in best]}
        case Boxes(boxes):
            return {"boxes": [_plain_box(box) for box in boxes]}
        case Segments(segments):
            return {"segments": [{"label": each.label, "name": each.name, "share": each.share} for each in segments]}
        case Number(value):
            return {"value": value}
        case Values(values):
            return {"shape": list(values.shape), "values": values.ravel().tolist()}
        case Captions(captions):
            return {
                "captions": [
                    {"caption": str(each), "score": math.exp(each.log_likelihood), "ended": each.ended}
                    for each in captions
                ]
            }
        case Traits(traits):
            return {"attributes": {name: _plain(each) for name, each in traits.items()}}
        case Several(by_blob):
            return {"outputs": {blob: _plain(each) for blob, each in by_blob.items()}}
        case Subjects(found):
            return {"subjects": [_plain_box(each.box) | _plain(each.answer) for each in found]}
        case Points():
            traits = _plain(answer.traits) if isinstance(answer, PointsAndTraits) else {}
            return {"points": [point._asdict() for point in points_of(answer)], **traits}
        case People():
            return {
                "people": [
                    {"score": float(total), "points": [point._asdict() for point in points]}
                    for total, points in zip(answer.totals, people_of(answer), strict=True)
                ]
            }
        case Picture(pixels, kind):
            channels, height, width = pixels.shape
            return {"picture": {"width": width, "height": height, "channels": channels, "kind": kind.value}}
        case Embedding(vector):
            return {"norm": norm_of(answer), "shape": list(vector.shape), "values": vector.ravel().tolist()}
        case Text(symbols, scores):
            return {"text": str(answer), "symbols": list(symbols), "scores": list(scores)}


def _plain_box(box: Box) -> dict[str, Any]:
    plain = {"label": box.label, "name": box.name, "score": box.score, **box.corners._asdict()}
    return plain | {"points": [list(point) for point in box.points]} if box.points else plain


class NamedPoint(NamedTuple):
    """A landmark in the image's own pixels. The score is `None` if the net computes none."""

    name: str
    x: float
    y: float
    score: float | None


def points_of(points: Points) -> list[NamedPoint]:
    """Return the landmarks of an object with their names, or else their numbers."""
    scores = [None] * len(points.points) if points.scores is None else points.scores.tolist()
    return [
        NamedPoint(_name_of(number, points.names), x, y, score)
        for number, ((x, y), score) in enumerate(zip(points.points.tolist(), scores, strict=True))
    ]


def people_of(people: People) -> list[list[NamedPoint]]:
    """Return the body parts of each person that were found, with their names or else their numbers."""
    return [
        [
            NamedPoint(_name_of(number, people.names), x, y, score)
            for number, ((x, y), score) in enumerate(zip(places.tolist(), scores.tolist(), strict=True))
            if not math.isnan(x)
        ]
        for places, scores in zip(people.points, people.scores, strict=True)
    ]


def _name_of(number: int, names: tuple[str, ...]) -> str:
    return names[number] if number < len(names) else str(number)


def norm_of(embedding: Embedding) -> float:
    """Return the Euclidean length of an embedding."""
    return float(np.linalg.norm(embedding.values.astype(np.float64)))

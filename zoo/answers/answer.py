"""The answer of a model about an image: classes, boxes, segments or numbers, with their places in the image."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netdsl.prediction.captions import Caption, CaptionSettings

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
        """Return the rows and columns of the resized image that the net sees. As in Caffe, half pixels are rounded
        down."""
        top, left = ((whole - part) // 2 for whole, part in zip(self.resized, self.crop, strict=True))
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
        rows, columns = self.window()
        scales = [self.scale or whole / own for whole, own in zip(self.resized, self.image, strict=True)]
        moved: Numbers = (boxes + [columns.start, rows.start] * 2) / (scales[::-1] * 2)
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
    """A detected object with its place in the image's own pixels."""

    label: int
    name: str
    score: float
    corners: Corners


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
    """All values of a net whose answers are neither classes nor places, such as features."""

    values: Numbers


@dataclass(frozen=True)
class Captions:
    """The captions of an image, the likeliest first."""

    best: tuple[Caption, ...]


Answer = Classes | Boxes | Segments | Number | Values | Captions


@dataclass(frozen=True)
class AnswerSettings:
    """The maximum number of classes in an answer, the minimum score of a box or of an object's pixel, and the settings
    for captions."""

    top: int = 5
    threshold: float = 0.5
    captions: CaptionSettings = field(default_factory=CaptionSettings)


@dataclass(frozen=True)
class ImageAnswer:
    """The answer about an image, or a sentence about a problem with the image."""

    image: str
    placement: Placement | None = None
    answer: Answer | None = None
    problem: str = ""
    pixels: Numbers | None = None  # kept only if pictures will be drawn

    @property
    def size(self) -> ImageSize | None:
        """The image's own height and width."""
        return None if self.placement is None else self.placement.image


def as_plain(answer: ImageAnswer) -> dict[str, Any]:
    """Return an answer as JSON values."""
    plain: dict[str, Any] = {"image": answer.image}
    if answer.size is not None:
        plain |= {"width": answer.size.width, "height": answer.size.height}
    match answer.answer:
        case None:
            plain["error"] = answer.problem
        case Classes(best):
            plain["classes"] = [{"label": each.label, "name": each.name, "score": each.score} for each in best]
        case Boxes(found):
            plain["boxes"] = [
                {"label": box.label, "name": box.name, "score": box.score, **box.corners._asdict()} for box in found
            ]
        case Segments(found):
            plain["segments"] = [{"label": each.label, "name": each.name, "share": each.share} for each in found]
        case Number(value):
            plain["value"] = value
        case Values(values):
            plain |= {"shape": list(values.shape), "values": values.ravel().tolist()}
        case Captions(best):
            plain["captions"] = [
                {"caption": str(each), "score": math.exp(each.log_likelihood), "ended": each.ended} for each in best
            ]
    return plain

"""What a model says about an image: classes, boxes, segments or numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from netdsl.prediction.captions import Caption, CaptionSettings
from zoo.answers.placement import Corners, ImageSize, Numbers, Placement


@dataclass(frozen=True)
class ClassScore:
    """A class and how much the net thinks it is that one."""

    label: int
    name: str
    score: float


@dataclass(frozen=True)
class Box:
    """A thing that was detected, and where it is in the image's own pixels."""

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
    """The best classes, the best one first."""

    best: tuple[ClassScore, ...]


@dataclass(frozen=True)
class Boxes:
    """The things in an image, the surest first."""

    found: tuple[Box, ...]


@dataclass(frozen=True)
class Segments:
    """The classes of an image's pixels, the largest first, and the class of each pixel as the net sees them."""

    found: tuple[Segment, ...]
    labels: Numbers


@dataclass(frozen=True)
class Number:
    """The one number that a net makes of an image."""

    value: float


@dataclass(frozen=True)
class Values:
    """All values of a net whose answers are neither classes nor places, such as features."""

    values: Numbers


@dataclass(frozen=True)
class Captions:
    """What a net that writes says of an image, the likeliest caption first."""

    best: tuple[Caption, ...]


Answer = Classes | Boxes | Segments | Number | Values | Captions


@dataclass(frozen=True)
class AnswerSettings:
    """How many classes an answer has at most, the least score of a box or of a pixel that belongs to a thing, and how
    captions are chosen.
    """

    top: int = 5
    threshold: float = 0.5
    captions: CaptionSettings = field(default_factory=CaptionSettings)


@dataclass(frozen=True)
class ImageAnswer:
    """The answer about an image or, in place of it, a sentence about what is wrong with the image."""

    image: str
    placement: Placement | None = None
    answer: Answer | None = None
    problem: str = ""
    pixels: Numbers | None = None  # if somebody is going to draw on them

    @property
    def size(self) -> ImageSize | None:
        """The image's own height and width."""
        return None if self.placement is None else self.placement.image


def as_plain(answer: ImageAnswer) -> dict[str, Any]:
    """An answer as JSON has it."""
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

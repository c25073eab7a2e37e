"""The base of decoders, which turn the raw outputs of a published net into boxes, points, pictures and other values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caffe_proto.errors import name_advice
from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import softmax, suppressed

Numbers = NDArray[Any]
Outputs = Mapping[str, Numbers]  # the blobs of one image by name, without a batch axis
Shapes = Mapping[str, tuple[int, ...]]  # the shapes of such blobs
Size = tuple[int, int]  # height and width in pixels

LARGEST_LIST = 10_000  # maximum number of boxes to compare with each other, because the time grows with the square
LARGEST_SIZE = 1 << 14  # the largest height, width, stride or anchor in pixels
LARGEST_MAP = 1 << 10  # the largest height or width of a feature map
_LONGEST_SETTING = 1000  # maximum length of a list of numbers


@dataclass(frozen=True)
class Detections:
    """Objects in an image, best first.

    `boxes` is (N, 4): left, top, right and bottom. `scores` and `labels` are (N,). `points` is (N, K, 2) with x and y
    of the landmarks of each object. `names` are the names of the labels, if the decoder knows them.
    """

    boxes: Numbers
    scores: Numbers
    labels: Numbers
    points: Numbers | None = None
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Points:
    """The landmarks of one object: x and y as (K, 2), and a score for each if the net computes scores.

    `groups` are attributes of the object that the net computes too, such as the angles of a head.
    """

    points: Numbers
    scores: Numbers | None = None
    names: tuple[str, ...] = ()
    groups: Mapping[str, ClassScores | float] = field(default_factory=dict)


@dataclass(frozen=True)
class People:
    """The body parts of several people, best person first.

    `points` is (P, K, 2) with x and y, and `scores` is (P, K). A part that wasn't found has score 0 and the position
    NaN. `limbs` are pairs of parts to draw a line between. `totals` are the scores of the people, (P,).
    """

    points: Numbers
    scores: Numbers
    totals: Numbers
    names: tuple[str, ...] = ()
    limbs: tuple[tuple[int, int], ...] = ()


class PointOrder(Enum):
    """The order of coordinates in a vector: x and y of each point, or all x before all y."""

    XY = "xy"
    XXYY = "xxyy"


class PictureKind(Enum):
    """The meaning of the channels of a picture."""

    RGB = "RGB"
    BGR = "BGR"
    GRAY = "gray"
    LUMA = "Y"  # the brightness; the colors are those of the net's input image
    CHROMA = "ab"  # a and b of CIE Lab; the lightness is that of the net's input image


@dataclass(frozen=True)
class Picture:
    """An image that a net computes: values from 0 to 255 as (channels, height, width). Values of `CHROMA` are a and b
    themselves."""

    values: Numbers
    kind: PictureKind


@dataclass(frozen=True)
class Embedding:
    """A vector whose distance to other vectors measures similarity."""

    values: Numbers


@dataclass(frozen=True)
class Text:
    """A sequence of symbols that a net recognizes, with the score of each if the net computes scores."""

    symbols: tuple[str, ...]
    scores: tuple[float, ...] = ()

    def __str__(self) -> str:
        return "".join(self.symbols)


@dataclass(frozen=True)
class ClassScores:
    """The score of each class in a group, and the names of the classes if the decoder knows them."""

    scores: Numbers
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attributes:
    """The attributes of one object by name: the scores of classes, as for a gender, or a number, as for an age."""

    groups: Mapping[str, ClassScores | float]


@dataclass(frozen=True)
class AttributeGroup:
    """An attribute: a part of a blob that contains the scores of classes, or a number.

    The part begins at the value `first` and has `count` values, by default all others. One value without names is a
    number, which is multiplied by `scale`. With `expected`, the classes are the numbers 0, 1, 2 and so on, as for ages,
    and the attribute is their mean weighted by the scores.
    """

    blob: str
    names: tuple[str, ...] = ()
    first: int = 0
    count: int = 0
    softmax: bool = False  # whether the net's values become probabilities first
    expected: bool = False
    scale: float = 1.0

    def read(self, outputs: Outputs) -> ClassScores | float:
        """Return the classes or the number of this attribute."""
        if self.blob not in outputs:
            raise DecoderError(f"the net has no output '{self.blob}'; {name_advice(self.blob, outputs)}")
        part = part_of(finite_blob(outputs, self.blob), self.blob, self.first, self.count).astype(np.float64)
        if self.softmax:
            part = softmax(part, 0)
        if self.expected:
            return float(part @ np.arange(part.size) / part.sum()) * self.scale
        if part.size == 1 and not self.names:
            return float(part[0]) * self.scale
        if self.names and len(self.names) != part.size:
            raise DecoderError(f"there are {part.size} scores for {len(self.names)} names; correct `names`")
        return ClassScores(part, self.names)


Decoded = Detections | Points | People | Picture | Embedding | Text | Attributes


class PublishedInput(NamedTuple):
    """The preparation of color images for a family's published nets. `mean` is in the order of the channels."""

    rgb: bool
    mean: tuple[float, ...] = ()
    scale: float = 1.0
    padded: bool = False  # whether images keep their proportions, between black borders


class Recognized(NamedTuple):
    """A decoder whose family was recognized by the net's outputs, the reason as a clause for the user, and the input of
    the family's published nets, if all of them have the same."""

    decoder: Decoder
    reason: str
    input: PublishedInput | None = None


@dataclass(frozen=True, kw_only=True)
class Decoder(ABC):
    """Decodes the outputs of a family of nets. Its fields are the settings in a card.

    All places are in pixels of the net's input, measured from its corner: the first pixel extends from 0 to 1, and a
    box ends after its last pixel. A decoder reads its blobs by role, such as "scores". `blobs` overrides
    the published names of blobs in `published`. Some roles have several blobs, one for each feature map. A role without
    blobs isn't read.
    """

    name: ClassVar[str]
    published: ClassVar[Mapping[str, tuple[str, ...]]]
    files: ClassVar[tuple[str, ...]] = ()  # the settings that name files in the model's folder
    one_subject: ClassVar[bool] = False  # whether such nets read one subject that was cut out of a photo, as a face

    blobs: dict[str, str | tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for role in self.blobs:
            if role not in self.published:
                roles = ", ".join(self.published)
                raise DecoderError(f"blobs: '{role}' isn't a role of the decoder '{self.name}'; use {roles}")

    def names_of(self, role: str) -> tuple[str, ...]:
        """Return the names of a role's blobs."""
        names = self.blobs.get(role, self.published[role])
        return (names,) if isinstance(names, str) else names

    @property
    def blob_names(self) -> tuple[str, ...]:
        """The names of all blobs that `decode` reads, each once."""
        return tuple(dict.fromkeys(name for role in self.published for name in self.names_of(role)))

    @abstractmethod
    def decode(self, outputs: Outputs, size: Size) -> Decoded:
        """Return the meaning of the outputs for one image. `size` is the height and width of the net's input.

        Raises a `DecoderError` if a blob is missing, or its shape or values don't fit the settings.
        """

    @classmethod
    def recognize(cls, shapes: Shapes, size: Size) -> Recognized | None:
        """Return a decoder for a net with outputs of these shapes, or `None` unless the family is certain."""
        return None

    def blob(self, outputs: Outputs, role: str) -> Numbers:
        """Return the only blob of a role."""
        blobs = self.blobs_of(outputs, role)
        if len(blobs) != 1:
            raise DecoderError(f"blobs: '{role}' has {len(blobs)} blobs; name one under `blobs` in the card")
        return blobs[0]

    def blobs_of(self, outputs: Outputs, role: str, count: int | None = None) -> list[Numbers]:
        """Return the blobs of a role, of which there must be `count`. All their values are finite."""
        names = self.names_of(role)
        if count is not None and len(names) != count:
            raise DecoderError(
                f"blobs: '{role}' has {len(names)} blobs instead of {count}; name {count} under `blobs` in the card"
            )
        return [finite_blob(outputs, name) for name in names]

    def rows(self, outputs: Outputs, role: str, columns: int) -> Numbers:
        """Return the values of a role's blobs, one blob after the other, as rows with this number of columns."""
        blobs = self.blobs_of(outputs, role)
        values = np.concatenate([blob.ravel() for blob in blobs]) if blobs else np.empty(0)
        if not values.size or values.size % columns:
            raise DecoderError(
                f"blobs: {role} has {values.size} values, which isn't a multiple of {columns}; set `blobs` and "
                "the decoder's numbers in the card to fit the net"
            )
        return values.reshape(-1, columns)

    def maps(self, outputs: Outputs, role: str, count: int | None = None) -> list[Numbers]:
        """Return the blobs of a role, which must be feature maps of (channels, height, width)."""
        maps = self.blobs_of(outputs, role, count)
        for name, values in zip(self.names_of(role), maps, strict=True):
            if values.ndim != 3 or not values.size:
                raise DecoderError(
                    f"blob '{name}': the blob of {role} must be (channels, height, width), but its shape is "
                    f"{values.shape}; name a blob with three axes under `blobs` in the card"
                )
        return maps


@dataclass(frozen=True, kw_only=True)
class DetectionDecoder(Decoder):
    """Decodes detections: the best boxes of each label after non-maximum suppression."""

    threshold: float = 0.5  # minimum score
    overlap: float = 0.45  # intersection over union above which only the better box stays
    candidates: int = 400  # number of boxes of a label that are considered, best first
    most: int = 200  # maximum number of detections in an image
    names: tuple[str, ...] = ()  # the names of the labels
    one_label: bool = False  # whether a box has only its likeliest label
    across_labels: bool = False  # whether boxes of different labels suppress each other

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("threshold", self.threshold, 0, 1)
        require_range("overlap", self.overlap, 0, 1)
        require_range("candidates", self.candidates, 1, LARGEST_LIST)
        require_range("most", self.most, 1, LARGEST_LIST)

    def best(
        self, boxes: Numbers, scores: Numbers, labels: Numbers, points: Numbers | None = None, *, pixel: float = 0
    ) -> Detections:
        """Return the boxes that reach the threshold and survive non-maximum suppression.

        `pixel` is 1 for boxes that include their last pixels.
        """
        sure = np.flatnonzero(scores >= self.threshold)
        groups = np.zeros_like(sure) if self.across_labels else labels[sure]
        kept = suppressed(boxes[sure], scores[sure], groups, self.overlap, candidates=self.candidates, pixel=pixel)
        chosen = sure[kept[: self.most]]
        return Detections(
            boxes[chosen], scores[chosen], labels[chosen], None if points is None else points[chosen], self.names
        )

    def best_of_classes(self, boxes: Numbers, scores: Numbers, background: int | None = None) -> Detections:
        """Return the best boxes for scores (N, classes). Unless `one_label` is set, a box can have several labels.

        `boxes` is (N, 4). No box gets the label of the background.
        """
        foreground = np.delete(np.arange(scores.shape[1]), () if background is None else background)
        scores = scores[:, foreground]
        if self.one_label and len(foreground):
            label = scores.argmax(1)
            box = np.arange(len(boxes))
        else:
            box, label = np.nonzero(scores >= self.threshold)
        return self.best(boxes[box], scores[box, label], foreground[label])


def require_range(setting: str, value: float, least: float, most: float) -> None:
    """Raise a `DecoderError` unless a setting is within a range."""
    if not least <= value <= most:
        raise DecoderError(f"{setting} is {value:g}; set it to a number from {least:g} to {most:g}")


def require_sizes(setting: str, values: Sequence[float], count: int | None = None) -> None:
    """Raise a `DecoderError` unless a setting is a list of positive numbers, of which there must be `count`."""
    if not values or (count is not None and len(values) != count):
        expected = "at least one number" if count is None else f"{count} numbers"
        raise DecoderError(f"{setting} has {len(values)} numbers; give {expected}")
    if len(values) > _LONGEST_SETTING:
        raise DecoderError(f"{setting} has {len(values)} numbers; give at most {_LONGEST_SETTING}")
    for value in values:
        if not 0 < value <= LARGEST_SIZE:
            raise DecoderError(f"{setting} contains {value:g}; use numbers above 0 and at most {LARGEST_SIZE}")


def require_count(what: str, predicted: int, expected: int) -> None:
    """Raise a `DecoderError` unless a net predicts the number of boxes that the settings describe."""
    if predicted != expected:
        raise DecoderError(
            f"the net predicts {predicted} boxes, but {what} and the size of the net's input describe "
            f"{expected}; set {what} as in the program that trained the net, or the input's size in its "
            "deploy.prototxt"
        )


def require_pairs(setting: str, values: Sequence[float]) -> None:
    """Raise a `DecoderError` unless a setting is a flat list with a width and a height for each anchor."""
    require_sizes(setting, values)
    if len(values) % 2:
        raise DecoderError(f"{setting} has {len(values)} numbers; give a width and a height for each anchor")


def finite_blob(outputs: Outputs, name: str) -> Numbers:
    """Return a blob. Raises a `DecoderError` if it is missing or isn't finite."""
    if name not in outputs:
        raise DecoderError(f"blobs: the net doesn't compute '{name}'; {name_advice(name, outputs)}")
    values = outputs[name]
    if not np.isfinite(values).all():
        raise DecoderError(
            f"blob '{name}': the net's output for this image isn't finite; download the weights again, or train the "
            "net again with a lower base_lr"
        )
    return values


def part_of(values: Numbers, blob: str, first: int, count: int) -> Numbers:
    """Return `count` values of a blob as a vector, beginning at the value `first`. A count of 0 means all others."""
    if first >= values.size:
        raise DecoderError(f"blob '{blob}' has {values.size} values, and none from value {first} on; lower `first`")
    end = first + count if count else values.size
    if end > values.size:
        raise DecoderError(
            f"blob '{blob}' has {values.size} values, so `count` is at most {values.size - first} from value {first} "
            "on; lower it, or leave it out for all of them"
        )
    return values.ravel()[first:end]


def require_groups(groups: Mapping[str, AttributeGroup]) -> None:
    """Raise a `DecoderError` if the part of a blob that an attribute reads begins or ends before the blob."""
    for attribute, group in groups.items():
        if group.first < 0 or group.count < 0:
            raise DecoderError(
                f"groups.{attribute}: `first` and `count` can't be negative; count the blob's values from 0"
            )


def read_groups(groups: Mapping[str, AttributeGroup], outputs: Outputs) -> dict[str, ClassScores | float]:
    """Return the classes or the number of each attribute. Errors name the attribute."""
    read = dict[str, ClassScores | float]()
    for name, group in groups.items():
        try:
            read[name] = group.read(outputs)
        except DecoderError as problem:
            raise DecoderError(f"groups.{name}: {problem}") from None
    return read

"""Images with marked objects, in a form that is the same for all data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.files import read_bytes
from netdsl.data.transforms.pose_skeleton import Visibility
from netdsl.errors import DataError

_FIRST = ord("0")  # the character that stands for 0 in COCO's text
_BITS, _MORE, _NEGATIVE = 5, 0x20, 0x10  # a character has five bits of a number, a bit if more follow, and the sign
_LONGEST = 7  # characters of a number


class RunLengths(NamedTuple):
    """The lengths of runs of pixels, column by column. Runs outside the object and runs inside it alternate."""

    height: int
    width: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, mask: NDArray[np.bool_]) -> RunLengths:
        """Return the runs of a mask."""
        pixels = mask.T.ravel()
        changes = np.flatnonzero(np.diff(pixels, prepend=False, append=not pixels[-1])).tolist()
        height, width = mask.shape
        return cls(height, width, tuple(int(count) for count in np.diff(changes, prepend=0)))

    def mask(self) -> NDArray[np.bool_]:
        """Return a mask of the object's pixels, with rows and columns as in the image."""
        inside = np.arange(len(self.counts)) % 2 == 1
        return np.repeat(inside, self.counts).reshape(self.width, self.height).T

    @property
    def area(self) -> int:
        """The number of pixels that belong to the object."""
        return sum(self.counts[1::2])


def checked_runs(size: tuple[int, int], counts: Sequence[int] | str, height: int, width: int, where: str) -> RunLengths:
    """Return the runs from a file. Raises a `DataError` unless they cover the image exactly."""
    if size != (height, width):
        raise DataError(
            f"{where}: its mask has {size[0]} x {size[1]} pixels, but its image has {height} x {width}; correct "
            "the `size` of its segmentation, or name the folder of the right images with ?images=FOLDER"
        )
    numbers = _numbers(counts, where) if isinstance(counts, str) else list(counts)
    if any(number < 0 for number in numbers) or sum(numbers) != height * width:
        raise DataError(
            f"{where}: the runs of its mask don't cover the {height} x {width} pixels of its image; correct the "
            "`counts` of its segmentation, which are 0 or more and add up to this number"
        )
    return RunLengths(height, width, tuple(numbers))


def _numbers(text: str, where: str) -> list[int]:
    """Return the numbers in COCO's text. From the fourth on, each is stored as its difference from the last but one."""
    numbers: list[int] = []
    number = length = 0
    for character in text:
        bits = ord(character) - _FIRST
        if not 0 <= bits < 2 * _MORE or length == _LONGEST:
            raise DataError(
                f"{where}: its mask isn't COCO's text for runs of pixels; download or export the annotations again"
            )
        number |= (bits % _MORE) << (_BITS * length)
        length += 1
        if bits & _MORE:
            continue
        if bits & _NEGATIVE:
            number -= 1 << (_BITS * length)
        numbers.append(number + (numbers[-2] if len(numbers) > 2 else 0))
        number = length = 0
    if length:
        raise DataError(f"{where}: the text of its mask is cut off; download or export the annotations again")
    return numbers


class Edges(NamedTuple):
    """The edges of a box, in pixels from the image's corner. The box of the corner pixel is 0, 0, 1, 1."""

    left: float
    top: float
    right: float
    bottom: float


Outline = tuple[tuple[float, float], ...]  # the corners of a polygon, as x and y in pixels


class Joint(NamedTuple):
    """A joint of a person: its place in pixels, and whether it is visible, hidden or unmarked."""

    x: float
    y: float
    visibility: Visibility

    @property
    def marked(self) -> bool:
        """Whether the place of the joint is known."""
        return self.visibility <= Visibility.SHOWN


@dataclass(frozen=True)
class MarkedObject:
    """An object in an image. `label` is the index of its class among the set's classes. Index 0 is the background.

    A difficult object doesn't count when detections are scored. A truncated object extends beyond its box. A crowd is a
    group of objects in one box. `outlines` are polygons around the object, and `runs` are its pixels, if the data set
    contains them. `area` is the number of its pixels, as the data set states it. `joints` are a person's joints, always
    the same number in the same order.
    """

    label: int
    edges: Edges
    difficult: bool = False
    crowd: bool = False
    outlines: tuple[Outline, ...] = ()
    truncated: bool = False
    runs: RunLengths | None = None
    area: float | None = None
    joints: tuple[Joint, ...] = ()

    @property
    def has_joints(self) -> bool:
        """Whether the place of at least one joint is known."""
        return any(joint.marked for joint in self.joints)


@dataclass(frozen=True)
class AnnotatedImage:
    """An image's file, its size and its objects. `name` is the file's name within the set, without its suffix.

    `class_map` and `object_map` are images of the same size, if the set contains them. Their pixels are the class, or
    the object's number from 1 on, and 255 where it is unknown. If the image is stored inside another file, `encoded`
    contains its bytes, and its path is only a name.
    """

    name: str
    path: Path
    height: int
    width: int
    objects: tuple[MarkedObject, ...]
    class_map: Path | None = None
    object_map: Path | None = None
    encoded: bytes | None = field(default=None, repr=False)

    def read(self) -> bytes:
        """Return the encoded image."""
        return read_bytes(str(self.path)) if self.encoded is None else self.encoded


class AnnotatedSet(Protocol):
    """A data set of images with objects."""

    @property
    def classes(self) -> Sequence[str]:
        """The names of the classes. The first one is the background."""
        ...

    @property
    def first_pixel(self) -> int:
        """The coordinate of the first pixel in the set's files: 1 in Pascal VOC, 0 in others."""
        ...

    def __len__(self) -> int:
        """Return the number of images."""
        ...

    def image(self, index: int) -> AnnotatedImage:
        """Return one image with its objects. Raises a `DataError` that names the image if it is bad."""
        ...


class SetImages:
    """Fetches the images of a set by their places in it."""

    def __init__(self, annotated: AnnotatedSet) -> None:
        self._set = annotated

    def fetch(self, index: int) -> AnnotatedImage:
        """Return the image at a place in the set."""
        return self._set.image(index)


class SomeOfSet:
    """A selection of a set's images."""

    def __init__(self, annotated: AnnotatedSet, places: Sequence[int]) -> None:
        self._set, self._places = annotated, places

    @property
    def classes(self) -> Sequence[str]:
        """The names of the set's classes."""
        return self._set.classes

    @property
    def first_pixel(self) -> int:
        """The coordinate of the first pixel in the set's files."""
        return self._set.first_pixel

    def __len__(self) -> int:
        return len(self._places)

    def image(self, index: int) -> AnnotatedImage:
        """Return an image of the selection."""
        return self._set.image(self._places[index])

"""The pixels of an object as COCO keeps them: how many are outside, inside, outside ... down the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from netdsl.errors import DataError

_FIRST = ord("0")  # the character of COCO's text for nothing
_BITS, _MORE, _NEGATIVE = 5, 0x20, 0x10  # a character has five bits; whether more follow; whether the number is below 0
_LONGEST = 7  # characters of a number


class RunLengths(NamedTuple):
    """The lengths of runs of pixels that don't and do belong to an object, in turns, one column after the other."""

    height: int
    width: int
    counts: tuple[int, ...]

    @classmethod
    def of(cls, mask: NDArray[np.bool_]) -> RunLengths:
        """The runs of a mask."""
        pixels = mask.T.ravel()
        changes = np.flatnonzero(np.diff(pixels, prepend=False, append=not pixels[-1])).tolist()
        height, width = mask.shape
        return cls(height, width, tuple(int(count) for count in np.diff(changes, prepend=0)))

    def mask(self) -> NDArray[np.bool_]:
        """Whether each pixel belongs to the object, as rows of columns."""
        inside = np.arange(len(self.counts)) % 2 == 1
        return np.repeat(inside, self.counts).reshape(self.width, self.height).T

    @property
    def area(self) -> int:
        """How many pixels belong to the object."""
        return sum(self.counts[1::2])


def checked_runs(size: tuple[int, int], counts: Sequence[int] | str, height: int, width: int, where: str) -> RunLengths:
    """The runs of a file, which must cover an image exactly."""
    if size != (height, width):
        raise DataError(f"{where}: has a mask of {size[0]} x {size[1]} pixels, and its image has {height} x {width}")
    numbers = _numbers(counts, where) if isinstance(counts, str) else list(counts)
    if any(number < 0 for number in numbers) or sum(numbers) != height * width:
        raise DataError(f"{where}: the runs of its mask don't cover the {height} x {width} pixels of its image")
    return RunLengths(height, width, tuple(numbers))


def _numbers(text: str, where: str) -> list[int]:
    """The numbers in COCO's text. From the fourth on it has differences from the number before the last one."""
    numbers: list[int] = []
    number = length = 0
    for character in text:
        bits = ord(character) - _FIRST
        if not 0 <= bits < 2 * _MORE or length == _LONGEST:
            raise DataError(f"{where}: its mask isn't COCO's text for runs of pixels")
        number |= (bits % _MORE) << (_BITS * length)
        length += 1
        if bits & _MORE:
            continue
        if bits & _NEGATIVE:
            number -= 1 << (_BITS * length)
        numbers.append(number + (numbers[-2] if len(numbers) > 2 else 0))
        number = length = 0
    if length:
        raise DataError(f"{where}: the text of its mask is cut off")
    return numbers

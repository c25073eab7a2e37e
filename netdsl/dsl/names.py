"""What several names have in common, and where they differ: `res2a_branch1`, `res3b_branch1` are `res{}_branch1`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

Values = tuple[str, ...]


@dataclass(frozen=True)
class Holed:
    """Names of which only the middle differs."""

    prefix: str
    middles: Values
    suffix: str

    def code(self, variable: str) -> str:
        """The expression that makes the names from a variable that has the middle."""
        if not self.prefix and not self.suffix:
            return variable
        return f'f"{self.prefix}{{{variable}}}{self.suffix}"'

    @property
    def words(self) -> str:
        """What doesn't differ, as a part of an identifier; of the suffix if there is any."""
        return _identifier(self.suffix) or _identifier(self.prefix)

    @property
    def plain(self) -> bool:
        """Whether what doesn't differ can stand in an f-string as it is."""
        same = self.prefix + self.suffix
        return same.isprintable() and not re.search(r"""[{}"'\\]""", same)


def cuts(made: Iterable[Values], read: Iterable[Values]) -> dict[Values, Holed] | None:
    """The names that layers make, and those that they read and that differ in the same; None if it isn't one thing."""
    shortest = {values: holed(values) for values in made}
    middles = {cut.middles for cut in shortest.values()}
    if len(middles) > 1 or not all(cut.plain for cut in shortest.values()):
        return None
    also = {values: holed(values) for values in read}
    shortest |= {values: cut for values, cut in also.items() if cut.middles in middles and cut.plain}
    wide = {values: widened(cut) for values, cut in shortest.items()}
    return wide if len({cut.middles for cut in wide.values()}) == 1 else shortest


def holed(values: Sequence[str]) -> Holed:
    """The names with a middle as short as can be."""
    prefix = _common(values)
    rests = [value[len(prefix) :] for value in values]
    suffix = _common([rest[::-1] for rest in rests])[::-1]
    return Holed(prefix, tuple(rest[: len(rest) - len(suffix)] for rest in rests), suffix)


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")


def _common(values: Sequence[str]) -> str:
    """The longest beginning that all have."""
    pairs = zip(min(values), max(values), strict=False)  # what the extremes share, all between them share
    return "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def widened(names: Holed) -> Holed:
    """The same with a middle of whole words and numbers, as people would cut: `2a`, `2b` and not `a`, `b`."""
    left = len(names.prefix)
    while left and any(_joined(names.prefix[left - 1], middle[:1]) for middle in _middles(names, left)):
        left -= 1
    right = 0
    while right < len(names.suffix) and any(
        _joined(middle[-1:], names.suffix[right]) for middle in _middles(names, left, right)
    ):
        right += 1
    return Holed(names.prefix[:left], tuple(_middles(names, left, right)), names.suffix[right:])


def _middles(names: Holed, left: int, right: int = 0) -> list[str]:
    return [names.prefix[left:] + middle + names.suffix[:right] for middle in names.middles]


def _joined(first: str, second: str) -> bool:
    """Whether a cut between these characters would be within a word, a number, or a number and its letter."""
    return (first.isalpha() and second.isalpha()) or (first.isdigit() and second.isalnum())

"""Patterns of names that differ in one part: `res2a_branch1` and `res3b_branch1` are `res{}_branch1`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile

Values = tuple[str, ...]


@dataclass(frozen=True)
class NamePattern:
    """A pattern of names that differ only in a middle part."""

    prefix: str
    middles: Values
    suffix: str

    def code(self, variable: str) -> str:
        """The Python expression that makes the names from a variable with the middle part."""
        if not self.prefix and not self.suffix:
            return variable
        return f'f"{self.prefix}{{{variable}}}{self.suffix}"'

    @property
    def words(self) -> str:
        """The common suffix, or else the prefix, as part of an identifier."""
        return _identifier(self.suffix) or _identifier(self.prefix)

    @property
    def plain(self) -> bool:
        """Whether prefix and suffix need no escapes in an f-string."""
        fixed = self.prefix + self.suffix
        return fixed.isprintable() and not re.search(r"""[{}"'\\]""", fixed)


def name_patterns(tops: Iterable[Values], bottoms: Iterable[Values]) -> dict[Values, NamePattern] | None:
    """Patterns of all tops, and of the bottoms with the same middle parts; None if the tops' middle parts differ."""
    shortest = {values: name_pattern(values) for values in tops}
    middles = {pattern.middles for pattern in shortest.values()}
    if len(middles) > 1 or not all(pattern.plain for pattern in shortest.values()):
        return None
    bottom_patterns = {values: name_pattern(values) for values in bottoms}
    shortest |= {
        values: pattern for values, pattern in bottom_patterns.items() if pattern.middles in middles and pattern.plain
    }
    wide = {values: with_whole_words(pattern) for values, pattern in shortest.items()}
    return wide if len({pattern.middles for pattern in wide.values()}) == 1 else shortest


def name_pattern(values: Sequence[str]) -> NamePattern:
    """The pattern of names with the shortest middle part."""
    prefix = _common_prefix(values)
    rests = [value[len(prefix) :] for value in values]
    suffix = _common_prefix([rest[::-1] for rest in rests])[::-1]
    return NamePattern(prefix, tuple(rest[: len(rest) - len(suffix)] for rest in rests), suffix)


def _identifier(text: str) -> str:
    return re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")


def _common_prefix(values: Sequence[str]) -> str:
    """The longest common prefix."""
    pairs = zip(min(values), max(values), strict=False)  # a common prefix of the first and the last is one of all
    return "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def with_whole_words(names: NamePattern) -> NamePattern:
    """The pattern with a middle part of whole words and numbers: `2a`, `2b` and not `a`, `b`."""
    left = len(names.prefix)
    while left and any(_is_within_word(names.prefix[left - 1], middle[:1]) for middle in _middles(names, left)):
        left -= 1
    right = 0
    while right < len(names.suffix) and any(
        _is_within_word(middle[-1:], names.suffix[right]) for middle in _middles(names, left, right)
    ):
        right += 1
    return NamePattern(names.prefix[:left], tuple(_middles(names, left, right)), names.suffix[right:])


def _middles(names: NamePattern, left: int, right: int = 0) -> list[str]:
    return [names.prefix[left:] + middle + names.suffix[:right] for middle in names.middles]


def _is_within_word(first: str, second: str) -> bool:
    """Whether a cut between these characters would be within a word, a number, or a number and its letter."""
    return (first.isalpha() and second.isalpha()) or (first.isdigit() and second.isalnum())

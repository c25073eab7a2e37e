"""BLEU of Papineni et al. (2002): the share of n-grams in a set of sentences that also occur in their references."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Words = Sequence[str]

LONGEST = 4  # words in the longest n-gram


def bleu(sentences: Sequence[Words], references: Sequence[Sequence[Words]]) -> list[float]:
    """Return BLEU-1 to BLEU-4 of sentences, each of which has one or more references.

    Each score is the geometric mean of the precisions of n-grams up to a length. It includes the brevity penalty if all
    sentences together are shorter than the references of the nearest length.
    """
    length = sum(map(len, sentences))
    if not length:
        return [0.0] * LONGEST
    nearest = sum(_nearest_length(*pair) for pair in zip(sentences, references, strict=True))
    brevity = min(1.0, math.exp(1 - nearest / length))
    precisions = [_precision(sentences, references, size) for size in range(1, LONGEST + 1)]
    return [brevity * math.prod(precisions[:size]) ** (1 / size) for size in range(1, LONGEST + 1)]


def _nearest_length(words: Words, references: Sequence[Words]) -> int:
    """Return the length of the reference that is nearest to that of the words.

    The shorter of two equally near ones counts.
    """
    return min(map(len, references), key=lambda length: (abs(length - len(words)), length))


def _precision(sentences: Sequence[Words], references: Sequence[Sequence[Words]], size: int) -> float:
    """Return the share of n-grams of a length that a reference contains.

    Each counts as often as it occurs in one reference at most.
    """
    right = runs = 0
    for words, others in zip(sentences, references, strict=True):
        most = Counter[Words]()
        for other in others:
            most |= _runs(other, size)
        counts = _runs(words, size)
        right, runs = right + (counts & most).total(), runs + counts.total()
    return right / runs if runs else 0.0


def _runs(words: Words, size: int) -> Counter[Words]:
    return Counter(tuple(words[start : start + size]) for start in range(len(words) - size + 1))

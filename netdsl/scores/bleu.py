"""BLEU of Papineni et al. (2002): how many runs of words in a whole set of sentences their references have."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

Words = Sequence[str]

LONGEST = 4  # words in a run


def bleu(sentences: Sequence[Words], references: Sequence[Sequence[Words]]) -> list[float]:
    """BLEU-1 to BLEU-4 of sentences that have one reference at least each.

    Each is the geometric mean of the parts of runs up to a length that references have, less what it takes if sentences
    are shorter together than those references that are nearest in length.
    """
    length = sum(map(len, sentences))
    if not length:
        return [0.0] * LONGEST
    nearest = sum(_nearest_length(*pair) for pair in zip(sentences, references, strict=True))
    brevity = min(1.0, math.exp(1 - nearest / length))
    precisions = [_precision(sentences, references, size) for size in range(1, LONGEST + 1)]
    return [brevity * math.prod(precisions[:size]) ** (1 / size) for size in range(1, LONGEST + 1)]


def _nearest_length(words: Words, references: Sequence[Words]) -> int:
    """Return the length of the reference that is as long as the words, as nearly as any; of two the shorter one's."""
    return min(map(len, references), key=lambda length: (abs(length - len(words)), length))


def _precision(sentences: Sequence[Words], references: Sequence[Sequence[Words]], size: int) -> float:
    """Return the part of all runs of a length that a reference has, each as often as the one that has it most often."""
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

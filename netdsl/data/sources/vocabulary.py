"""Vocabularies: the words of captions and their numbers, which are the classes that a model of captions predicts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from netdsl.errors import DataError

END, UNKNOWN = "<EOS>", "<unk>"  # LRCN's mark for the end of a caption, which also precedes its first word

_SIGNS = re.compile(r"(\W+)")


class Vocabulary:
    """Words and their numbers. The end of a caption has number 0. It is added to LRCN's files, which leave it out."""

    def __init__(self, names: Sequence[str]) -> None:
        self.words = (END, *(names[1:] if list(names[:1]) == [END] else names))
        self._numbers = {word: number for number, word in reversed(list(enumerate(self.words)))}

    @classmethod
    def of(cls, captions: Iterable[Sequence[str]], least: int) -> Vocabulary:
        """Return the words that occur at least `least` times, most frequent first. The end and the unknown word precede
        them."""
        counts = Counter(word for words in captions for word in words)
        order = sorted(counts, key=lambda word: (-counts[word], word))
        return cls([END, UNKNOWN, *(word for word in order if counts[word] >= least)])

    def numbers(self, words: Sequence[str], where: str) -> list[int]:
        """Return the numbers of words. An unknown word has the number of the unknown word."""
        unknown = self._numbers.get(UNKNOWN)
        numbers = [self._numbers.get(word, unknown) for word in words]
        if None in numbers:
            word = words[numbers.index(None)]
            raise DataError(
                f"{where}: neither the word '{word}' nor '{UNKNOWN}' is in the vocabulary; add a line with one of "
                "them to the vocabulary"
            )
        return [number for number in numbers if number is not None]


def words_of(caption: str) -> list[str]:
    """Return the words and punctuation marks of a caption, divided as in LRCN: in lower case, without a final
    period."""
    shown = "".join(character if character.isprintable() else " " for character in caption)
    words = [" ".join(part.lower().split()) for part in _SIGNS.split(shown.strip()) if part.strip()]
    return words[:-1] if words[-1:] == ["."] else words

"""Vocabularies: the words of captions and their numbers, which are the classes that a model of captions predicts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from netdsl.errors import DataError

END, UNKNOWN = "<EOS>", "<unk>"  # LRCN's: a caption's end, which is also what stands before its first word

_SIGNS = re.compile(r"(\W+)")


class Vocabulary:
    """Words by their numbers. The end of captions has number 0; files of LRCN's leave it out, and then it is added."""

    def __init__(self, names: Sequence[str]) -> None:
        self.words = (END, *(names[1:] if list(names[:1]) == [END] else names))
        self._numbers = {word: number for number, word in reversed(list(enumerate(self.words)))}

    @classmethod
    def of(cls, captions: Iterable[Sequence[str]], least: int) -> Vocabulary:
        """Return the words that occur this many times or more, most frequent first, behind the end and the unknown
        word."""
        counts = Counter(word for words in captions for word in words)
        order = sorted(counts, key=lambda word: (-counts[word], word))
        return cls([END, UNKNOWN, *(word for word in order if counts[word] >= least)])

    def numbers(self, words: Sequence[str], where: str) -> list[int]:
        """Return the numbers of words; one that isn't there has that of the unknown word."""
        unknown = self._numbers.get(UNKNOWN)
        numbers = [self._numbers.get(word, unknown) for word in words]
        if None in numbers:
            word = words[numbers.index(None)]
            raise DataError(f"{where}: the word '{word}' isn't in the vocabulary, which has no '{UNKNOWN}' either")
        return [number for number in numbers if number is not None]


def words_of(caption: str) -> list[str]:
    """Return the words and signs of a caption as LRCN divides it: in small letters, without a point at the end."""
    shown = "".join(character if character.isprintable() else " " for character in caption)
    words = [" ".join(part.lower().split()) for part in _SIGNS.split(shown.strip()) if part.strip()]
    return words[:-1] if words[-1:] == ["."] else words

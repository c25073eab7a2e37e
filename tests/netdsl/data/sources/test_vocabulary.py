"""The words of captions and their numbers: LRCN's order, its end marker and its unknown word."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl.data.sources.class_names import read_class_names, write_class_names
from netdsl.data.sources.vocabulary import Vocabulary, words_of
from netdsl.errors import DataError


@pytest.mark.parametrize(
    ("caption", "words"),
    [
        ("A man's dog, and 2 cats. ", ["a", "man", "'", "s", "dog", ",", "and", "2", "cats"]),
        ("No point", ["no", "point"]),
        ("Why? !\n\tSo.", ["why", "? !", "so"]),
        ("Été", ["été"]),
        (" . ", []),
    ],
)
def test_captions_are_split_as_in_lrcn(caption: str, words: list[str]) -> None:
    assert words_of(caption) == words


def test_frequent_words_come_first_and_rare_ones_are_unknown(tmp_path: Path) -> None:
    vocabulary = Vocabulary.of([["a", "red", "dog"], ["a", "dog"], ["a", "cat", "cat"]], least=2)
    assert vocabulary.words == ("<EOS>", "<unk>", "a", "cat", "dog")
    assert vocabulary.numbers(["a", "red", "dog"], "here") == [2, 1, 4]
    write_class_names(vocabulary.words, tmp_path / "labels.txt")
    assert Vocabulary(read_class_names(tmp_path / "labels.txt")).words == vocabulary.words


def test_an_lrcn_file_lists_no_end_marker() -> None:
    assert Vocabulary(("<unk>", "a", "dog")).numbers(["dog", "zebra"], "here") == [3, 1]
    with pytest.raises(DataError, match="here: neither the word 'zebra' nor '<unk>' is in the vocabulary"):
        Vocabulary(("a", "dog")).numbers(["zebra"], "here")

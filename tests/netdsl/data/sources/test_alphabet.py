"""Characters, their numbers, and their form in a labels.txt."""

from __future__ import annotations

from pathlib import Path

import pytest

from netdsl.data.sources.alphabet import Alphabet
from netdsl.data.sources.class_names import read_class_names, write_class_names
from netdsl.errors import DataError

TEXT = "a \\n\t\r\nß\x00\N{ZERO WIDTH SPACE}\N{NO-BREAK SPACE}#\N{GRINNING FACE};x"


def test_every_character_survives_a_file(tmp_path: Path) -> None:
    alphabet = Alphabet.of(TEXT)
    write_class_names(alphabet.names, tmp_path / "labels.txt")
    again = Alphabet(read_class_names(tmp_path / "labels.txt"))
    assert again.characters == alphabet.characters
    assert again.numbers(TEXT, "text") == [sorted(set(TEXT)).index(character) for character in TEXT]


def test_names_of_several_characters_are_refused() -> None:
    assert Alphabet(["a", "12", "\\xzz;", "a", "\\x110000;", "b"]).characters == {"a": 0, "b": 5}


def test_an_unknown_character_is_reported() -> None:
    with pytest.raises(DataError, match=r"poem: the character 'z' isn't in the alphabet, which contains \\sab"):
        Alphabet.of("a b").numbers("az", "poem")

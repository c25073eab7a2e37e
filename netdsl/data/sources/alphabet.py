"""Alphabets: the characters of a text and their numbers, which are the classes that a model of text predicts."""

from __future__ import annotations

from collections.abc import Sequence

from netdsl.errors import DataError

# Characters that are invisible in a line of labels.txt.
_HIDDEN = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", " ": "\\s"}
_SHOWN = {name: character for character, name in _HIDDEN.items()}


class Alphabet:
    r"""Characters and their numbers.

    A labels.txt contains one character in each line. Invisible ones, such as spaces and line breaks, are written as
    `\s`, `\n`, or `\x` with a number and `;`. A longer name isn't a character, and the model never writes it.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.characters: dict[str, int] = {}
        for number, name in enumerate(names):
            character = _character(name)
            if len(character) == 1:
                self.characters.setdefault(character, number)

    @classmethod
    def of(cls, text: str) -> Alphabet:
        """Return the alphabet of all characters in a text, sorted by code point."""
        return cls([_name_of_character(character) for character in sorted(set(text))])

    def numbers(self, text: str, where: str) -> list[int]:
        """Return the numbers of a text's characters.

        Raises a `DataError` if one of them isn't in the alphabet.
        """
        unknown = sorted(set(text) - self.characters.keys())
        if unknown:
            known = "".join(_name_of_character(character) for character in self.characters)
            raise DataError(
                f"{where}: the character {unknown[0]!r} isn't in the alphabet, which contains {known}; use the "
                "alphabet of this text"
            )
        return [self.characters[character] for character in text]


def _name_of_character(character: str) -> str:
    if character in _HIDDEN:
        return _HIDDEN[character]
    return character if character.isprintable() else f"\\x{ord(character):x};"


def _character(name: str) -> str:
    if name in _SHOWN:
        return _SHOWN[name]
    code = name.removeprefix("\\x").removesuffix(";")
    if name != f"\\x{code};":
        return name
    try:
        return chr(int(code, 16))
    except (ValueError, OverflowError):
        return name

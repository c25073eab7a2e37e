"""The way in which text from strangers is shown: names, paths, lines of files, and reasons of servers.

A terminal obeys escape sequences, and some characters hide or reorder the text next to them. Such characters are shown
as escapes.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, takewhile
from unicodedata import category

LONGEST_MESSAGE = 1000  # characters of an error or a warning
LONGEST_NAME = 200  # characters of a name or a line within a longer text

_NOTE = 48  # characters that the number of characters left out needs

# Control characters, format characters (which contain the bidirectional controls and those without width), code points
# that aren't characters (some are forbidden in XML), lone surrogates, and separators of lines and paragraphs.
_HIDDEN = {"Cc", "Cf", "Cn", "Cs", "Zl", "Zp"}


def shown(text: object, longest: int | None = None, *, keep: str = "") -> str:
    r"""Return a text with escapes such as `\x1b` and `\u202e` for characters that can't be seen.

    Line breaks and tabs are escaped too, unless `keep` contains them. If the result would have more than `longest`
    characters, its middle is replaced by the number of characters that are left out. Showing the result again doesn't
    change it.
    """
    text = str(text)
    is_short = longest is None or len(text) <= longest
    if is_short and text.isprintable():
        return text
    if longest is None:
        return "".join(_shown_characters(text, keep))
    start = _first_characters(_shown_characters(text[: longest + 1], keep), longest)
    if len(start) == len(text):
        return "".join(start)
    room = max(longest - _NOTE, 0)
    start = _first_characters(start, room * 2 // 3)
    end = _first_characters(_shown_characters(reversed(text[-longest:]), keep), room // 3)
    return f"{''.join(start)} ... {len(text) - len(start) - len(end):,} characters left out ... {''.join(end[::-1])}"


def _first_characters(characters: Iterable[str], longest: int) -> list[str]:
    """Return the first shown characters that have at most `longest` characters together."""
    characters = list(characters)
    count = sum(1 for _ in takewhile(lambda size: size <= longest, accumulate(map(len, characters))))
    return characters[:count]


def _shown_characters(text: Iterable[str], keep: str) -> list[str]:
    return [character if character in keep else _shown_character(character) for character in text]


def _shown_character(character: str) -> str:
    """Return a character, or its escape. A byte of a name that isn't UTF-8 is shown as this byte."""
    if category(character) not in _HIDDEN:
        return character
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")

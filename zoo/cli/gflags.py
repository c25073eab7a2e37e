"""Flags as Google's gflags reads them: `-name value`, `--name value`, `-name=value`, and `-name` or `-noname`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, TypeVar

from caffe_proto.errors import CaffeError

T = TypeVar("T")

_BOOLS = {
    **dict.fromkeys(("1", "t", "true", "y", "yes"), True),
    **dict.fromkeys(("0", "f", "false", "n", "no"), False),
}


class FlagError(CaffeError):
    """A flag that doesn't exist, or whose value isn't one for it."""


def parse(words: Sequence[str], kind: type[T]) -> tuple[T, list[str]]:
    """A dataclass whose fields are flags, filled, and the words that aren't flags.

    Flags are text, whole numbers or bools, as their defaults are. Of several values the last one counts.
    """
    defaults = {each.name: each.default for each in fields(kind)}  # type: ignore[arg-type]
    found: dict[str, Any] = {}
    others: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word == "--":
            others += waiting
        elif word.startswith("-") and word != "-":
            name, value = _flag(word, waiting, defaults)
            found[name] = value
        else:
            others.append(word)
    return kind(**found), others


def _flag(word: str, following: Iterator[str], defaults: Mapping[str, Any]) -> tuple[str, Any]:
    """A flag's name and value, which may be the word that follows."""
    given, equals, text = word.removeprefix("-").removeprefix("-").partition("=")
    name = given.replace("-", "_")
    if not equals and isinstance(defaults.get(name.removeprefix("no")), bool):
        return name.removeprefix("no"), not name.startswith("no")
    if name not in defaults:
        raise FlagError(f"there is no flag -{given}; {_hint(name, defaults)}")
    if not equals:
        text = next(following, "-")
        if re.match(r"-(?!\d)", text):
            raise FlagError(f"-{given} needs a value, as -{given}=VALUE")
    return name, _value(given, text, type(defaults[name]))


def _hint(name: str, known: Mapping[str, Any]) -> str:
    near = get_close_matches(name, known, 1)
    return f"did you mean -{near[0]}?" if near else f"there are -{', -'.join(known)}"


def _value(name: str, text: str, kind: type) -> Any:
    """The text as what the flag is."""
    read: Callable[[str], Any] = _BOOLS.__getitem__ if kind is bool else kind
    try:
        return read(text.lower() if kind is bool else text)
    except (KeyError, ValueError):
        what = "neither true nor false" if kind is bool else "no whole number"
        raise FlagError(f"-{name} is '{text}', which is {what}") from None

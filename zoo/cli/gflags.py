"""Parser of flags in the style of Google's gflags: `-name value`, `--name value`, `-name=value`, and `-name` or
`-noname`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, TypeVar

from caffe_proto.addresses import local_path
from caffe_proto.errors import CaffeError

T = TypeVar("T")

_BOOLS = {
    **dict.fromkeys(("1", "t", "true", "y", "yes"), True),
    **dict.fromkeys(("0", "f", "false", "n", "no"), False),
}


class FlagError(CaffeError):
    """A flag that doesn't exist, or that has an invalid value."""


def parse(words: Sequence[str], kind: type[T]) -> tuple[T, list[str]]:
    """Parse words into an instance of a dataclass, whose fields are the flags. Also returns the words that aren't
    flags.

    A flag has the type of its default: text, a whole number or a bool. The last value of a repeated flag counts.
    """
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    others: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word == "--":
            others += remaining
        elif word.startswith("-") and word != "-":
            name, value = _flag_and_value(word, remaining, defaults)
            values[name] = value
        else:
            others.append(word)
    for text in (*values.values(), *others):
        if isinstance(text, str):
            local_path(text)
    return kind(**values), others


def _flag_and_value(word: str, following: Iterator[str], defaults: Mapping[str, Any]) -> tuple[str, Any]:
    """Return a flag's name and value. The value may be the following word."""
    written_name, equals, text = word.removeprefix("-").removeprefix("-").partition("=")
    name = written_name.replace("-", "_")
    if not equals and isinstance(defaults.get(name.removeprefix("no")), bool):
        return name.removeprefix("no"), not name.startswith("no")
    if name not in defaults:
        raise FlagError(f"there is no flag -{written_name}; {_near_flags(name, defaults)}")
    if not equals:
        text = next(following, "-")
        if re.match(r"-(?!\d)", text):
            raise FlagError(f"-{written_name} needs a value; write -{written_name}=VALUE")
    return name, _value(written_name, text, type(defaults[name]))


def _near_flags(name: str, known: Mapping[str, Any]) -> str:
    near = get_close_matches(name, known, 1)
    return f"did you mean -{near[0]}?" if near else f"the flags are -{', -'.join(known)}"


def _value(name: str, text: str, kind: type) -> Any:
    """Return a flag's value, converted to the type of its default."""
    convert: Callable[[str], Any] = _BOOLS.__getitem__ if kind is bool else kind
    try:
        return convert(text.lower() if kind is bool else text)
    except (KeyError, ValueError):
        expected = "true or false" if kind is bool else "a whole number"
        raise FlagError(f"-{name} is '{text}'; set it to {expected}") from None

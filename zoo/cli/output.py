"""Printing: JSON that every parser reads, and errors and warnings on one line."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

import click


def print_json(value: Any) -> None:
    """Print a value as JSON; infinities and NaN become strings, as in protobuf's JSON."""
    click.echo(json.dumps(_plain(value), indent=2, allow_nan=False))


def print_bytes(data: bytes) -> None:
    """Write bytes to standard output, all of them: where Python doesn't buffer it, a single write may do a part."""
    if sys.stdout is not None:
        sys.stdout.flush()
        rest = memoryview(data)
        while rest:
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()


def stdout_is_terminal() -> bool:
    """Whether somebody reads standard output on a terminal; it may be closed."""
    return sys.stdout is not None and sys.stdout.isatty()


def complain(problem: object) -> None:
    """Print an error or a warning to standard error."""
    click.echo("zoo: " + " ".join(str(problem).splitlines()), err=True)


def counted(number: int, word: str) -> str:
    """A number and what is counted, such as '1 image' and '2 images'."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value

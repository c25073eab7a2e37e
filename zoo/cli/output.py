"""How every command prints: JSON that any reader takes, complaints on one line."""

from __future__ import annotations

import json
import math
from typing import Any

import click


def print_json(found: Any) -> None:
    """Numbers that JSON doesn't have are written as protobuf's JSON has them."""
    click.echo(json.dumps(_plain(found), indent=2, allow_nan=False))


def complain(what: object) -> None:
    """An error or a warning."""
    click.echo("zoo: " + " ".join(str(what).splitlines()), err=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value

"""Bandwidths and times with units, such as 1Gbit, 100MB, 0.3s and 50us."""

from __future__ import annotations

import math
import re

from netdsl.errors import DistributedError

_PREFIXES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_BYTES = {"bit": 1 / 8, "B": 1.0}
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86_400.0}
# Units, and the seconds below which each is used.
_READABLE = (
    (1e-3, "us", 1e-6),
    (1.0, "ms", 1e-3),
    (600.0, "s", 1.0),
    (36_000.0, "min", 60.0),
    (10 * 86_400.0, "h", 3600.0),
)
_NUMBER = r"(\d+(?:\.\d+)?(?:e-?\d+)?)\s*"


def bandwidth(text: str) -> float:
    """Parse a bandwidth into bytes per second."""
    match = re.fullmatch(_NUMBER + r"([kKMGT]?)(bit|B)(?:/s|ps)?", text.strip())
    if match is None or not float(match[1]):
        raise DistributedError(f"'{text}' isn't a bandwidth; write it per second, as in 1Gbit or 100MB")
    return float(match[1]) * _PREFIXES[match[2]] * _BYTES[match[3]]


def seconds(text: str) -> float:
    """Parse a time into seconds."""
    match = re.fullmatch(_NUMBER + f"({'|'.join(_SECONDS)})", text.strip())
    if match is None:
        raise DistributedError(f"'{text}' isn't a time; write it as in 50us, 0.3s or 20h")
    return float(match[1]) * _SECONDS[match[2]]


def format_seconds(value: float) -> str:
    """Format seconds with a suitable unit."""
    if not math.isfinite(value):
        return "-"
    for limit, unit, size in _READABLE:
        if value < limit:
            return f"{value / size:.3g} {unit}"
    return f"{value / 86_400:,.0f} d"


def format_bytes(count: float) -> str:
    """Format bytes with a suitable unit."""
    for prefix in ("", "k", "M", "G"):
        if count < 1000:
            return f"{count:.3g} {prefix}B"
        count /= 1000
    return f"{count:.3g} TB"

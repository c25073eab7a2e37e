"""Whole numbers in text from strangers: lists, headers, settings, and parts of names."""

from __future__ import annotations

import re

INT32 = (-(1 << 31), (1 << 31) - 1)  # the range of labels, and of most numbers in Caffe's lists

_DECIMAL = re.compile(r"-?[0-9]+", re.ASCII)


def whole_number(text: str, least: int = 0, most: int = (1 << 63) - 1) -> int | None:
    """Return the number that decimal digits represent, or `None` if the text isn't a whole number in the range.

    Python's `int` also accepts spaces, underscores and digits of other scripts, and raises an error for thousands of
    digits. This function accepts only the digits 0 to 9, after a minus sign if needed, and never more of them than the
    range needs.
    """
    if _DECIMAL.fullmatch(text) is None:
        return None
    sign, digits = text[:1].strip("0123456789"), text.lstrip("-").lstrip("0") or "0"
    if len(digits) > len(str(max(abs(least), abs(most)))):
        return None
    number = int(sign + digits)
    return number if least <= number <= most else None

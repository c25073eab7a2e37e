"""The link between tests and the lines of docs/caffe_differences.md that they show."""

from __future__ import annotations

from collections.abc import Callable

SHOWN: dict[str, Callable[[], None]] = {}  # by the first column of the line


def shows(what: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Register a test as showing a line of the page, which its first column names."""

    def note(test: Callable[[], None]) -> Callable[[], None]:
        SHOWN[what] = test
        return test

    return note

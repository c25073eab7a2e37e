"""Which tests show the lines of docs/caffe_differences.md."""

from __future__ import annotations

from collections.abc import Callable

SHOWN: dict[str, Callable[[], None]] = {}  # by the first column of the line


def shows(what: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Say which line of the page a test shows, by its first column."""

    def note(test: Callable[[], None]) -> Callable[[], None]:
        SHOWN[what] = test
        return test

    return note

"""Every line of docs/caffe_differences.md, shown with small numbers: what netdsl computes, and what the other does."""

from __future__ import annotations

from collections.abc import Callable

_SHOWN: dict[str, Callable[[], None]] = {}


def shows(what: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Say which line of the page a test shows, by its first column."""

    def note(test: Callable[[], None]) -> Callable[[], None]:
        _SHOWN[what] = test
        return test

    return note

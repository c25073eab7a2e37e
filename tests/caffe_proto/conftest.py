"""Generate texts with any layout and comments that the grammar allows."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import strategies as st

Commented = Callable[[str], st.SearchStrategy[tuple[str, list[str]]]]

_GAPS = (" ", "\n", "\t", "\r\n", "\n\n\n", "{0}\n", "  {0}\n  ", "\n{0}\n", "\n\n{0}\n\n{1}\n", " {0}\n{1}\r\n")


@pytest.fixture(scope="session")
def commented() -> Commented:
    """Return a strategy that puts random layout between the pieces of a text, and returns the new pieces and the
    comments."""

    @st.composite
    def lay_out(draw: st.DrawFn, text: str) -> tuple[str, list[str]]:
        pieces, comments = text.split(), []
        out = []
        for index, piece in enumerate([*pieces, ""]):
            new = [f"# {index}{letter}." for letter in "ab"]
            gap = draw(st.sampled_from(_GAPS))
            out += [gap.format(*new), piece]
            comments += [comment for comment in new if comment in out[-2]]
        return "".join(out), comments

    return lay_out

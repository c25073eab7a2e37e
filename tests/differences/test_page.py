"""Every line of docs/caffe_differences.md is shown by a test."""

from __future__ import annotations

from pathlib import Path

from tests.differences import test_boxes, test_in_place, test_other, test_refused, test_regions, test_videos  # noqa: F401 - they say what they show
from tests.differences.shown import SHOWN

PAGE = Path(__file__).parent.parent.parent / "docs/caffe_differences.md"


def rows_of_the_page() -> list[str]:
    """Return the first column of every row of the page's tables."""
    rows = [line.split("|")[1].strip() for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [row for row in rows if row != "What" and set(row) != {"-"}]


def test_every_line_of_the_page_is_shown_by_a_test() -> None:
    rows = rows_of_the_page()
    assert len(rows) == len(set(rows))
    assert set(rows) == set(SHOWN)

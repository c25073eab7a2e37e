"""The documentation is true: its links lead somewhere, and its code is that of the sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages.page import DOCS, NOTES, PAGES, blocks_of
from tests.test_house import load

_LINK = re.compile(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")


def name_of(page: Path) -> str:
    return page.name


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_are_valid(page: Path) -> None:
    missing = [link for link in _LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_blocks_that_are_not_run_give_a_reason(page: Path) -> None:
    text = page.read_text()
    assert text.count("```") == 2 * len(blocks_of(page)), "a block has no kind, or isn't closed"
    known = re.compile(rf"({'|'.join(NOTES)}): \S|output$")
    assert all(known.match(note) for note in re.findall(r"<!-- (.*?) -->", text))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_blocks_equal_their_source_files(page: Path) -> None:
    text = page.read_text()
    assert text == load(DOCS / "generate.py").with_generated_parts(text), "stale: run `make docs`"


def test_the_index_has_every_page() -> None:
    listed = set(_LINK.findall((DOCS / "index.md").read_text()))
    assert listed >= {page.name for page in PAGES} - {"README.md", "index.md"}

"""Gives the package its README as the description, without links to files, which a package index doesn't have."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

_PICTURE = re.compile(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n*")
_LINK = re.compile(r"\[([^]]*)\]\((?!https?:)([^)#]*)[^)]*\)")


def description(readme: str) -> str:
    """Return the README with the name of a file, in the source distribution, after the words that link to it."""

    def words(match: re.Match[str]) -> str:
        text, file = match.groups()
        return f"`{file}`" if text == file else f"{text} (`{file}`)"

    return _LINK.sub(words, _PICTURE.sub("", readme))


readme = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
setup(long_description=description(readme), long_description_content_type="text/markdown")

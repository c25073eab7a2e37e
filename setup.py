"""Uses the README as the package's description, without links to files, which don't exist on a package index."""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import setup

_PICTURE = re.compile(r"!\[[^]]*\]\((?!https?:)[^)]*\)\n*")
_LINK = re.compile(r"\[([^]]*)\]\((?!https?:)([^)#]*)[^)]*\)")


def description(readme: str) -> str:
    """Return the README with each link to a file replaced by its text and the name of the file in the source
    distribution."""

    def words(match: re.Match[str]) -> str:
        text, file = match.groups()
        return f"`{file}`" if text == file else f"{text} (`{file}`)"

    return _LINK.sub(words, _PICTURE.sub("", readme))


readme = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
setup(long_description=description(readme), long_description_content_type="text/markdown")

"""Builds the documentation site: `make site`.

The pages are the same as on GitHub. The navigation follows the headings and links of index.md.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

project = "netdsl"
copyright = "the netdsl authors"  # noqa: A001 - Sphinx wants this name
extensions = ["myst_nb"]
html_theme = "furo"
html_title = "netdsl"
html_static_path = ["site"]
html_css_files = ["site.css"]
html_show_sphinx = False

# The source directory is the repository root, so the README and links to other files work as they do on GitHub.
root_doc = "docs/index"
include_patterns = ["*.md", "docs/*.md", "docs/notebooks/*.ipynb"]
exclude_patterns = [".*", "build", "benchmarks", "caffe_proto", "converters", "netdsl", "requirements", "tests", "zoo"]
templates_path = ["site"]
html_additional_pages = {"index": "first_page.html"}

myst_heading_anchors = 4  # as on GitHub
nb_execution_mode = "off"  # the notebooks contain their outputs; tests run them

_GROUP = re.compile(r"(?m)^## (.+)\n((?:(?!## ).*\n)*)")
_ENTRY = re.compile(r"(?m)^- \[([^]]+)\]\(([^)]+)\)")
_LINK_BY_FILE_NAME = re.compile(r"\[(\w+\.md)\]\((\1[^)]*)\)")


def add_navigation(app: Sphinx, page: str, source: list[str]) -> None:
    """Show titles instead of file names in links, and add a hidden table of contents to the index for each group."""
    source[0] = _LINK_BY_FILE_NAME.sub(r"[](\2)", source[0])
    if page == root_doc:
        for group, entries in _GROUP.findall(source[0]):
            links = "\n".join(f"{title} <{link}>" for title, link in _ENTRY.findall(entries))
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {group}\n\n{links}\n```\n"


def setup(app: Sphinx) -> None:
    """Register the extension with Sphinx."""
    app.connect("source-read", add_navigation)

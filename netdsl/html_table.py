"""HTML tables that display objects in notebooks."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape


def html_table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with a caption. Names from files are escaped."""
    lines = [_row("th", heads), *(_row("td", row) for row in rows)]
    return f"<table><caption>{escape(caption)}</caption>{''.join(lines)}</table>"


def image_address(png: bytes) -> str:
    """Return a `data:` address that contains a PNG image."""
    return f"data:image/png;base64,{b64encode(png).decode()}"


def _row(kind: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{kind}>{escape(cell)}</{kind}>' for cell in cells)}</tr>"

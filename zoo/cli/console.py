"""The console on which commands print their tables."""

from __future__ import annotations

import os
import sys

from rich.console import Console

_FILE_WIDTH = 200  # of tables in files and pipes, where lines shouldn't be wrapped at 80 characters


def table_console() -> Console:
    """A console as wide as the terminal. For a file or a pipe COLUMNS says how wide, as it does for other programs."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else _FILE_WIDTH
    return Console(emoji=False, highlight=False, width=None if sys.stdout.isatty() else width)

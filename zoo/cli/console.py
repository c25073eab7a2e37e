"""The consoles on which commands print their tables."""

from __future__ import annotations

import os
import sys
from typing import Any

from rich.console import Console

from zoo.cli.output import stdout_is_terminal

_FILE_WIDTH = 200  # of tables in files and pipes, where lines shouldn't be wrapped at 80 characters


class PipedConsole(Console):
    """A console on standard output without emoji and guessed colours, which leaves broken pipes to the program."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(emoji=False, highlight=False, **settings)

    def on_broken_pipe(self) -> None:
        """Raise the error again; rich would end the program with a code that means something else."""
        raise sys.exc_info()[1] or BrokenPipeError


def table_console() -> PipedConsole:
    """A console as wide as the terminal. For a file or a pipe COLUMNS says how wide, as it does for other programs."""
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else _FILE_WIDTH
    return PipedConsole(width=None if stdout_is_terminal() else width)

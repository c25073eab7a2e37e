"""Consoles for the tables that commands print."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from caffe_proto.whole_numbers import whole_number
from zoo.cli.output import stdout_is_terminal

_WIDEST = 100_000
_FILE_WIDTH = 200  # width of tables in files and pipes, where lines shouldn't be wrapped at 80 characters


class PipedConsole(Console):
    """A console on standard output, without emoji and automatic colors. It leaves broken pipes to the program."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(emoji=False, highlight=False, **settings)

    def on_broken_pipe(self) -> None:
        """Raise the error again. Rich would exit with a code that has another meaning here."""
        raise sys.exc_info()[1] or BrokenPipeError


def table_console() -> PipedConsole:
    """Return a console as wide as the terminal. For a file or a pipe, the variable COLUMNS sets the width, as in other
    programs."""
    width = whole_number(os.environ.get("COLUMNS", ""), 1, _WIDEST) or _FILE_WIDTH
    return PipedConsole(width=None if stdout_is_terminal() else width)


def table_of(
    rows: Sequence[Mapping[str, str]],
    *,
    right: Collection[str] = (),
    wraps: Collection[str] | None = None,
    optional: Collection[str] = (),
) -> Table:
    """Return a table of texts by column head. `optional` columns are left out if they are empty.

    `right` names the columns to align right, since they contain numbers. If `wraps` is given, only these columns may
    wrap.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    heads = [head for head in (rows[0] if rows else ()) if head not in optional or any(row[head] for row in rows)]
    for head in heads:
        stays = wraps is not None and head not in wraps
        table.add_column(head, justify="right" if head in right else "left", overflow="fold", no_wrap=stays)
    for row in rows:
        table.add_row(*(escape(row[head]) for head in heads))
    return table


def print_table(
    rows: Sequence[Mapping[str, str]], *, right: Collection[str] = (), optional: Collection[str] = ()
) -> None:
    """Print a table as wide as the terminal."""
    table_console().print(table_of(rows, right=right, optional=optional))

"""Consoles for the tables that commands print."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, JustifyMethod
from rich.style import Style
from rich.table import Table
from rich.text import Text

from caffe_proto.shown_text import shown
from caffe_proto.whole_numbers import whole_number
from zoo.cli.output import StyledText, stdout_is_terminal

_WIDEST = 100_000
_FILE_WIDTH = 200  # width of tables in files and pipes, where lines shouldn't be wrapped at 80 characters

Cell = str | Sequence[str]  # a text, or several lines


class PipedConsole(Console):
    """A console on standard output for tables and the lines around them. It leaves broken pipes to the program.

    Text is escaped as in `print_line`, and rich's marks in it have no meaning.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(emoji=False, highlight=False, markup=False, **settings)

    def print_line(self, *parts: str | StyledText) -> None:
        """Print a line, which is wrapped at the width of the console."""
        self.print(Text.assemble(*map(_part_of_line, parts)))

    def print_table(self, table: Table) -> None:
        """Print a table of `table_of`."""
        self.print(table)

    def on_broken_pipe(self) -> None:
        """Raise the error again. Rich would exit with a code that has another meaning here."""
        raise sys.exc_info()[1] or BrokenPipeError


def _part_of_line(part: str | StyledText) -> tuple[str, Style]:
    styled = StyledText(part) if isinstance(part, str) else part
    return shown(styled.text), Style(color=styled.color, bold=styled.bold)


def table_console() -> PipedConsole:
    """Return a console as wide as the terminal. For a file or a pipe, the variable COLUMNS sets the width, as in other
    programs."""
    width = whole_number(os.environ.get("COLUMNS", ""), 1, _WIDEST) or _FILE_WIDTH
    return PipedConsole(width=None if stdout_is_terminal() else width)


def table_of(
    rows: Sequence[Mapping[str, Cell]],
    *,
    right: Collection[str] = (),
    wraps: Collection[str] | None = None,
    optional: Collection[str] = (),
) -> Table:
    """Return a table of cells by column head. `optional` columns are left out if they are empty.

    `right` names the columns to align right, since they contain numbers. If `wraps` is given, only these columns may
    wrap.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    heads = [head for head in (rows[0] if rows else ()) if head not in optional or any(row[head] for row in rows)]
    for head in heads:
        stays = wraps is not None and head not in wraps
        side: JustifyMethod = "right" if head in right else "left"
        table.add_column(_shown_cell(head), justify=side, overflow="fold", no_wrap=stays)
    for row in rows:
        table.add_row(*(_shown_cell(row[head]) for head in heads))
    return table


def _shown_cell(cell: Cell) -> Text:
    return Text("\n".join(map(shown, [cell] if isinstance(cell, str) else cell)))


def print_table(
    rows: Sequence[Mapping[str, str]], *, right: Collection[str] = (), optional: Collection[str] = ()
) -> None:
    """Print a table as wide as the terminal."""
    table_console().print_table(table_of(rows, right=right, optional=optional))

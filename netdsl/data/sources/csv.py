"""Tables of numbers in text: each line an item, one column its label."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.file_errors import file_errors
from netdsl.errors import DataError

_LABEL = "label"


class CsvSource(ArraySource):
    """Columns of a table as a vector, and its label. The first line names the columns.

    The label is the column that is named, else the one called `label`; the vector has all the others, or those that
    are named, in their order.
    """

    def __init__(self, path: str | Path, *, columns: Sequence[str] = (), label: str = _LABEL) -> None:
        path = Path(path)
        with file_errors(path, UnicodeDecodeError, csv.Error), path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(file)
            names = [name.strip() for name in next(lines, [])]
            wanted = [*(columns or [name for name in names if name != label]), label]
            places = [_place(path, names, name) for name in wanted]
            table = np.array(_values(path, lines, names, places)).reshape(-1, len(places))
        if not len(table):
            raise DataError(f"{path}: has no lines after the names of its columns")
        super().__init__([(table[:, :-1], table[:, -1])])


def _place(path: Path, names: list[str], name: str) -> int:
    if names.count(name) != 1:
        fault = "several columns are" if name in names else "no column is"
        raise DataError(f"{path}: {fault} called '{name}'; there are {', '.join(names) or 'none'}")
    return names.index(name)


def _values(path: Path, lines: Iterator[list[str]], names: list[str], places: list[int]) -> array[float]:
    """All values in a row; numbers in an array need far less memory than Python's own."""
    values = array("f")
    for number, line in enumerate(lines, 2):
        if not line:
            continue
        if len(line) != len(names):
            raise DataError(f"{path}:{number}: has {len(line)} values for {len(names)} columns")
        try:
            values.extend([float(line[place]) for place in places])
        except ValueError:
            raise DataError(f"{path}:{number}: {_fault(line, names, places)}") from None
    return values


def _fault(line: list[str], names: list[str], places: list[int]) -> str:
    for place in places:
        try:
            float(line[place])
        except ValueError:
            return f"column '{names[place]}': '{line[place][:40]}' isn't a number"
    raise AssertionError("one of them isn't a number")

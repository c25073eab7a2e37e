"""Reads CSV files of numbers. Each line is an item, and one column is its label."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from caffe_proto.errors import few
from netdsl.data.sources.arrays import ArraySource
from netdsl.data.sources.files import file_errors, lines_within_limits, regular_file
from netdsl.errors import DataError

_LABEL = "label"
_SHOWN, _LONGEST = 50, 40  # names of columns in an error, and the longest name that is shown in full


class CsvSource(ArraySource):
    """The lines of a CSV file: a vector of `columns`, and the column `label`. The first line names the columns.

    By default, the vector contains all columns except the label.
    """

    def __init__(self, path: str | Path, *, columns: Sequence[str] = (), label: str = _LABEL) -> None:
        path = regular_file(path)
        with file_errors(path, UnicodeDecodeError, csv.Error), path.open(newline="", encoding="utf-8-sig") as file:
            lines = csv.reader(lines_within_limits(file))
            names = [name.strip() for name in next(lines, [])]
            selected = [*(columns or [name for name in names if name != label]), label]
            indices = [_index(path, names, name) for name in selected]
            table = np.array(_column_values(path, lines, names, indices)).reshape(-1, len(indices))
        if not len(table):
            raise DataError(f"{path}: the file has no lines after the names of its columns; write a line for each item")
        super().__init__([(table[:, :-1], table[:, -1])])


def _index(path: Path, names: list[str], name: str) -> int:
    if names.count(name) != 1:
        problem = "several columns" if name in names else "no column"
        there = few((other[:_LONGEST] for other in names), _SHOWN) or "none"
        raise DataError(f"{path}: {problem} called '{name}'; choose from {there}")
    return names.index(name)


def _column_values(path: Path, lines: Iterator[list[str]], names: list[str], indices: list[int]) -> array[float]:
    """Return the values of all lines in an array of numbers, which needs far less memory than a list."""
    values = array("f")
    for number, line in enumerate(lines, 2):
        if not line:
            continue
        if len(line) != len(names):
            raise DataError(
                f"{path}:{number}: the line has {len(line)} values for {len(names)} columns; write a value for each "
                "column, and put values that contain a comma in quotation marks"
            )
        try:
            values.extend([float(line[index]) for index in indices])
        except ValueError:
            raise DataError(f"{path}:{number}: {_bad_value(line, names, indices)}") from None
    return values


def _bad_value(line: list[str], names: list[str], indices: list[int]) -> str:
    for index in indices:
        try:
            float(line[index])
        except ValueError:
            return f"column '{names[index]}': '{line[index][:40]}' isn't a number; correct it"
    raise AssertionError("one of them isn't a number")

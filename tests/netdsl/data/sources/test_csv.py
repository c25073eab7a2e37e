"""Tables of numbers in text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.csv import CsvSource
from netdsl.errors import DataError


def table(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "t.csv"
    path.write_bytes(text.encode(encoding))
    return path


def rows(source: CsvSource) -> list[tuple[list[float], float]]:
    items = [source.item(source.fetch(index)) for index in range(len(source))]
    assert all(array.dtype == np.float32 for item in items for array in item)
    return [(values.tolist(), label.item()) for values, label in items]


def test_every_line_is_a_vector_and_its_label(tmp_path: Path) -> None:
    path = table(tmp_path, 'a, label ,"b"\r\n1,2,3.5\r\n\r\n-4,1,"5e3"\r\n')
    assert rows(CsvSource(path)) == [([1, 3.5], 2), ([-4, 5000], 1)]


def test_columns_and_the_label_can_be_chosen(tmp_path: Path) -> None:
    path = table(tmp_path, "a,b,c,name\n1,2,3,x\n4,5,6.25,y\n", "utf-8-sig")
    assert rows(CsvSource(path, columns=["b", "a"], label="c")) == [([2, 1], 3), ([5, 4], 6.25)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a,b\n1,2\n", "t.csv: no column called 'label'; choose from a, b"),
        ("a,label,label\n1,2,3\n", "t.csv: several columns called 'label'"),
        ("", "t.csv: no column called 'label'; choose from none"),
        ("a,label\n", "t.csv: the file has no lines after the names"),
        ("a,label\n1,2\nx,3\n", "t.csv:3: column 'a': 'x' isn't a number"),
        ("a,label\n1,2\n1,\n", "t.csv:3: column 'label': '' isn't a number"),
        ("a,label\n1,2\n\n1,2,3\n", "t.csv:4: the line has 3 values for 2 columns"),
    ],
)
def test_problems_are_reported_with_their_line(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(DataError) as problem:
        CsvSource(table(tmp_path, text))
    assert what in str(problem.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone.csv: can't be opened: No such file"):
        CsvSource(tmp_path / "gone.csv")
    with pytest.raises(DataError, match=r"t.csv: can't be read: 'utf-8' codec"):
        CsvSource(table(tmp_path, "é,label\n1,2", "latin-1"))

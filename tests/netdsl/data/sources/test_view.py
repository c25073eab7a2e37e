"""Parts of sources, and other class names: `?part=train`, `?part=test` and `?classes=FILE` after any name."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.open_source import open_source, parse_source
from netdsl.data.sources.source import DataSplit, LabeledSource, NamedItems, WholeSource
from netdsl.errors import DataError
from tests.small_data import png


def train_and_test(name: str) -> tuple[str, ...]:
    return tuple(map(str, parse_source(name).train_and_test()))


def labels(name: str) -> list[float]:
    with closing(open_source(name)) as source:
        return [source.item(source.fetch(index))[1].item() for index in range(len(source))]


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Return rows whose labels are their numbers."""
    path = tmp_path / "rows.csv"
    path.write_text("x,label\n" + "".join(f"0,{number}\n" for number in range(23)))
    return f"csv:{path}"


def test_the_parts_are_every_tenth_item_and_the_others(table: str) -> None:
    train, test = train_and_test(table)
    assert (train, test) == (f"{table}?part=train", f"{table}?part=test")
    assert labels(test) == [0, 10, 20]
    assert labels(train) == [number for number in range(23) if number % 10]


def test_items_read_together_equal_single_items(table: str) -> None:
    with closing(open_source(f"{table}?part=train")) as source:
        assert isinstance(source, WholeSource)
        taken = source.take(np.array([9, 0, 19]))
    assert taken is not None and taken[1].tolist() == [11, 1, 22]


def test_a_data_set_with_its_own_parts_keeps_them() -> None:
    assert train_and_test("digits") == ("digits:train", "digits:test")
    assert train_and_test("digits:train") == ("digits:train?part=train", "digits:train?part=test")


def test_naming_one_part_leaves_the_other_for_tests(table: str) -> None:
    name = f"{table}?label=label&part=test&columns=x,label"
    assert train_and_test(name) == (name, f"{table}?label=label&columns=x,label&part=train")
    assert parse_source(name).part is DataSplit.TEST and parse_source(table).part is None


def test_a_single_item_leaves_none_to_train_on(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("x,label\n0,1\n")
    assert labels(f"{tmp_path}/one.csv?part=test") == [1]
    with pytest.raises(DataError, match=r"one.csv\?part=train: there are no items"):
        open_source(f"{tmp_path}/one.csv?part=train")


def test_an_unknown_part_is_reported(table: str) -> None:
    with pytest.raises(DataError, match="there is no part 'half'; write part=train or part=test"):
        open_source(f"{table}?part=half")


def test_a_part_has_the_names_and_the_labels_of_its_items(tmp_path: Path) -> None:
    for number in range(12):
        path = tmp_path / ("cat" if number < 11 else "dog") / f"{number:02}.png"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(png(np.zeros((2, 2, 3), np.uint8)))
    with closing(open_source(f"folder:{tmp_path}?part=train")) as source:
        assert isinstance(source, NamedItems) and isinstance(source, LabeledSource)
        assert (source.name(0), source.name(9)) == ("cat/01.png", "dog/11.png")
        found = source.labels()
        assert found is not None and found.tolist() == [0] * 9 + [1]
        assert classes_of(source) == ("cat", "dog")


def test_a_file_names_the_classes_of_any_source(table: str, tmp_path: Path) -> None:
    (tmp_path / "map.prototxt").write_text('item { name: "cat" label: 0 } item { name: "dog" label: 1 }')
    with closing(open_source(f"{table}?classes={tmp_path}/map.prototxt")) as source:
        assert classes_of(source) == ("cat", "dog")
        assert len(source) == 23
    with pytest.raises(DataError, match=r"none\.txt"):
        open_source(f"{table}?classes=none.txt")

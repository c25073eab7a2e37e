"""Items that are held out for tests."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl.data.sources.open_source import open_source
from netdsl.errors import DataError
from zoo.finetuning.held_out import draw, hold_out


def photos(folder: Path, **counts: int) -> Path:
    for name, count in counts.items():
        (folder / name).mkdir(parents=True)
        for number in range(count):
            image = np.random.default_rng(number).integers(0, 255, (9, 8, 3), np.uint8)
            (folder / name / f"{number}.png").write_bytes(bytes(cv2.imencode(".png", image)[1]))
    return folder


def test_a_share_of_every_class_is_held_out() -> None:
    labels = np.repeat([0, 1, 2, 3], [100, 20, 2, 1])
    train, tests = draw(labels, 0.1, seed=1)
    assert np.bincount(labels[tests], minlength=4).tolist() == [10, 2, 1, 0]
    assert sorted([*train.tolist(), *tests.tolist()]) == list(range(123))
    assert draw(labels, 0.1, seed=1)[1].tolist() == tests.tolist() != draw(labels, 0.1, seed=2)[1].tolist()


def test_the_parts_are_kept_and_can_be_opened(tmp_path: Path) -> None:
    folder, run = photos(tmp_path / "photos", cat=12, dog=8), tmp_path / "run"
    run.mkdir()
    data = hold_out(str(folder), None, 0.25, 1, run)
    assert (data.classes, data.train_count, data.test_count) == (("cat", "dog"), 15, 5)
    with closing(open_source(data.train)) as train, closing(open_source(data.tests)) as tests:
        names = [part.name(index) for part in (train, tests) for index in range(len(part))]
        assert len(set(names)) == 20
        assert sum(name.startswith("cat") for name in names[15:]) == 3
        assert tests.classes == ("cat", "dog")


def test_data_with_a_test_part_keep_it(tmp_path: Path) -> None:
    data = hold_out("shapes", None, 0.25, 1, tmp_path)
    assert (data.train, data.tests, data.train_count) == ("shapes:train", "shapes:test", 2000)
    assert not list(tmp_path.iterdir())


def test_a_damaged_list_of_items_is_reported(tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos", cat=3, dog=3)
    for text in ("9", "x", "-1", "1" * 50):
        (tmp_path / "items.txt").write_text(f"0\n{text}\n")
        with pytest.raises(DataError, match=r"items.txt:2: '.*' isn't the number of an item; use 0 to 5"):
            open_source(f"folder:{folder}?items={tmp_path / 'items.txt'}")


def test_too_few_items_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="too few to hold some out"):
        hold_out(str(photos(tmp_path / "photos", cat=1, dog=1)), None, 0.1, 1, tmp_path)

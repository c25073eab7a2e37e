"""Items that are held out for tests."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl.data.sources.open_source import open_source
from netdsl.errors import DataError
from zoo.finetuning.held_out import divide, draw, draw_folds, hold_out


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


def test_folds_have_equal_parts_of_every_class() -> None:
    labels = np.repeat([0, 1, 4], [23, 7, 5])
    folds = draw_folds(labels, 5, seed=1)
    assert np.bincount(folds).tolist() == [7, 7, 7, 7, 7]
    for label in (0, 1, 4):
        assert np.ptp(np.bincount(folds[labels == label], minlength=5)) <= 1
    assert draw_folds(labels, 5, seed=1).tolist() == folds.tolist() != draw_folds(labels, 5, seed=2).tolist()


def lists(folder: Path, folds: int) -> list[tuple[Path, Path]]:
    return [(folder / f"others{number}.txt", folder / f"own{number}.txt") for number in range(folds)]


def numbers_in(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()]


def test_a_fold_and_the_others_are_all_items(tmp_path: Path) -> None:
    data = photos(tmp_path / "photos", cat=5, dog=4)
    divide(str(data), lists(tmp_path, 3), seed=1)
    for others, own in lists(tmp_path, 3):
        assert sorted(numbers_in(others) + numbers_in(own)) == list(range(9))
    assert sorted(number for _, own in lists(tmp_path, 3) for number in numbers_in(own)) == list(range(9))


@pytest.mark.parametrize("chosen", ["part=train", "items=chosen.txt", "items=chosen.txt&part=train"])
def test_chosen_items_are_divided_among_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    monkeypatch.chdir(tmp_path)
    photos(Path("photos"), cat=12, dog=12)
    Path("chosen.txt").write_text("\n".join(map(str, range(2, 24, 2))))
    with closing(open_source(f"folder:photos?{chosen}")) as source:
        names = {source.name(index) for index in range(len(source))}
    data = hold_out(f"folder:photos?{chosen}", None, 0.25, 1, tmp_path)
    with closing(open_source(data.train)) as train, closing(open_source(data.tests)) as tests:
        drawn = [part.name(index) for part in (train, tests) for index in range(len(part))]
    assert len(drawn) == len(names) and set(drawn) == names


@pytest.mark.parametrize(
    ("counts", "folds", "problem"),
    [
        ({"cat": 9, "dog": 3}, 5, "class 'dog' has 3 items, too few for 5 folds; give --folds 3$"),
        ({"cat": 9, "dog": 1}, 2, "class 'dog' has 1 item, too few for 2 folds; add items of this class, or remove it"),
    ],
)
def test_classes_with_fewer_items_than_folds_are_refused(
    tmp_path: Path, counts: dict[str, int], folds: int, problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        divide(str(photos(tmp_path / "photos", **counts)), lists(tmp_path, folds), seed=1)


def test_data_with_a_test_part_are_not_divided(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has its own test part, .* as in --data shapes:train"):
        divide("shapes", lists(tmp_path, 2), seed=1)
    divide("shapes:test", lists(tmp_path, 2), seed=1)

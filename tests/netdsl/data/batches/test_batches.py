"""Batches that real threads make from sources in memory."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from netdsl.data.batches.batches import Batches
from netdsl.data.batches.reading import BadItems, Loading, Reading
from netdsl.data.sources.arrays import ArraySource
from netdsl.errors import DataError, ShapeError
from tests.patience import PATIENCE


class Images:
    """Image i is 2 x 3 x 4 times i, and its label is i. Images in `bad` can't be decoded, and those in `lost` can't be
    read."""

    def __init__(self, length: int, bad: tuple[int, ...] = (), lost: tuple[int, ...] = ()) -> None:
        self.length, self.bad, self.lost, self.closed = length, bad, lost, False
        self.fetched: list[int] = []

    def __len__(self) -> int:
        return self.length

    def fetch(self, index: int) -> int:
        assert not self.closed
        self.fetched.append(index)
        if index in self.lost:
            raise DataError(f"item {index} is lost")
        return index

    def item(self, fetched: int) -> tuple[np.ndarray, ...]:
        if fetched in self.bad:
            raise DataError(f"item {fetched} is bad")
        return np.full((2, 3, 4), fetched, np.uint8), np.array(fetched)

    def close(self) -> None:
        self.closed = True


class Noise:
    """A transform that crops at random and adds noise."""

    constant = False

    def shape(self, channels: int, height: int, width: int) -> tuple[int, int, int]:
        return channels, height - 1, width - 1

    def __call__(self, image: np.ndarray, random: np.random.Generator, out: np.ndarray) -> None:
        out[...] = image[:, 1:, 1:] + random.random((2, 2, 3))


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def labels(batches: Batches, count: int) -> list[list[int]]:
    return [next(batches)[1].int().tolist() for _ in range(count)]


def test_batches_wrap_around_at_the_end() -> None:
    with Batches(Reading(Images(5), 3), Loading(workers=2)) as batches:
        images, numbers = next(batches)
        assert images.dtype == numbers.dtype == torch.float32
        assert images.shape == (3, 2, 3, 4)
        assert torch.equal(images, numbers[:, None, None, None].expand(3, 2, 3, 4))
        assert labels(batches, 3) == [[3, 4, 0], [1, 2, 3], [4, 0, 1]]


def test_two_runs_are_equal_however_many_threads_there_are() -> None:
    reading = Reading(Images(40), 7, (Noise(),), shuffle=True)
    runs = []
    for workers, prefetch in ((1, 1), (4, 5)):
        with Batches(reading, Loading(seed=2, workers=workers, prefetch=prefetch)) as batches:
            runs.append([next(batches) for _ in range(12)])
        reading.source.closed = False
    for one, other in zip(*runs, strict=True):
        assert torch.equal(one[0], other[0])
        assert torch.equal(one[1], other[1])
    assert len({float(batch[0][0, 0, 0, 0]) % 1 for batch in runs[0]}) == 12
    assert runs[0][0][0].shape == (7, 2, 2, 3)


def test_seeking_is_the_same_as_running() -> None:
    reading = Reading(Images(11), 3, (Noise(),), shuffle=True, start=2)
    with Batches(reading, Loading(seed=1)) as run:
        whole = [next(run) for _ in range(9)]
        assert run.position == 9
        run.seek(5)
        again = next(run)
        run.seek(7)
        later = next(run)
        assert run.position == 8
        with pytest.raises(DataError, match="no batch -1"):
            run.seek(-1)
    for found, wanted in ((again, whole[5]), (later, whole[7])):
        assert torch.equal(found[0], wanted[0])
        assert torch.equal(found[1], wanted[1])


def test_the_position_counts_returned_batches_and_not_prepared_ones() -> None:
    with Batches(Reading(Images(30), 2), Loading(prefetch=4)) as batches:
        assert batches.shapes() == [(2, 2, 3, 4), (2,)]
        assert batches.position == 0
        assert labels(batches, 2) == [[0, 1], [2, 3]]
        assert batches.position == 2


def test_ranks_share_the_items() -> None:
    found = []
    for rank in range(2):
        with Batches(Reading(Images(6), 3), Loading(rank=rank, size=2)) as batches:
            found.append(labels(batches, 2))
    assert found == [[[0, 2, 4], [0, 2, 4]], [[1, 3, 5], [1, 3, 5]]]


def test_no_more_batches_are_prefetched_than_requested() -> None:
    source = Images(100)
    with Batches(Reading(source, 5), Loading(prefetch=2)) as batches:
        next(batches)
        batches.shapes()
    assert len(source.fetched) <= 15


@pytest.mark.parametrize("source", [Images(9, bad=(4,)), Images(9, lost=(4,))])
def test_a_bad_item_is_an_error_when_its_batch_is_requested(source: Images) -> None:
    with Batches(Reading(source, 2)) as batches:
        assert labels(batches, 2) == [[0, 1], [2, 3]]
        for _ in range(2):
            with pytest.raises(DataError, match="item 4 is"):
                next(batches)
        assert batches.position == 2
        batches.seek(3)
        assert labels(batches, 1) == [[6, 7]]


class FirstIsSlow(Images):
    """All items are bad. The first is found to be bad after the second."""

    def __init__(self) -> None:
        super().__init__(2, bad=(0, 1))
        self._second_was_tried = threading.Event()

    def item(self, fetched: int) -> tuple[np.ndarray, ...]:
        if fetched == 0:
            assert self._second_was_tried.wait(PATIENCE)
        self._second_was_tried.set()
        return super().item(fetched)


def test_the_first_bad_item_is_reported_whichever_thread_is_faster() -> None:
    with Batches(Reading(FirstIsSlow(), 2), Loading(workers=2)) as batches, pytest.raises(DataError, match="item 0 is"):
        next(batches)


def test_a_bad_item_is_replaced_by_the_next_item(caplog: pytest.LogCaptureFixture) -> None:
    source = Images(8, bad=(1, 4), lost=(5,))
    with Batches(Reading(source, 3), Loading(bad=BadItems.SKIP, workers=2)) as batches:
        assert labels(batches, 3) == [[0, 2, 2], [3, 6, 6], [6, 7, 0]]
        assert batches.skipped == 4  # 4 and 5 in the place of 4, and 5 in its own
        assert sorted(batches.reasons) == ["item 1 is bad", "item 4 is bad", "item 5 is lost", "item 5 is lost"]
        batches.seek(1)
        assert labels(batches, 1) == [[3, 6, 6]]
    assert "skipped an item: item 1 is bad" in caplog.text


@pytest.mark.parametrize("size", [1, 2, 3])
def test_several_processes_replace_a_bad_item_as_a_single_process_does(size: int) -> None:
    seen = list[float]()
    for rank in range(size):
        loading = Loading(bad=BadItems.SKIP, rank=rank, size=size)
        with Batches(Reading(Images(12, bad=(1, 4), lost=(5,)), 6 // size), loading) as batches:
            seen += [label for batch in labels(batches, 2) for label in batch]
    assert sorted(seen) == [0, 2, 2, 3, 6, 6, 6, 7, 8, 9, 10, 11]


def test_a_source_without_a_good_item_is_an_error() -> None:
    with (
        Batches(Reading(Images(4, bad=(0, 1, 2, 3)), 2), Loading(bad=BadItems.SKIP)) as batches,
        pytest.raises(
            DataError, match="4 items in a row are bad; correct the data, starting with this problem: item 3"
        ),
    ):
        next(batches)


class Growing(Images):
    def item(self, fetched: int) -> tuple[np.ndarray, ...]:
        return np.zeros((1, 2, 3 + fetched), np.uint8), np.array(fetched)


def test_items_of_one_batch_have_one_shape() -> None:
    with Batches(Reading(Growing(5), 1)) as batches:
        assert [next(batches)[0].shape[-1] for _ in range(3)] == [3, 4, 5]
    for bad in BadItems:
        with (
            Batches(Reading(Growing(5), 2), Loading(bad=bad)) as batches,
            pytest.raises(ShapeError, match=r"1x2x[34], a number and 1x2x[34], a number.*new_height"),
        ):
            next(batches)


class Flat(Images):
    def item(self, fetched: int) -> tuple[np.ndarray, ...]:
        return (np.zeros(3, np.float32),)


class ImagesWithBoxes(Images):
    """Image i has i % 3 boxes."""

    def item(self, fetched: int) -> tuple[np.ndarray, ...]:
        image, number = super().item(fetched)
        return image, np.full((fetched % 3, 4), number, np.float32)


def concatenated_rows(items: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    images, boxes = zip(*items, strict=True)
    return np.stack(images), np.concatenate(boxes)[None, None]


def test_tops_can_have_any_number_of_rows_per_item() -> None:
    reading = Reading(ImagesWithBoxes(7, bad=(4,)), 3, collate=concatenated_rows)
    with Batches(reading, Loading(workers=3, bad=BadItems.SKIP)) as batches:
        for items in ([0, 1, 2], [3, 5, 5], [6, 0, 1]):
            images, boxes = next(batches)
            assert images[:, 0, 0, 0].tolist() == items
            assert boxes.shape == (1, 1, sum(item % 3 for item in items), 4)
            assert boxes[..., 0].flatten().tolist() == [item for item in items for _ in range(item % 3)]
        assert batches.skipped == 1


def test_an_items_arrays_can_be_transformed_together_with_the_batch_number() -> None:
    def noisy(item: tuple[np.ndarray, ...], random: np.random.Generator, batch: int) -> tuple[np.ndarray, ...]:
        noise = random.random(dtype=np.float32)
        return np.full((1, batch + 1, 2), noise, np.float32), np.array([item[1], noise, batch], np.float32)

    whole = ArraySource([(np.zeros((5, 2, 2), np.uint8), np.arange(5))])
    for source, again in ((Images(5), Images(5)), (whole, whole)):
        reading = Reading(source, 3, item_transform=noisy)
        with Batches(reading, Loading(seed=7, workers=2)) as batches:
            seen = [next(batches) for _ in range(4)]
        assert [images.shape for images, _ in seen] == [(3, 1, number + 1, 2) for number in range(4)]
        labels = torch.cat([values for _, values in seen])
        assert labels[:, 2].tolist() == [0] * 3 + [1] * 3 + [2] * 3 + [3] * 3
        assert len(set(labels[:, 1].tolist())) == 12
        with Batches(Reading(again, 3, item_transform=noisy), Loading(seed=7)) as batches:
            batches.seek(2)
            assert torch.equal(next(batches)[1], seen[2][1])


def test_only_images_are_transformed() -> None:
    with (
        Batches(Reading(Flat(5), 2, (Noise(),))) as batches,
        pytest.raises(DataError, match=r"shape \[3\]"),
    ):
        next(batches)


class BrokenImages(Images):
    def item(self, fetched: int) -> tuple[np.ndarray, ...]:
        raise KeyError("ours")


def test_errors_in_a_thread_are_raised_in_the_caller() -> None:
    for bad in BadItems:
        with Batches(Reading(BrokenImages(5), 2), Loading(bad=bad)) as batches, pytest.raises(KeyError, match="ours"):
            next(batches)


class Hanging(Images):
    def __init__(self) -> None:
        super().__init__(5)
        self.begun, self.wake = threading.Event(), threading.Event()

    def fetch(self, index: int) -> int:
        self.begun.set()
        self.wake.wait()
        return index


def test_waiting_for_a_slow_disk_is_reported() -> None:
    source = Hanging()
    with Batches(Reading(source, 2), Loading(deadline=0.01)) as batches:
        with pytest.raises(DataError, match=r"batch 0 wasn't ready after 0\.01 s"):
            next(batches)
        source.begun.wait()
        with pytest.raises(DataError, match="item 0 is still being read"):
            next(batches)
        source.wake.set()
    assert source.closed
    assert batches.waited > 0


def test_a_thread_that_never_ends_keeps_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("netdsl.data.batches.batches._JOIN_SECONDS", 0.01)
    source = Hanging()
    batches = Batches(Reading(source, 2), Loading(deadline=0.01))
    with pytest.raises(DataError, match="wasn't ready"):
        batches.shapes()
    source.begun.wait()
    with pytest.raises(DataError, match="still waits"):
        batches.seek(1)
    batches.close()
    assert not source.closed
    source.wake.set()
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(5)


def test_closing_in_the_middle_of_an_epoch_ends_the_threads() -> None:
    source = Images(1000)
    batches = Batches(Reading(source, 50), Loading(prefetch=6))
    next(batches)
    batches.close()
    batches.close()
    assert source.closed
    with pytest.raises(DataError, match="closed"):
        next(batches)


def test_discarded_batches_end_their_threads() -> None:
    batches = Batches(Reading(Images(1000), 50), Loading(prefetch=6))
    next(batches)
    assert any(thread.name == "netdsl batches" for thread in threading.enumerate())
    del batches  # the fixture checks the threads


@pytest.mark.parametrize(
    ("reading", "loading", "why"),
    [
        (Reading(Images(3), 2), Loading(workers=0), "set each of them to 1 or more"),
        (Reading(Images(3), 2), Loading(prefetch=0), "set each of them to 1 or more"),
        (Reading(Images(0), 2), Loading(), "the source is empty"),
        (Reading(Images(5), 2, start=5), Loading(), "the layer skips 5 items at the start, but the source has only 5"),
        (Reading(Images(5), 2), Loading(rank=2, size=2), "it must be from 0 to 1"),
        (Reading(Images(5), 2), Loading(seed=-1), "the seed is -1"),
    ],
)
def test_invalid_settings_are_errors(reading: Reading, loading: Loading, why: str) -> None:
    with pytest.raises(DataError, match=why):
        Batches(reading, loading)


PROGRAM = """
import sys
sys.path.insert(0, {folder!r})
from test_batches import Batches, Images, Loading, Reading
batches = Batches(Reading(Images(1000), 50), Loading(prefetch=6))
next(batches)
raise SystemExit("the program died")
"""


@pytest.mark.slow
def test_a_program_that_dies_in_the_middle_ends() -> None:
    program = PROGRAM.format(folder=str(Path(__file__).parent))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1
    assert done.stderr == "the program died\n"

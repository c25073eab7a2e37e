"""The results of a request to fine-tune: batches, and lengths that count items."""

from __future__ import annotations

from fractions import Fraction

import pytest

from netdsl.distributed.strategies.settings import parse
from netdsl.errors import DistributedError
from netdsl.solver.length import Epoch
from zoo.finetuning.request import Recipe, fixes_statistics, solver_settings, train_batch


@pytest.mark.parametrize(
    ("strategy", "workers", "items", "batch"),
    [
        ("averaging", 1, 1000, 32),
        ("averaging", 2, 1000, 32),
        ("averaging", 2, 80, 10),  # an epoch has at least four iterations
        ("averaging", 3, 5, 1),
        ("allreduce", 2, 1000, 32),
        ("allreduce", 3, 1000, 30),  # a batch that three workers can divide
        ("allreduce", 3, 80, 18),
        ("allreduce", 3, 5, 3),
    ],
)
def test_the_batch_size_depends_on_the_number_of_items(strategy: str, workers: int, items: int, batch: int) -> None:
    assert train_batch(Recipe(), items, parse(strategy), workers) == batch


def test_a_batch_that_workers_cannot_divide_is_refused() -> None:
    assert train_batch(Recipe(batch=8), 99, parse("averaging"), 3) == 8
    with pytest.raises(DistributedError, match="8 isn't a multiple of 3; give --batch 9, or another strategy"):
        train_batch(Recipe(batch=8), 99, parse("allreduce"), 3)


def test_training_lasts_the_given_number_of_epochs() -> None:
    param = solver_settings(None, Recipe(epochs=6), Epoch(Fraction(101, 2)), tests=100)
    assert (param.max_iter, param.test_interval, param.snapshot) == (303, 51, 51)


def test_few_items_or_few_iterations_fix_the_statistics_of_batch_normalization() -> None:
    assert fixes_statistics(Recipe(epochs=20), 200, 32)
    assert fixes_statistics(Recipe(epochs=20), 100_000, 8)
    assert not fixes_statistics(Recipe(epochs=20), 100_000, 32)


def test_a_batch_has_no_item_twice() -> None:
    assert train_batch(Recipe(batch=256), 40, parse("averaging"), 1) == 40
    assert train_batch(Recipe(batch=256), 40, parse("averaging"), 2) == 20
    assert train_batch(Recipe(batch=256), 41, parse("allreduce"), 2) == 40

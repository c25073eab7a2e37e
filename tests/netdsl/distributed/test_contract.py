"""The contract of training, for every strategy and number of workers: lengths count the items that were seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from netdsl.allowed_modules import PYTHON_LAYERS
from netdsl.distributed.machines import Link
from netdsl.distributed.strategies.settings import parse
from netdsl.errors import DistributedError
from netdsl.simulator.simulate import simulate
from tests.netdsl.distributed.contract import EXACT, ITEMS, LINES, PYTHON_LAYER, WORKERS, Contract, write_items


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    with PYTHON_LAYERS.allowing(PYTHON_LAYER):
        yield


def simulated(contract: Contract) -> list[int]:
    """Train workers of different speed in a simulated world. Returns where they tested."""
    ran = simulate(contract.run(), link=Link(), pace=lambda rank, iteration: 1.0 + rank / 2)
    return [score.iteration for score in ran.scores]


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("strategy", LINES)
def test_items_and_tests_follow_the_contract(tmp_path: Path, strategy: str, workers: int) -> None:
    write_items(tmp_path, ITEMS)
    contract = Contract(tmp_path, strategy, workers)
    tests = simulated(contract)
    contract.check(tests)


@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("strategy", EXACT)
def test_an_epoch_may_be_a_fractional_number_of_iterations(tmp_path: Path, strategy: str, workers: int) -> None:
    write_items(tmp_path, 40)
    contract = Contract(tmp_path, strategy, workers, items=40, epochs=2.5)
    tests = simulated(contract)
    contract.check(tests)


@pytest.mark.parametrize("strategy", EXACT)
def test_each_item_is_prepared_alike_by_any_number_of_workers(tmp_path: Path, strategy: str) -> None:
    """An item's place in an epoch, its crop and whether it is mirrored follow from the seed."""
    write_items(tmp_path, ITEMS)
    contracts = [Contract(tmp_path, strategy, workers) for workers in WORKERS]
    for contract in contracts:
        simulated(contract)
    alone, *together = [contract.seen() for contract in contracts]
    assert len(alone) > ITEMS  # some items differ from epoch to epoch
    assert all(others == alone for others in together)


def test_settings_that_break_the_contract_are_refused(tmp_path: Path) -> None:
    write_items(tmp_path, ITEMS)
    run = Contract(tmp_path, "averaging:tau=3", 2).run()
    with pytest.raises(DistributedError, match=r"with 1 to 2 workers, .* one number of workers, as in --workers 2"):
        replace(run, fewest=1).epoch_of(Fraction(6))
    with pytest.raises(DistributedError, match=r"only one worker trains during a warm-up, .*; leave warmup out"):
        replace(run, strategy=parse("averaging:tau=3,warmup=2")).epoch_of(Fraction(6))
    assert replace(run, strategy=parse("averaging:tau=3,warmup=2"), workers=1).epoch_of(Fraction(6)).iterations == 6

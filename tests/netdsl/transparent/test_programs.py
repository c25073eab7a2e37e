"""Programs for one process have the same curves under several ranks, or are refused with a message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch

from netdsl.distributed.transports.shared_block import create_memory
from tests.netdsl.transparent import programs, refused_programs
from tests.patience import PATIENCE
from tests.test_house import ROOT

Results = list[dict[str, dict[str, Any]]]  # for every rank, by program

COMPUTED_WHOLE = {  # operations without a rule, or that need the whole batch
    "items_of_one_batch_compared": ["__eq__"],
    "mixed_items": ["__getitem__"],
    "sequences": ["lstm"],
    "custom_functions": ["Cube"],
}
# Sums of parts in float32 instead of sums of whole batches, over some ten steps.
CLOSE = 1e-6


@cache
def together(size: int) -> Results:
    """Return each rank's results of all programs."""
    descriptor = create_memory(size)
    words = [sys.executable, "-m", "tests.netdsl.transparent.rank"]
    names = [*programs.PROGRAMS, *refused_programs.PROGRAMS]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen(
            [*words, str(rank), str(size), str(descriptor), *names],
            pass_fds=[descriptor],
            stdout=subprocess.PIPE,
            env=environment,
        )
        for rank in range(size)
    ]
    try:
        outputs = [process.communicate(timeout=PATIENCE)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
        os.close(descriptor)
    return [json.loads(output) for output in outputs]


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Compute sums as the ranks do, with the same random numbers."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad=True:UserWarning")
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("name", programs.PROGRAMS)
@pytest.mark.parametrize("size", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_the_curve_equals_that_of_one_process(name: str, size: int) -> None:
    results = [result[name] for result in together(size)]
    assert "refused" not in results[0], results[0]
    expected = programs.PROGRAMS[name]()
    assert results[0]["curve"] == pytest.approx(expected, rel=CLOSE, abs=CLOSE / 10)
    assert all(result["curve"] == results[0]["curve"] for result in results)


@pytest.mark.parametrize("name", [name for name in programs.PROGRAMS if name not in COMPUTED_WHOLE])
def test_ranks_compute_only_their_parts(name: str) -> None:
    assert together(2)[0][name]["whole"] == []


@pytest.mark.parametrize(("name", "operations"), COMPUTED_WHOLE.items())
def test_operations_that_need_the_whole_batch_are_reported(name: str, operations: list[str]) -> None:
    assert set(together(2)[0][name]["whole"]) >= set(operations)


@pytest.mark.parametrize("name", refused_programs.PROGRAMS)
@pytest.mark.parametrize("size", [2, 3])
def test_programs_with_wrong_results_are_refused(name: str, size: int) -> None:
    sentence = refused_programs.PROGRAMS[name][1]
    for result in together(size):
        assert sentence in result[name].get("refused", "not refused")

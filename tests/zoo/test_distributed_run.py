from __future__ import annotations

import os
from pathlib import Path

import pytest
from netdsl.distributed.records import read_records

from netdsl.distributed.run import Run
from netdsl.distributed.strategies.averaging import ModelAveraging
from netdsl.distributed.strategies.settings import parse
from netdsl.errors import DistributedError
from netdsl.solver import events as told
from netdsl.solver.events import Event, as_numbers
from zoo import distributed_run as together
from zoo.models import folder_of, solver_of
from zoo.training import Run, train, with_data

ITERATIONS = 300
STRATEGIES = [
    "averaging:tau=20",
    "averaging:seconds=0.5",
    "allreduce",
    "outer:tau=20,momentum=0.5",
    "elastic:tau=10",
    "elastic-sync:tau=10",
    "mpca",
]


def digits(folder: Path, iterations: int) -> Run:
    """LeNet on digits, with snapshots in a folder.

    The rate falls to nothing, so that what is tested at the end isn't where noise has led to last: an image of the 360
    more or less is a quarter of a percent.
    """
    param = with_data(solver_of("lenet"), folder_of("lenet"), "digits", None)
    param.max_iter, param.test_interval, param.display = iterations, iterations, 0
    param.test_initialization = False
    param.lr_policy, param.power = "poly", 1
    param.snapshot_prefix = str(folder / "lenet")
    return Run(param, folder_of("lenet"))


def accuracy(events: list[Event]) -> float:
    """What was tested last."""
    return [as_numbers(each.outputs)["accuracy"] for each in events if isinstance(each, told.TestFinished)][-1]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The accuracy of one worker."""
    events: list[Event] = []
    train(digits(tmp_path_factory.mktemp("alone"), ITERATIONS), listeners=[events.append])
    return accuracy(events)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_learns_digits(alone: float, tmp_path: Path, strategy: str, size: int) -> None:
    events: list[Event] = []
    together.begin(digits(tmp_path, ITERATIONS), parse(strategy), size, tmp_path / "run")
    together.train(tmp_path / "run", listeners=[events.append])
    print(f"{strategy}, {size} workers: {accuracy(events):.4f}, alone {alone:.4f}")
    assert accuracy(events) >= alone - 0.005


def test_a_run_leaves_records_events_and_a_model(tmp_path: Path) -> None:
    run = tmp_path / "run"
    together.begin(digits(tmp_path, 4), ModelAveraging(tau=2), 2, run)
    together.train(run)
    assert [(each.number, each.rank, each.iteration) for each in read_records(run)] == [
        (1, 0, 2),
        (1, 1, 2),
        (2, 0, 4),
        (2, 1, 4),
    ]
    assert '"event": "test"' in (run / "log.jsonl").read_text()
    assert (run / "model.caffemodel").read_bytes() == (tmp_path / "lenet_iter_4.caffemodel").read_bytes()


def test_cores_are_divided(tmp_path: Path) -> None:
    together.begin(digits(tmp_path, 4), ModelAveraging(), 2, tmp_path / "run")
    plan = Run.load(tmp_path / "run")
    assert plan.threads == max(1, (os.cpu_count() or 1) // 2)
    assert plan.solver.net_param.layer and not plan.solver.HasField("net")


def test_a_snapshot_is_for_one_worker(tmp_path: Path) -> None:
    run = Run(digits(tmp_path, 4).param, folder_of("lenet"), snapshot="auto")
    with pytest.raises(DistributedError, match="goes on with --resume"):
        together.begin(run, ModelAveraging(), 2, tmp_path / "run")

"""Turns of workers in this process, from the saved state alone or with the process's cached state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl import LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss, WeightCollection
from netdsl.data.batches.user_rows import ArrayRows
from netdsl.distributed.journal import Journal
from netdsl.distributed.run import Run
from netdsl.dsl import Dropout
from netdsl.model.model import Model
from netdsl.net.graph import Phase
from netdsl.solver.settings import SolverSettings
from netdsl.spark import turns
from netdsl.spark.turns import TurnResult, WorkersTurn

SIZE = 2
ROWS = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)


def forget() -> None:
    """Discard the cached state, as when a process is lost."""
    turns._close_kept()


@pytest.fixture(autouse=True)
def cleared_cache() -> Iterator[None]:
    yield
    forget()


class Loop:
    """A loop whose turns run here, one worker after the other."""

    def __init__(self, folder: Path) -> None:
        self.net = Net(
            NetParams(
                "two",
                RDDLayer("data", shape=[8, 4]),
                RDDLayer("label", shape=[8, 1]),
                LinearLayer("ip1", ["data"], num_outputs=6, weight_filler={"type": "xavier"}),
                Dropout("drop", ["ip1"], in_place=True),
                LinearLayer("ip2", ["ip1"], num_outputs=2, weight_filler={"type": "xavier"}),
                SoftmaxWithLoss("loss", ["ip2", "label"]),
            )
        )
        param = pb.SolverParameter(type="SGD", base_lr=0.1, momentum=0.9, lr_policy="fixed", random_seed=5)
        table = ArrayRows((ROWS, ROWS[:, 0] > 0), shuffle=True).store(["data", "label"], folder / "data")
        run = Run(SolverSettings(param, net=Model(self.net.form.net)), workers=SIZE, tables={Phase.TRAIN: table})
        run.settled().save(folder)
        self.folder, self.taken, self.journal = folder, 0, Journal(folder / "rounds", run.keeping)

    def take(self, work: Callable[[Net], Any], between: Callable[[], object] = lambda: None) -> list[TurnResult]:
        results = []
        for rank in range(SIZE):
            between()
            results += WorkersTurn(str(self.folder), self.net.form, self.taken, "", work).take([rank])
        if not any(result.problem for result in results):
            self.taken += 1
            self.journal.complete(self.taken, range(SIZE), range(SIZE), None)
        return results

    def weights(self, between: Callable[[], object] = lambda: None) -> list[WeightCollection]:
        return [result.value for result in self.take(Net.get_weights, between)]


def train_five(net: Net) -> float:
    return net.train(5, alone=True)


def test_lost_workers_continue_with_the_same_bits(tmp_path: Path) -> None:
    kept, lost = Loop(tmp_path / "kept"), Loop(tmp_path / "lost")
    for _ in range(3):
        first = kept.take(train_five)
        assert lost.take(train_five, forget) == first
    assert [result.iteration for result in first] == [15, 15]
    assert first[0].value != first[1].value
    weights = kept.weights()
    assert weights == lost.weights(forget)
    assert weights[0] != weights[1]


def test_a_worker_that_stays_is_opened_once_and_draws_its_own_random_numbers(tmp_path: Path) -> None:
    loop, alone = Loop(tmp_path / "two"), Loop(tmp_path / "one")
    expected = list(WorkersTurn(str(alone.folder), alone.net.form, 0, "", train_five).take([1]))
    worker = turns._KEPT[0]
    (folder,) = (alone.folder / "rounds").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["worker-1.json", "worker-1.npz"]
    alone.journal.complete(1, [1], [1], None)
    Net.get_weights(Net(loop.net.message))  # draws random numbers between two turns
    expected += WorkersTurn(str(alone.folder), alone.net.form, 1, "", train_five).take([1])
    assert turns._KEPT[0] is worker
    found = [loop.take(train_five)[1], loop.take(train_five)[1]]
    assert found == expected


def test_work_that_fails_changes_nothing(tmp_path: Path) -> None:
    def fails(net: Net) -> None:
        train_five(net)
        raise KeyError("this")

    def train_differently(net: Net) -> None:
        net.train((ROWS, ROWS[:, 0] > 0), 1, alone=True)

    loop, other = Loop(tmp_path / "one"), Loop(tmp_path / "other")
    assert {result.problem for result in loop.take(fails)} == {"KeyError: 'this'"}
    for each in (loop, other):
        each.take(train_five)
    results = loop.take(fails)
    assert "in fails" in results[0].trace
    assert all("leave the settings" in result.problem for result in loop.take(train_differently))
    assert loop.take(train_five) == other.take(train_five)
    assert loop.weights() == other.weights()

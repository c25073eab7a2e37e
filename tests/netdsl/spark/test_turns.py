"""Turns of workers in this process, from the saved state alone or with the process's cached state."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl import LinearLayer, Net, NetParams, RDDLayer, SoftmaxWithLoss, WeightCollection
from netdsl.data.batches.user_rows import ArrayRows
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.journal import Journal
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.run import Run
from netdsl.distributed.run_files import RunFiles
from netdsl.dsl import Dropout
from netdsl.errors import PeerLostError
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
    """A loop whose turns run here, one worker after the other. If `elsewhere` is set, its workers don't see the run's
    folder."""

    def __init__(self, folder: Path, elsewhere: str = "") -> None:
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
        self.taken, self.journal, self.given = 0, Journal(folder / "rounds", run.keeping), ""
        self.folder, self._run = folder, elsewhere or str(folder)
        self._files = RunFiles(folder, self.journal, None)

    def turn_of(self, rank: int, work: Callable[[Net], Any]) -> list[TurnResult]:
        with ControlServer(None, SIZE, serve_files=self._files.serve) as server:
            spec = WorkerSpec(self._run, "", SIZE, server.address())
            return list(WorkersTurn(spec, self.net.form, self.taken, self.given, work).take([rank]))

    def take(self, work: Callable[[Net], Any], between: Callable[[], object] = lambda: None) -> list[TurnResult]:
        results = []
        for rank in range(SIZE):
            between()
            results += self.turn_of(rank, work)
        if not any(result.problem for result in results):
            self.taken, self.given = self.taken + 1, ""
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


def test_workers_that_dont_see_the_folder_fetch_and_send_what_belongs_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    seeing, sightless = Loop(tmp_path / "here"), Loop(tmp_path / "there", "/on/another/machine")
    for given in ("", "given.npy", ""):
        for loop in (seeing, sightless):
            loop.given = given
            if given:
                np.save(loop.folder / given, np.load(loop.journal.entry_folder(1) / "worker-0.npz")["weights"])
        assert sightless.take(train_five) == seeing.take(train_five)
        assert not list(own.iterdir())
    assert sightless.weights() == seeing.weights()


def test_a_worker_that_loses_the_driver_is_tried_again(tmp_path: Path) -> None:
    loop = Loop(tmp_path / "there", "/on/another/machine")
    with ControlServer(None, SIZE) as server:
        gone = server.address()
    turn = WorkersTurn(WorkerSpec("/on/another/machine", "", SIZE, gone), loop.net.form, 0, "", train_five)
    with pytest.raises(PeerLostError, match="can't be reached"):
        list(turn.take([0]))


def test_a_worker_that_stays_is_opened_once_and_draws_its_own_random_numbers(tmp_path: Path) -> None:
    loop, alone = Loop(tmp_path / "two"), Loop(tmp_path / "one")
    expected = alone.turn_of(1, train_five)
    worker = turns._KEPT[0]
    (folder,) = (alone.folder / "rounds").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["worker-1.json", "worker-1.npz"]
    alone.journal.complete(1, [1], [1], None)
    Net.get_weights(Net(loop.net.message))  # draws random numbers between two turns
    alone.taken = 1
    expected += alone.turn_of(1, train_five)
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

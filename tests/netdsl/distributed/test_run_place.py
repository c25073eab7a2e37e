from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.journal import Journal, Retention
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers.local import LocalLauncher, LocalWorkers
from netdsl.distributed.run_files import RunFiles
from netdsl.distributed.run_log import RoundRecord, Told
from netdsl.distributed.run_place import RunCopy
from netdsl.distributed.supervisor import End, train
from netdsl.errors import DistributedError
from netdsl.solver.events import Notice, SnapshotSaved, WorkersRestarted
from tests.netdsl.distributed.conftest import Simulate
from tests.netdsl.distributed.launchers.test_local import planned, same, workers_of


class SightlessLauncher(LocalLauncher):
    """Starts workers that behave as if they were on other machines, which don't see the run's folder."""

    def start(self, spec: WorkerSpec) -> LocalWorkers:
        return super().start(msgspec.structs.replace(spec, lease="of another folder"))


def test_workers_that_dont_see_the_folder_reach_the_same_bits_although_one_is_killed(
    param: pb.SolverParameter, run: Simulate, tmp_path: Path
) -> None:
    param.max_iter = 60
    undisturbed = run("averaging:tau=3").weights[0]
    param.snapshot_after_train, param.snapshot_prefix = True, str(tmp_path / "run" / "snapshot")
    folder, events, rounds = planned(param, tmp_path / "run", "averaging:tau=3"), list[Told](), [2]

    def told(what: Told) -> None:
        events.append(what)
        if isinstance(what, RoundRecord) and rounds and what.number == rounds[0]:
            rounds.clear()
            os.kill(workers_of(folder)[1], signal.SIGKILL)

    assert train(folder, SightlessLauncher(), told=told) is End.FINISHED
    assert any(isinstance(event, WorkersRestarted) for event in events)
    assert same(folder, undisturbed)
    assert "doesn't see" in next(event.text for event in events if isinstance(event, Notice))
    (saved,) = (event for event in events if isinstance(event, SnapshotSaved))
    assert saved.model.parent == folder and saved.model.exists() and saved.state.exists()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[RunCopy]:
    """Return a copy of the folder `tmp_path / "run"`, whose supervisor also offers the file `mean`."""
    folder, copy = tmp_path / "run", tmp_path / "copy"
    folder.mkdir(), copy.mkdir()
    files = RunFiles(folder, Journal(folder / "rounds", Retention()), None, [str(tmp_path / "mean")])
    with ExitStack() as stack:
        server = stack.enter_context(ControlServer(None, 1, serve_files=files.serve))
        control = stack.enter_context(ControlClient(server.address(), 0, leave=lambda reason: None))
        yield RunCopy(stack.enter_context(closing(control.open_files())), copy, str(folder))


def test_files_go_both_ways(place: RunCopy, tmp_path: Path) -> None:
    contents = np.random.default_rng(0).bytes(3_000_001)
    (tmp_path / "run" / "weights").write_bytes(contents)
    place.fetch("weights")
    assert (place.folder / "weights").read_bytes() == contents
    (place.folder / "empty").touch()
    (place.folder / "model").write_bytes(contents[::-1])
    place.deliver()
    assert (tmp_path / "run" / "model").read_bytes() == contents[::-1]
    assert (tmp_path / "run" / "empty").read_bytes() == b""
    place.remove("model")
    assert not (tmp_path / "run" / "model").exists()


def test_a_file_elsewhere_can_be_fetched_only_if_the_run_names_it(place: RunCopy, tmp_path: Path) -> None:
    for name in ("mean", "secret"):
        (tmp_path / name).write_text(name)
    place.fetch(str(tmp_path / "mean"), "named/mean")
    assert (place.folder / "named/mean").read_text() == "mean"
    for name in (str(tmp_path / "secret"), "../secret", "a/../../secret", ""):
        with pytest.raises(DistributedError, match="isn't below"):
            place.fetch(name)
    with pytest.raises(DistributedError, match="No such file"):
        place.fetch("nothing")
    place.fetch(str(tmp_path / "mean"), "again")  # the connection still works


def test_a_file_that_cant_be_written_is_the_workers_error(place: RunCopy, tmp_path: Path) -> None:
    (place.folder / "model").write_bytes(bytes(3_000_000))
    (tmp_path / "run" / "model").mkdir()
    with pytest.raises(DistributedError, match=f"{tmp_path}/run/model"):
        place.deliver()
    (tmp_path / "run" / "model").rmdir()
    place.deliver()
    assert (tmp_path / "run" / "model").stat().st_size == 3_000_000

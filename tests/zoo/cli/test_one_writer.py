"""Commands on a run that another process holds."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from netdsl.distributed.journal import Membership, note_membership
from netdsl.distributed.run import Run
from netdsl.distributed.run_lease import FILE, is_of_lease
from netdsl.errors import DistributedError
from netdsl.solver.events import Action
from netdsl.training import job
from netdsl.training.backends import HERE
from netdsl.training.data_sources import with_data
from tests.lease_holders import lease_holders
from zoo.names import solver_of


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.name != FILE}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return the folder of a run that has begun."""
    settings, _ = solver_of("lenet")
    lengths = {"max_iter": 4, "test_interval": 4, "test_iter": [1], "display": 0, "test_initialization": False}
    plan = Run(with_data(settings, "digits", None).with_fields(**lengths), workers=2, folder=tmp_path)
    job.begin(plan, tmp_path / "run", HERE)
    note_membership(tmp_path / "run", Membership(0, (0, 1)))
    return tmp_path / "run"


def test_a_run_of_another_process_is_neither_started_resumed_nor_replayed_over(zoo, run: Path) -> None:
    before = files_of(run)
    with lease_holders(run, "3") as (holder,):
        holder.taken()
        for words in (
            ("train", "--resume", "run"),
            ("train", "lenet", "--data", "digits", "--workers", "2", "--run", "run"),
            ("train", "--replay", "run", "--run", "run"),
        ):
            done = zoo(*words)
            assert done.code == 2, words
            assert f"run: the run is held by process {holder.process.pid} of " in done.err, words
        assert files_of(run) == before
        assert zoo("train", "--replay", "run", "--run", "again").code == 0  # it only reads the first run
        assert holder.end() == 0
    again = run.with_name("again")
    assert (again / "model.caffemodel").exists()
    assert not [path for folder in (run, again) for path in folder.iterdir() if is_of_lease(path)]


def test_a_fine_tuning_of_another_process_is_neither_started_nor_resumed(zoo, tmp_path: Path) -> None:
    tune = ("finetune", "lenet", "--data", "digits", "-o", "tuned")
    with lease_holders(tmp_path / "tuned/run", "3") as (holder,):
        holder.taken()
        done = zoo(*tune)
        assert (done.code, list(tmp_path.rglob("*.json"))) == (2, [tmp_path / "tuned/run" / FILE])
        assert f"tuned/run: the run is held by process {holder.process.pid} of " in done.err
        assert holder.end() == 0
    assert not (tmp_path / "tuned").exists()


def test_a_fine_tuning_that_was_killed_before_it_had_begun_is_started_again(zoo, tmp_path: Path) -> None:
    with lease_holders(tmp_path / "tuned/run", "3") as (holder,):
        holder.taken()
    for name in ("finetune.json", "mean.binaryproto", "run/weights0_shapes.caffemodel"):
        (tmp_path / "tuned" / name).write_bytes(b"unfinished")
    done = zoo("finetune", "shapes", "--data", "missing", "-o", "tuned")
    assert done.code == 2 and "isn't empty" not in done.err and "missing" in done.err
    assert "which has ended; this process takes it over" in done.err


def test_a_training_that_has_lost_its_lease_writes_nothing_more(run: Path) -> None:

    def lose() -> Action:
        """Give the lease to another process before the workers have started."""
        terms = msgspec.json.decode((run / FILE).read_bytes())
        (run / "other").write_bytes(msgspec.json.encode({**terms, "key": "another", "host": "node2"}))
        (run / "other").rename(run / FILE)
        return Action.NONE

    with pytest.raises(DistributedError, match=r"on node2 since .* has taken the run over, so this one ends"):
        job.train(run, HERE, requested=lose)
    assert not (run / "rounds").exists() and not (run / "model.caffemodel").exists()
    assert msgspec.json.decode((run / FILE).read_bytes())["key"] == "another"

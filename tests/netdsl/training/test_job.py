from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from caffe_proto.errors import CaffeError
from caffe_proto.files import read_net
from netdsl.distributed.journal import Membership, note_membership
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import read_records
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.supervisor import End
from netdsl.distributed.worker_count import WorkerCount
from netdsl.errors import DistributedError, NetError
from netdsl.model.model import Model
from netdsl.model.weights.match import arrays_of
from netdsl.solver import events as tell
from netdsl.solver.events import Action
from netdsl.training import job
from netdsl.training.backends import HERE
from netdsl.training.data_sources import with_data
from netdsl.training.job import train_alone
from zoo.names import solver_of

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
    """Return LeNet on digits, with snapshots in a folder.

    The learning rate falls to zero, so that noise in the last steps doesn't decide the final test: each of the 360
    images counts a quarter of a percent.
    """
    settings, _ = solver_of("lenet")
    lengths = {"max_iter": iterations, "test_interval": iterations, "display": 0, "test_initialization": False}
    solver = with_data(settings, "digits", None).with_fields(
        lr_policy="poly", power=1, snapshot_prefix=str(folder / "lenet"), **lengths
    )
    return Run(solver, folder=folder)


def with_changed_net(run: Run, change: Callable[[pb.NetParameter], None]) -> Run:
    net = copy_of(run.solver.net_to_train.net)
    change(net)
    return replace(run, solver=run.solver.with_net(Model(net)))


def begin(run: Run, folder: Path, strategy: str = "averaging", workers: int = 2) -> None:
    job.begin(replace(run, strategy=parse(strategy), workers=workers), folder, HERE)


def accuracy(events: list[tell.Event]) -> float:
    """Return the accuracy of the last test."""
    return [tell.as_numbers(each.outputs)["accuracy"] for each in events if isinstance(each, tell.TestFinished)][-1]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Return the accuracy of one worker."""
    events: list[tell.Event] = []
    train_alone(digits(tmp_path_factory.mktemp("alone"), ITERATIONS), listeners=[events.append])
    return accuracy(events)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_learns_digits(alone: float, tmp_path: Path, strategy: str, size: int) -> None:
    events: list[tell.Event] = []
    begin(digits(tmp_path, ITERATIONS), tmp_path / "run", strategy, size)
    job.train(tmp_path / "run", HERE, listeners=[events.append])
    print(f"{strategy}, {size} workers: {accuracy(events):.4f}, alone {alone:.4f}")
    assert accuracy(events) >= alone - 0.005


def test_a_run_writes_records_events_and_a_model(tmp_path: Path) -> None:
    run = tmp_path / "run"
    begin(digits(tmp_path, 4), run, "averaging:tau=2")
    job.train(run, HERE)
    assert [(each.number, each.rank, each.iteration) for each in read_records(run)] == [
        (1, 0, 2),
        (1, 1, 2),
        (2, 0, 4),
        (2, 1, 4),
    ]
    assert '"event": "test"' in (run / "log.jsonl").read_text()
    assert (run / "model.caffemodel").read_bytes() == (run / "lenet_iter_4.caffemodel").read_bytes()
    assert not list(tmp_path.glob("lenet_iter*"))  # snapshots of another run would use the same names


def test_a_failed_start_leaves_no_folder(tmp_path: Path) -> None:
    def misspell(net: pb.NetParameter) -> None:
        next(layer for layer in net.layer if layer.type == "Convolution").bottom[0] = "dtaa"

    with pytest.raises(NetError, match="bottom 'dtaa'"):
        begin(with_changed_net(digits(tmp_path, 4), misspell), tmp_path / "run")

    def lose_data(net: pb.NetParameter) -> None:
        for layer in net.layer:
            if layer.HasField("data_param"):
                layer.data_param.source = "lmdb:missing"

    with pytest.raises(CaffeError, match="missing"):
        begin(with_changed_net(digits(tmp_path, 4), lose_data), tmp_path / "run")
    with pytest.raises(CaffeError, match=r"missing\.caffemodel"):
        begin(replace(digits(tmp_path, 4), weights=("missing.caffemodel",)), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_no_folder_is_made_if_no_run_begins(tmp_path: Path) -> None:
    with pytest.raises(DistributedError, match="can't be read: No such file or directory"):
        job.train(tmp_path / "missing", HERE)
    assert not list(tmp_path.iterdir())


def test_cores_are_divided(tmp_path: Path) -> None:
    begin(digits(tmp_path, 4), tmp_path / "run")
    run = Run.load(tmp_path / "run")
    assert run.threads == max(1, (os.cpu_count() or 1) // 2)
    assert run.solver.message.net_param.layer and not run.solver.param.HasField("net")


def test_a_snapshot_can_only_be_resumed_by_one_worker(tmp_path: Path) -> None:
    run = replace(digits(tmp_path, 4), snapshot="auto")
    with pytest.raises(DistributedError, match="resume a run of several workers with --resume"):
        begin(run, tmp_path / "run")


@pytest.mark.parametrize("settings", ["", "iter_size: 2 clip_gradients: 0.5 weight_decay: 0.01"])
def test_two_devices_learn_the_same_as_one_with_twice_the_batch(tmp_path: Path, settings: str) -> None:
    """This is Caffe's sharding: one of two devices reads every second item, so a double batch has the same items.

    By Caffe's rule, gradients are averaged before they are clipped, and the learning rate stays.
    """

    def trained(batch: int, *devices: str) -> list[np.ndarray]:
        def state_batch(net: pb.NetParameter) -> None:
            for layer in net.layer:
                layer.data_param.batch_size = batch if layer.HasField("data_param") else 0

        run = with_changed_net(digits(tmp_path, 6), state_batch)
        solver = run.solver.with_fields(max_iter=6, snapshot_prefix=str(tmp_path / str(batch)))
        text_format.Merge(settings, solver.param)
        run = replace(run, solver=solver, devices=tuple(map(torch.device, devices)))
        if len(devices) > 1:
            assert job.train_on_devices(run) is End.FINISHED
        else:
            train_alone(run)
        file = read_net(tmp_path / f"{batch}_iter_6.caffemodel")
        return [blob for blobs in arrays_of(file).values() for blob in blobs]

    for one, two in zip(trained(16, "cpu"), trained(8, "cpu", "cpu"), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-3, atol=1e-4)  # sums of 16 gradients, or of two sums of 8


def test_devices_test_and_save_in_the_iterations_of_the_settings(tmp_path: Path) -> None:
    """This holds after a start from a snapshot between two such iterations, too."""
    run = replace(digits(tmp_path, 3), devices=(torch.device("cpu"),) * 2)
    run = replace(run, solver=run.solver.with_fields(snapshot_prefix=str(tmp_path / "net")))
    job.train_on_devices(run)
    run = replace(run, solver=run.solver.with_fields(max_iter=11, snapshot=5, test_interval=10))
    events: list[tell.Event] = []
    job.train_on_devices(replace(run, snapshot=str(tmp_path / "net_iter_3.solverstate")), listeners=[events.append])
    assert [event.iteration for event in events if isinstance(event, tell.TestFinished)] == [10, 11]
    assert {path.stem for path in tmp_path.glob("net_iter_*.solverstate")} == {
        "net_iter_3",
        "net_iter_5",
        "net_iter_10",
        "net_iter_11",
    }


def test_a_run_resumes_with_other_workers_and_can_be_replayed(tmp_path: Path) -> None:
    run, events, again = tmp_path / "run", list[tell.Event](), tmp_path / "again"
    plan = digits(tmp_path, 400)
    steady = plan.solver.with_fields(lr_policy="fixed")  # "fixed" doesn't depend on the last iteration
    begin(replace(plan, solver=steady), run, "averaging:tau=2", 2)
    rounds: list[int] = []

    def requested() -> Action:
        rounds.append(len(read_records(run)) if (run / "records.jsonl").exists() else 0)
        return Action.STOP if rounds[-1] else Action.NONE

    assert job.train(run, HERE, requested=requested) is End.STOPPED
    done = max(record.number for record in read_records(run))
    kept = Run.load(run)
    replace(kept, solver=kept.solver.with_fields(max_iter=2 * done + 4)).save(run, again=True)
    assert job.train(run, HERE, listeners=[events.append], workers=WorkerCount(3)) is End.FINISHED
    told = [event.text for event in events if isinstance(event, tell.Notice)]
    line = f"from round {done + 1} on, workers 0, 1, 2 take part instead of workers 0, 1; the data that"
    assert any(text.startswith(line) for text in told)
    assert [record.rank for record in read_records(run) if record.number == done + 1] == [0, 1, 2]

    job.begin_replay(run, again, HERE)
    with pytest.raises(DistributedError, match="a replay can't change the number of workers"):
        job.train(again, HERE, workers=WorkerCount(2))
    assert job.train(again, HERE) is End.FINISHED
    assert (again / "model.caffemodel").read_bytes() == (run / "model.caffemodel").read_bytes()


def test_settings_that_cannot_be_replayed_or_elastic_are_refused(tmp_path: Path) -> None:
    begin(digits(tmp_path, 4), tmp_path / "run", "elastic:tau=2")
    with pytest.raises(DistributedError, match="the log doesn't list the workers"):
        job.begin_replay(tmp_path / "run", tmp_path / "again", HERE)
    note_membership(tmp_path / "run", Membership(0, (0, 1)))
    with pytest.raises(DistributedError, match="workers with the strategy elastic meet at no fixed times"):
        job.begin_replay(tmp_path / "run", tmp_path / "again", HERE)
    with pytest.raises(DistributedError, match="the strategy allreduce divides each batch among the workers, so"):
        replace(digits(tmp_path, 4), strategy=parse("allreduce"), workers=4, fewest=2)
    with pytest.raises(DistributedError, match="the range of 4 to 2 workers is invalid; give the smaller number first"):
        replace(digits(tmp_path, 4), workers=2, fewest=4)

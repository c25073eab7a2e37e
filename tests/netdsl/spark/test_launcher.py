"""Runs on a real Spark: their results, and the reasons to refuse them."""

from __future__ import annotations

import socket
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, Told
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.supervisor import End, train
from netdsl.distributed.transports.transport import Transport
from netdsl.errors import DistributedError
from netdsl.solver.events import Action, Notice, WorkersRestarted
from netdsl.spark.launcher import SparkLauncher
from tests.netdsl.distributed.conftest import Simulate
from tests.netdsl.spark.conftest import TRANSPORTS, after_round, begin, same

pytestmark = pytest.mark.spark
SYNCHRONOUS = ["averaging:tau=3", "outer:tau=3", "allreduce:tau=3", "elastic-sync:tau=3"]


def free_port() -> int:
    with socket.create_server(("", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def is_open(host: str, port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((host, port)) == 0


@pytest.mark.parametrize(
    ("strategy", "transport"), [*product(SYNCHRONOUS, TRANSPORTS), (SYNCHRONOUS[0], Transport.SHARED_MEMORY)]
)
def test_the_bits_equal_those_of_simulated_workers(
    session: Any, param: pb.SolverParameter, run: Simulate, folder: Path, strategy: str, transport: Transport
) -> None:
    records: list[RoundRecord] = []
    begin(param, folder, strategy, transport=transport)
    end = train(
        folder,
        SparkLauncher(session),
        told=lambda told: records.append(told) if isinstance(told, RoundRecord) else None,
    )
    assert end is End.FINISHED
    assert same(folder, run(strategy).weights[0])
    assert sorted((record.number, record.rank) for record in records) == [
        (number, rank) for number in (1, 2, 3, 4) for rank in (0, 1)
    ]
    assert not list(folder.glob(".probe*"))


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("strategy", ["averaging:seconds=0.02", "elastic:tau=3", "mpca:shards=3"])
def test_strategies_that_depend_on_the_pace_end(
    session: Any, param: pb.SolverParameter, folder: Path, strategy: str, transport: Transport
) -> None:
    begin(param, folder, strategy, transport=transport)
    assert train(folder, SparkLauncher(session)) is End.FINISHED
    assert (folder / MODEL).exists()


def test_where_executors_reach_each_other_they_exchange(session: Any, param: pb.SolverParameter, folder: Path) -> None:
    events: list[Told] = []
    train(begin(param, folder, "averaging:tau=6"), SparkLauncher(session), told=events.append)
    assert Run.load(folder).transport is Transport.GLOO
    assert not any(isinstance(each, Notice) for each in events)


def test_where_executors_are_apart_the_driver_averages(
    session: Any, param: pb.SolverParameter, run: Simulate, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Told] = []
    monkeypatch.setitem(session.sparkContext.environment, "GLOO_SOCKET_IFNAME", "nowhere0")
    named = begin(param, folder.with_name("named"), "averaging:tau=3", transport=Transport.GLOO)
    with pytest.raises(
        DistributedError,
        match=r"transport gloo: worker 0: GLOO_SOCKET_IFNAME names .*nowhere0.*or use --transport relay",
    ):
        train(named, SparkLauncher(session))
    train(begin(param, folder, "averaging:tau=3"), SparkLauncher(session), told=events.append)
    (note,) = (each.text for each in events if isinstance(each, Notice))
    assert note.startswith("transport relay instead of gloo: worker 0: GLOO_SOCKET_IFNAME names the interface nowhere0")
    assert Run.load(folder).transport is Transport.RELAY
    assert same(folder, run("averaging:tau=3").weights[0])


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_driver_listens_at_one_port_that_can_be_chosen(
    session: Any, param: pb.SolverParameter, folder: Path, transport: Transport
) -> None:
    """Two jobs, the preflight's and the run's, use the same port one after the other."""
    port, host = free_port(), session.sparkContext.getConf().get("spark.driver.host")
    seen: list[bool] = []
    session.conf.set("spark.netdsl.port", str(port))
    try:
        begin(param, folder, "averaging:tau=3", transport=transport)
        train(folder, SparkLauncher(session), told=after_round(1, lambda: seen.append(is_open(host, port))))
        assert seen == [True]
        with (
            socket.create_server(("", port)),
            pytest.raises(
                DistributedError, match=rf"port {port}: .*name a free port, in Spark's settings spark.netdsl.port"
            ),
        ):
            train(folder, SparkLauncher(session))
    finally:
        session.conf.unset("spark.netdsl.port")


def test_an_error_of_a_worker_ends_the_run(session: Any, param: pb.SolverParameter, folder: Path) -> None:
    param.net_param.layer[0].data_param.source = "nothing_lmdb"
    events: list[Told] = []
    begin(param, folder, "averaging")
    with pytest.raises(DistributedError, match=r"worker \d.*: layer 'data'.*nothing_lmdb"):
        train(folder, SparkLauncher(session), told=events.append)
    assert not any(isinstance(each, WorkersRestarted) for each in events)


def test_a_stopped_run_resumes(session: Any, param: pb.SolverParameter, folder: Path) -> None:
    param.max_iter = 3000
    seen: list[Told] = []
    begin(param, folder, "averaging:tau=3")
    end = train(
        folder,
        SparkLauncher(session),
        told=seen.append,
        requested=lambda: Action.STOP if len(seen) > 20 else Action.NONE,
    )
    assert end is End.STOPPED
    assert not (folder / MODEL).exists()
    reached = max(told.number for told in seen if isinstance(told, RoundRecord))
    numbers: list[int] = []
    train(
        folder,
        SparkLauncher(session),
        told=lambda what: numbers.append(what.number) if isinstance(what, RoundRecord) else None,
        requested=lambda: Action.STOP if numbers else Action.NONE,
    )
    assert numbers[0] == reached + 1


def test_too_few_slots_are_refused(session: Any, param: pb.SolverParameter, folder: Path) -> None:
    param.max_iter = 3
    begin(param, folder, "averaging", size=3)
    with pytest.raises(DistributedError, match=r"3 workers need .* Spark has slots for at most 2;"):
        train(folder, SparkLauncher(session))


@pytest.mark.parametrize(
    ("python", "says"),
    [("/nowhere/python", "Cannot run program"), (None, "No module named")],
    ids=["a Python that isn't there", "a Python without netdsl"],
)
def test_an_unsuitable_python_is_refused(
    session: Any,
    param: pb.SolverParameter,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    bare_python: str,
    python: str | None,
    says: str,
) -> None:
    monkeypatch.setattr(session.sparkContext, "pythonExec", python or bare_python)
    begin(param, folder, "averaging")
    with pytest.raises(DistributedError, match=rf"Python of the executors can't run workers.*{says}.*PYSPARK_PYTHON"):
        train(folder, SparkLauncher(session))

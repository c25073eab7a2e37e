"""Runs on a real Spark: what they come to, and how they are refused."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.messages import Told
from netdsl.distributed.record import RoundRecord
from netdsl.distributed.run_worker import MODEL
from netdsl.distributed.supervision.retries import End
from netdsl.errors import DistributedError
from netdsl.solver.solver import Action
from netdsl.spark import cluster
from netdsl.spark.workers.train import train
from netdsl.spark.workers.transport import Transport, remembered
from tests.netdsl.distributed.conftest import Run
from tests.netdsl.spark.conftest import after_round, planned, same

pytestmark = pytest.mark.spark


def two_free_ports() -> int:
    """The first of them."""
    while True:
        with socket.create_server(("", 0)) as one, suppress(OSError):
            first: int = one.getsockname()[1]
            socket.create_server(("", first + 1)).close()
            return first


def is_open(host: str, port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex((host, port)) == 0


@pytest.mark.parametrize("transport", Transport)
@pytest.mark.parametrize("strategy", ["averaging:tau=3", "outer:tau=3", "allreduce:tau=3", "elastic-sync:tau=3"])
def test_the_bits_are_those_of_the_simulated_workers(
    session: Any, param: pb.SolverParameter, run: Run, folder: Path, strategy: str, transport: Transport
) -> None:
    records: list[RoundRecord] = []
    planned(param, folder, strategy)
    ended = train(
        folder,
        session,
        transport=transport,
        told=lambda told: records.append(told) if isinstance(told, RoundRecord) else None,
    )
    assert ended is End.FINISHED
    assert same(folder, run(strategy).weights[0])
    assert sorted((each.number, each.rank) for each in records) == [(n, rank) for n in (1, 2, 3, 4) for rank in (0, 1)]
    assert not list(folder.glob(".probe*"))


@pytest.mark.parametrize("transport", Transport)
@pytest.mark.parametrize("strategy", ["averaging:seconds=0.02", "elastic:tau=3", "mpca:shards=3"])
def test_strategies_that_depend_on_the_pace_end(
    session: Any, param: pb.SolverParameter, folder: Path, strategy: str, transport: Transport
) -> None:
    assert train(planned(param, folder, strategy), session, transport=transport) is End.FINISHED
    assert (folder / MODEL).exists()


def test_where_peers_reach_each_other_they_exchange(session: Any, param: pb.SolverParameter, folder: Path) -> None:
    notes: list[str] = []
    train(planned(param, folder, "averaging:tau=6"), session, note=notes.append)
    assert remembered(folder) is Transport.PEER
    assert not notes


def test_where_peers_are_apart_the_driver_averages(
    session: Any, param: pb.SolverParameter, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    monkeypatch.setitem(session.sparkContext.environment, "GLOO_SOCKET_IFNAME", "nowhere0")
    planned(param, folder, "averaging:tau=3")
    with pytest.raises(DistributedError, match=r"transport peer: executors can't reach each other \(.*take the tra"):
        train(folder, session, transport=Transport.PEER)
    train(folder, session, note=notes.append)
    (note,) = notes
    assert note.startswith("transport driver: executors can't reach each other (")
    assert note.endswith("; the driver averages for them")
    assert remembered(folder) is Transport.DRIVER
    assert same(folder, run("averaging:tau=3").weights[0])


@pytest.mark.parametrize(("transport", "ports"), [(Transport.PEER, 2), (Transport.DRIVER, 1)])
def test_the_driver_listens_where_it_is_told(
    session: Any, param: pb.SolverParameter, folder: Path, transport: Transport, ports: int
) -> None:
    """Two jobs, the examination's and the run's, follow each other at the same ports."""
    first, host = two_free_ports(), session.sparkContext.getConf().get("spark.driver.host")
    open_ones: list[int] = []

    def look() -> None:
        open_ones.extend(port for port in (first, first + 1) if is_open(host, port))

    session.sparkContext._conf.set("spark.netdsl.port", str(first))
    try:
        train(
            planned(param, folder, "averaging:tau=3"),
            session,
            transport=transport,
            told=after_round(1, look),
        )
        assert open_ones == [first, first + 1][:ports]
        with socket.create_server(("", first)), pytest.raises(DistributedError, match=rf":{first}: .*a free one"):
            train(folder, session, transport=transport)
    finally:
        session.sparkContext._conf.set("spark.netdsl.port", "0")


def test_an_error_of_a_worker_ends_the_run(session: Any, param: pb.SolverParameter, folder: Path) -> None:
    param.net_param.layer[0].data_param.source = "nothing_lmdb"
    starts: list[int] = []
    with pytest.raises(DistributedError, match=r"worker \d on .*: layer 'data'.*nothing_lmdb"):
        train(planned(param, folder, "averaging"), session, restarted=lambda number, why: starts.append(number))
    assert not starts


def test_a_stopped_run_goes_on(session: Any, param: pb.SolverParameter, folder: Path) -> None:
    param.max_iter = 3000
    seen: list[Told] = []
    planned(param, folder, "averaging:tau=3")
    ended = train(folder, session, told=seen.append, requested=lambda: Action.STOP if len(seen) > 20 else Action.NONE)
    assert ended is End.STOPPED
    assert not (folder / MODEL).exists()
    reached = max(each.number for each in seen if isinstance(each, RoundRecord))
    numbers: list[int] = []
    train(
        folder,
        session,
        told=lambda what: numbers.append(what.number) if isinstance(what, RoundRecord) else None,
        requested=lambda: Action.STOP if numbers else Action.NONE,
    )
    assert numbers[0] == reached + 1


def test_too_few_slots(session: Any, param: pb.SolverParameter, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_SLOTS", 0.3)
    param.max_iter = 3
    planned(param, folder, "averaging", size=3)
    with pytest.raises(DistributedError, match="3 workers need as many tasks at once, and Spark has slots for 2"):
        train(folder, session)


@pytest.mark.parametrize(
    ("python", "says"),
    [("/nowhere/python", "Cannot run program"), (None, "No module named")],
    ids=["a Python that isn't there", "a Python without netdsl"],
)
def test_a_python_that_isnt_fit(
    session: Any,
    param: pb.SolverParameter,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    bare_python: str,
    python: str | None,
    says: str,
) -> None:
    monkeypatch.setattr(session.sparkContext, "pythonExec", python or bare_python)
    planned(param, folder, "averaging")
    with pytest.raises(DistributedError, match=rf"Python of the executors isn't fit.*{says}.*PYSPARK_PYTHON"):
        train(folder, session)

"""Workers that share a secret meet at a port, without a common folder."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from netdsl.distributed.control.client import ControlClient
from netdsl.distributed.control.identity import Identity
from netdsl.distributed.control.place import Ports
from netdsl.distributed.control.protocol import Posted
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers import rendezvous_at_port
from netdsl.distributed.launchers.rendezvous_at_port import PortRendezvous
from netdsl.errors import DataError, DistributedError
from netdsl.ranks import Ranks
from netdsl.training.backends import ExternalBackend
from tests.patience import PATIENCE

SECRET = "a secret that is long enough for it"
HERE = "127.0.0.1"


def free_port() -> int:
    with socket.create_server((HERE, 0)) as listener:
        return int(listener.getsockname()[1])


def rendezvous(rank: int, port: int, secret: str = SECRET) -> PortRendezvous:
    return PortRendezvous(Ranks(rank, 2, 0, 1), secret, HERE, Ports(port, port))


def test_a_worker_gets_the_spec_of_a_supervisor_that_begins_later() -> None:
    first, other = rendezvous(0, port := free_port()), rendezvous(1, port)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(other.await_spec, 1)
        with ControlServer(first.place, 2) as server:
            sent = WorkerSpec("/only/here", "/only/here", 2, server.address(), 1.0)
            server.post(Posted(sent.text()))
            spec = found.result(PATIENCE)
            assert spec.run == "/only/here" and str(spec.control.place) == f"{HERE}:{port}"
            with ControlClient(spec.control, 1, leave=print):
                assert server.await_told(1, PATIENCE)


def test_the_others_end_with_the_reason_of_the_first_which_is_told_once() -> None:
    backend = ExternalBackend(HERE, str(port := free_port()))
    settings = {"RANK": "0", "WORLD_SIZE": "2", "NETDSL_SECRET": SECRET}
    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        found = pool.submit(rendezvous(1, port).await_spec, 1)
        with pytest.raises(DataError), backend.leading(Path("outer")), backend.leading(Path("inner")):
            raise DataError("digits.csv:7: three columns, and there should be two; correct it")
        with pytest.raises(DistributedError, match=rf"the first worker, on {socket.gethostname()}, failed: digits.csv"):
            found.result(PATIENCE)


def test_workers_with_another_secret_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendezvous_at_port, "START", 0.5)
    first, other = rendezvous(0, port := free_port()), rendezvous(1, port, SECRET + "!")
    with ControlServer(first.place, 2) as server:
        server.post(Posted("{}"))
        with pytest.raises(DistributedError, match=r"worker 1 on .* can't reach .*NETDSL_SECRET is the same"):
            other.await_spec(1)
        assert not server.await_told(1, 0.0)


def test_a_short_secret_is_refused_without_showing_it() -> None:
    with pytest.raises(DistributedError, match=r"NETDSL_SECRET has 8 characters, and needs at least 32") as caught:
        rendezvous(0, 5000, "password")
    assert "password" not in str(caught.value)


def test_the_same_secret_gives_other_identities_to_other_jobs() -> None:
    first, again, other = (Identity.of_secret(SECRET, job) for job in ("8", "8", "9"))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert (first.token, first.greeting) == (again.token, again.greeting)
    assert first.token not in (other.token, first.greeting)


def test_the_port_follows_from_the_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    worker = Ranks(1, 2, 0, 1)
    with pytest.raises(DistributedError, match=r"port .* isn't known; name a free one with --port"):
        PortRendezvous(worker, SECRET, None, None)
    with pytest.raises(DistributedError, match=r"--port 5000-5010: .* meet at one port; name one, such as --port 5000"):
        PortRendezvous(worker, SECRET, None, Ports(5000, 5010))
    monkeypatch.setenv("MASTER_PORT", "29500")
    with pytest.raises(DistributedError, match=r"first worker's machine isn't known; name it with --address"):
        PortRendezvous(worker, SECRET, None, None)
    monkeypatch.setenv("MASTER_ADDR", HERE)
    assert (place := PortRendezvous(worker, SECRET, None, None).place) is not None and place.ports == (29500,)
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "torchrun listens at 29500")
    assert (place := PortRendezvous(worker, SECRET, None, None).place) is not None and place.ports == (29501,)


def test_workers_without_a_common_folder_train_together(tmp_path: Path) -> None:
    words = ["train", "lenet", "--data", "digits", "--max-iter", "4", "--strategy", "averaging:tau=2"]
    settings = {
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "1",
        "NETDSL_SECRET": SECRET,
        "MASTER_ADDR": HERE,
        "MASTER_PORT": str(free_port()),
        "OMP_NUM_THREADS": "1",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "zoo", *words, "--backend", "external", "--run", str(tmp_path / f"run{rank}")],
            env={**os.environ, **settings, "RANK": str(rank), "LOCAL_RANK": "0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(2)
    ]
    texts = [process.communicate(timeout=3 * PATIENCE)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], "\n".join(texts)
    assert (tmp_path / "run0" / "model.caffemodel").exists()
    assert not (tmp_path / "run0" / "control.json").exists()
    assert SECRET not in "".join(path.read_text(errors="replace") for path in (tmp_path / "run0").glob("*.json*"))

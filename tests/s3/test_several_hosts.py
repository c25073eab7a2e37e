"""A run whose data, weights and journal are at an address, on hosts that share nothing.

Whatever happens to the hosts, its weights have the bits of a training on one machine.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import pytest

from netdsl.distributed.control.identity import SECRET
from netdsl.distributed.run_worker import MODEL
from tests.hosts.laboratory import Host, Laboratory, Program, laboratory, why_impossible
from tests.hosts.trainings import Launcher, start_training, train_on_one_machine, trained_weights
from tests.patience import PATIENCE
from tests.s3.conftest import KEYS, ROOT

pytestmark = pytest.mark.s3

_WORKERS, _ITERATIONS = 3, 400
_PORT = 9000
_AWAIT_SERVER = f"""import socket, sys, time
while True:
  try: socket.create_connection((sys.argv[1], {_PORT}), 1).close(); break
  except OSError: time.sleep(0.1)
"""
_RUN = "s3://models/run"
_GIVEN = ("--solver", "s3://models/given/solver.prototxt", "--weights", "s3://models/given/first.caffemodel")
_DATA = ("--data", "csv:s3://models/given/numbers.csv?columns=a,b,c&label=label")
_BUCKET = """import boto3
bucket = boto3.resource("s3").Bucket("models")
"""
_SPARK = ("network.timeout=20s", "network.timeoutInterval=5s", "executor.heartbeatInterval=2s")
_HOW = ("--strategy", "averaging:tau=2", "--device", "cpu", "--deadline", "6")
_RENEW = "kill -KILL -1; find /tmp /dev/shm ~ -xdev -mindepth 1 -delete 2>/dev/null; true"


class Bucket:
    """The bucket `models` of a server of S3 at the switch of a laboratory."""

    def __init__(self, made: Laboratory, folder: Path) -> None:
        self._made, self._folder = made, folder
        self.environment = {
            **KEYS,
            "AWS_ENDPOINT_URL": f"http://{made.address}:{_PORT}",
            "AWS_EC2_METADATA_DISABLED": "true",
            "PYTHONPATH": ROOT,
            "NETDSL_LEASE_SECONDS": "10",
            "NETDSL_ALLOW_ADDRESSES": "s3://models/given/",
        }
        words = [sys.executable, "-m", "moto.server", "-H", made.address, "-p", str(_PORT)]
        made.start_at_switch(words, folder / "server.txt", {})
        self._do("import time\nwhile True:\n  try: bucket.create(); break\n  except Exception: time.sleep(0.1)")

    def put(self, path: Path, name: str) -> None:
        """Upload a file."""
        self._do(f"bucket.upload_file({str(path)!r}, {name!r})")

    def get(self, name: str, path: Path) -> None:
        """Download an object."""
        self._do(f"bucket.download_file({name!r}, {str(path)!r})")

    def await_round(self, after: int, programs: Sequence[Program]) -> int:
        """Wait until a round after this one is there, and return its number."""
        until = time.monotonic() + 3 * PATIENCE
        while (newest := self._newest()) <= after:
            texts = "\n".join(program.text() for program in programs)
            assert programs[0].is_running() and time.monotonic() < until, texts
            time.sleep(0.2)
        return newest

    def _newest(self) -> int:
        names = self._do('print(*(each.key for each in bucket.objects.filter(Prefix="run/rounds/")))').split()
        whole = (PurePosixPath(name).parent.name for name in names if name.endswith("/whole.json"))
        return max((int(name.removeprefix("round-")) for name in whole), default=0)

    def _do(self, code: str) -> str:
        program = self._made.start_at_switch(
            [sys.executable, "-c", _BUCKET + code], self._folder / "bucket.txt", self.environment
        )
        assert program.wait(PATIENCE) == 0, program.text()
        return program.text()


def _renew(made: Laboratory) -> None:
    """End all programs of all hosts, and empty their own folders, as if others had taken their places."""
    for host in made.hosts:
        host.call("sh", "-c", _RENEW)
        host.mend()
    for host in made.hosts:
        host.call(sys.executable, "-c", _AWAIT_SERVER, made.address)


def _on_one_machine(folder: Path) -> dict[str, bytes]:
    """Train in a folder, beginning with the weights of a shorter training, and return the final weights."""
    train_on_one_machine(folder, 1, iterations=2)
    (folder / "run" / MODEL).rename(folder / "first.caffemodel")
    shutil.rmtree(folder / "run")
    weights = train_on_one_machine(folder, _WORKERS, "--weights", "first.caffemodel", iterations=_ITERATIONS)
    shutil.rmtree(folder / "run")
    return weights


def _last_with_worker(made: Laboratory, launcher: Launcher) -> Host:
    """Return a host with a worker, and without the supervisor. Spark chooses the hosts."""
    program = "pyspark.daemon" if launcher is Launcher.SPARK else "zoo train"
    return [host for host in made.hosts[1:] if program in host.commands()][-1]


@pytest.mark.skipif(bool(reason := why_impossible()), reason=reason)
@pytest.mark.parametrize("launcher", [Launcher.TORCHRUN, Launcher.MPI, Launcher.SPARK])
def test_a_run_at_an_address_survives_what_happens_to_its_hosts(launcher: Launcher, tmp_path: Path) -> None:
    expected = _on_one_machine(tmp_path)
    with laboratory(_WORKERS + (launcher is Launcher.SPARK)) as made:
        bucket = Bucket(made, tmp_path)
        for name in ("solver.prototxt", "net.prototxt", "numbers.csv", "first.caffemodel"):
            bucket.put(tmp_path / name, f"given/{name}")
        environment = {**bucket.environment, SECRET: "only for workers of this training"}
        spark = [f"spark.{name}" for name in _SPARK]

        def start(*words: str) -> list[Program]:
            command = [sys.executable, "-m", "zoo", "train", *words]
            return start_training(launcher, made, command, spark, environment, workers=_WORKERS)

        programs = start(*_GIVEN, *_DATA, *_HOW, "--run", _RUN)
        newest = bucket.await_round(0, programs)
        made.hosts[0].call("pkill", "-KILL", "-f", "zoo train")
        _renew(made)
        programs = start("--resume", _RUN)
        newest = bucket.await_round(newest, programs)
        _last_with_worker(made, launcher).cut()
        if launcher is not Launcher.SPARK:  # Spark's driver starts a worker on another host
            assert all(program.wait(3 * PATIENCE) for program in programs)
            _renew(made)
            programs = start("--resume", _RUN)
        codes = [program.wait(6 * PATIENCE) for program in programs]
        assert not any(codes), "\n".join(program.text() for program in programs)
        (tmp_path / "run").mkdir()
        bucket.get(f"run/{MODEL}", tmp_path / "run" / MODEL)
        assert trained_weights(tmp_path) == expected

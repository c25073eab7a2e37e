"""Measures the seconds of a round's exchange, the average of a model over K workers, in tasks of a Spark job and
elsewhere.

All methods take turns in one run. netdsl's tasks average over gloo, and through the relay at the driver. torch's gloo
and MPI average in processes without Spark. netdsl's processes with shared memory show the lower limit. Spark's own
method is the one that SparkNet used: a broadcast variable to the workers, and a tree of sums back. The table shows
medians of the slowest worker of each round.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.spark_workers import task
from netdsl.distributed.control.server import ControlServer
from netdsl.distributed.transports.relay.relay import Relay
from netdsl.distributed.transports.shared_block import create_memory
from netdsl.distributed.transports.torch_group import TIMEOUT
from netdsl.spark.cluster import Cluster
from netdsl.spark.session import SETTINGS, open_session

SIZES = (1.7, 7.0, 83.0, 240.0, 550.0)  # MB
METHODS = ("gloo", "relay", "torch", "mpi", "memory", "spark")
SPARK_LIMIT = 83.0  # MB; above this, Spark's own method takes too long
# A round below this many MB takes a few milliseconds that vary, so there are this many times more rounds.
SMALL, MORE_ROUNDS = 20.0, 5
QUIET = {"spark.ui.enabled": "false", "spark.driver.memory": "4g", "spark.driver.maxResultSize": "2g"}
_MPIEXEC = str(Path(sys.executable).with_name("mpiexec"))
_COPIES = 6  # the models that a worker needs for all methods together
_PATIENCE = 180.0  # seconds to wait for workers


class SparkBroadcast:
    """Averages in the driver: a broadcast variable sends the model to all tasks, and a tree adds up their models."""

    def __init__(self, context: Any, size: int) -> None:
        self._context, self._size = context, size
        self._model = np.empty(0, np.float32)

    def prepare(self, count: int) -> None:
        """Create a model with a number of values."""
        self._model = np.random.default_rng(0).random(count, np.float32)

    def time_round(self) -> float:
        """Return the seconds of a round."""
        start, before = time.perf_counter(), self._model
        sent = self._context.broadcast(before.tobytes())
        tasks = self._context.parallelize(range(self._size), self._size)
        total = tasks.mapPartitions(lambda ranks: [sent.value]).treeAggregate(None, _sum, _sum)
        self._model = np.frombuffer(total, np.float32) * np.float32(1 / self._size)
        seconds = time.perf_counter() - start
        sent.destroy()
        assert np.allclose(self._model, before)
        return seconds


def _sum(total: bytes | None, more: bytes | None) -> bytes | None:
    if total is None or more is None:
        return total or more
    return bytes((np.frombuffer(total, np.float32) + np.frombuffer(more, np.float32)).data)


class Conductor:
    """Tells workers to average, one method after the other."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._workers: dict[str, list[Any]] = {}

    @property
    def methods(self) -> dict[str, Callable[[], float]]:
        """Functions that time a round of each method."""
        return {method: partial(self.time_round, method) for method in self._workers}

    def await_workers(self, count: int) -> None:
        """Wait for a number of workers."""
        self._listener.settimeout(_PATIENCE)
        for _ in range(count):
            connection = self._listener.accept()[0]
            connection.settimeout(None)
            lines = connection.makefile("rw")
            connection.close()  # the file keeps it open
            _, *methods = json.loads(lines.readline())
            for method in methods:
                self._workers.setdefault(method, []).append(lines)

    def prepare(self, count: int) -> None:
        """Tell all workers to create a model with a number of values."""
        groups = {id(each): each for workers in self._workers.values() for each in workers}
        self._tell(list(groups.values()), count)

    def time_round(self, method: str) -> float:
        """Return the seconds of the slowest worker in a round."""
        answers = self._tell(self._workers[method], method)
        values = {value for _, value in answers}
        assert len(values) == 1, f"{method}: the workers have different values: {values}"
        return float(max(seconds for seconds, _ in answers))

    def close(self) -> None:
        """Release all workers."""
        for workers in self._workers.values():
            for lines in workers:
                lines.close()
        self._listener.close()

    def _tell(self, workers: Sequence[Any], order: int | str) -> list[Any]:
        for lines in workers:
            lines.write(f"{json.dumps(order)}\n")
            lines.flush()
        answers = [lines.readline() for lines in workers]
        if not all(answers):
            raise SystemExit(f"a worker ended during {order}; see its error above")
        return [json.loads(answer) for answer in answers]


@contextmanager
def tasks(session: Any, size: int, port: int) -> Iterator[None]:
    """Run a Spark job with a worker in each of its tasks."""
    cluster = Cluster(session)
    cluster.await_slots(2 * size)
    with closing(Relay(size, TIMEOUT)) as relay, ControlServer(cluster.place, size, adopt=relay.adopt) as server:
        job = cluster.submit(size, partial(task, server.address(), size, port), "spark_rounds")
        try:
            yield
        finally:
            if not job.has_ended(_PATIENCE) or job.problem():
                print(f"the Spark job failed: {job.problem()}", file=sys.stderr)


@contextmanager
def processes(size: int, port: int, folder: Path) -> Iterator[None]:
    """Run the worker processes of the other methods."""
    descriptor = create_memory(size)
    options = {"size": size, "port": port, "folder": folder, "descriptor": descriptor}
    command = [
        sys.executable,
        "-m",
        "benchmarks.spark_workers",
        *(f"--{name}={each}" for name, each in options.items()),
    ]
    commands = [
        [*command, f"--method={method}", f"--rank={rank}"] for method in ("torch", "memory") for rank in range(size)
    ]
    if has_mpi():
        commands.append([_MPIEXEC, "-n", str(size), *command, "--method=mpi"])
    started = [subprocess.Popen(each, pass_fds=[descriptor], stdin=subprocess.DEVNULL) for each in commands]
    os.close(descriptor)
    try:
        yield
    finally:
        for process in started:
            process.wait()


def has_mpi() -> bool:
    """Return whether MPI is installed."""
    return find_spec("mpi4py") is not None and Path(_MPIEXEC).exists()


def measure(size: int, sizes: Sequence[float], rounds: int) -> Iterator[tuple[float, dict[str, float]]]:
    """Yield the median seconds of each method, for each size of a model."""
    settings = {**SETTINGS, **QUIET, "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent.parent)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        session = stack.enter_context(open_session(f"local-cluster[{size},2,1024]", settings))
        conductor = Conductor()
        stack.enter_context(tasks(session, size, conductor.port))
        stack.enter_context(processes(size, conductor.port, folder))
        stack.enter_context(closing(conductor))
        conductor.await_workers(size * (4 if has_mpi() else 3))
        own = SparkBroadcast(session.sparkContext, size)
        for megabytes in sizes:
            count = int(megabytes * 1e6) // 4
            conductor.prepare(count)
            methods = conductor.methods
            if megabytes <= SPARK_LIMIT:
                own.prepare(count)
                methods["spark"] = own.time_round
            yield megabytes, in_turn(methods, rounds * MORE_ROUNDS if megabytes < SMALL else rounds)


def in_turn(methods: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each method. Every round begins with another method, and the first round is a
    warm-up."""
    names, found = list(methods), {name: list[float]() for name in methods}
    for turn in range(rounds + 1):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            found[name].append(methods[name]())
    return {name: statistics.median(each[1:]) for name, each in found.items()}


def fits_memory(size: int, megabytes: float) -> bool:
    """Return whether the models of all workers fit into memory."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))  # KiB
    return _COPIES * size * megabytes * 1e6 < available * 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 4])
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    print(
        f"{'K':>2}{'MB':>7}" + "".join(f"{method:>9}" for method in METHODS) + f"{'gloo/torch':>12}{'relay/torch':>13}"
    )
    for size in arguments.workers:
        sizes = [megabytes for megabytes in arguments.sizes if fits_memory(size, megabytes)]
        for megabytes, seconds in measure(size, sizes, arguments.rounds):
            times = "".join(f"{seconds[method]:>9.4f}" if method in seconds else f"{'-':>9}" for method in METHODS)
            ratios = seconds["gloo"] / seconds["torch"], seconds["relay"] / seconds["torch"]
            print(f"{size:>2}{megabytes:>7g}{times}{ratios[0]:>12.2f}{ratios[1]:>13.2f}", flush=True)
        for megabytes in set(arguments.sizes) - set(sizes):
            print(f"{size:>2}{megabytes:>7g}   skipped: not enough memory")


if __name__ == "__main__":
    main()

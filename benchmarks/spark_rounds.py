"""Seconds to average a model over K workers once, by tasks of a Spark job and by other methods.

All methods alternate in one run: `peer`, netdsl's tasks over gloo; `driver`, netdsl's tasks through the driver; gloo
and MPI in processes without Spark; `local`, netdsl's processes with shared memory, as the lower bound; and `spark`,
Spark's own means as SparkNet used them: a broadcast variable to the workers, and a tree aggregation back. The table
shows medians of the slowest worker of each round.
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
from netdsl.spark.workers.serving import serving
from netdsl.spark.workers.transport import Transport

from benchmarks.spark_workers import spark_task
from netdsl.distributed.transports.shared_memory.memory import create
from netdsl.spark.cluster import Cluster
from netdsl.spark.session import SETTINGS, open_session

SIZES = (1.7, 7.0, 83.0, 240.0, 550.0)  # MB
METHODS = ("peer", "driver", "gloo", "mpi", "local", "spark")
TREE_LIMIT = 83.0  # MB, above which Spark's tree aggregation takes too long
SMALL_MODEL, EXTRA_ROUNDS = 20.0, 5  # MB, below which rounds are short and vary, so there are more of them
QUIET = {"spark.ui.enabled": "false", "spark.driver.memory": "4g", "spark.driver.maxResultSize": "2g"}
_MPIEXEC = str(Path(sys.executable).with_name("mpiexec"))
_COPIES = 6  # of a model for each rank, with the workers of all methods together
_TIMEOUT = 180.0  # seconds for workers to connect


class TreeAggregate:
    """Averaging by Spark's own means: a broadcast variable from the driver, and a tree aggregation back."""

    def __init__(self, context: Any, size: int) -> None:
        self._context, self._size = context, size
        self._model = np.empty(0, np.float32)

    def prepare(self, count: int) -> None:
        """Make a model with a number of values."""
        self._model = np.random.default_rng(0).random(count, np.float32)

    def run_round(self) -> float:
        """Run a round and return its seconds."""
        start, before = time.perf_counter(), self._model
        broadcast = self._context.broadcast(before.tobytes())
        partitions = self._context.parallelize(range(self._size), self._size)
        total = partitions.mapPartitions(lambda ranks: [broadcast.value]).treeAggregate(None, _sum, _sum)
        self._model = np.frombuffer(total, np.float32) * np.float32(1 / self._size)
        seconds = time.perf_counter() - start
        broadcast.destroy()
        assert np.allclose(self._model, before)
        return seconds


def _sum(total: bytes | None, more: bytes | None) -> bytes | None:
    if total is None or more is None:
        return total or more
    return bytes((np.frombuffer(total, np.float32) + np.frombuffer(more, np.float32)).data)


class Controller:
    """Sends commands to workers, one method after the other."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._workers: dict[str, list[Any]] = {}

    @property
    def methods(self) -> dict[str, Callable[[], float]]:
        """A function for each method that runs a round."""
        return {method: partial(self.run_round, method) for method in self._workers}

    def accept_workers(self, count: int) -> None:
        """Wait for a number of workers."""
        self._listener.settimeout(_TIMEOUT)
        for _ in range(count):
            connection = self._listener.accept()[0]
            connection.settimeout(None)
            lines = connection.makefile("rw")
            connection.close()  # the file has it
            _, *methods = json.loads(lines.readline())
            for method in methods:
                self._workers.setdefault(method, []).append(lines)

    def prepare(self, count: int) -> None:
        """Make all workers create a model with a number of values."""
        groups = {id(lines): lines for workers in self._workers.values() for lines in workers}
        self._send(list(groups.values()), count)

    def run_round(self, method: str) -> float:
        """Run a round and return the seconds of the slowest worker."""
        answers = self._send(self._workers[method], method)
        values = {value for _, value in answers}
        assert len(values) == 1, f"{method}: workers have {values}"
        return float(max(seconds for seconds, _ in answers))

    def close(self) -> None:
        """Disconnect all workers, which ends them."""
        for workers in self._workers.values():
            for lines in workers:
                lines.close()
        self._listener.close()

    def _send(self, workers: Sequence[Any], order: int | str) -> list[Any]:
        for lines in workers:
            lines.write(f"{json.dumps(order)}\n")
            lines.flush()
        answers = [lines.readline() for lines in workers]
        if not all(answers):
            raise SystemExit(f"a worker ended within {order}")
        return [json.loads(answer) for answer in answers]


@contextmanager
def spark_job(session: Any, size: int, port: int) -> Iterator[None]:
    """Run a Spark job with a number of tasks."""
    cluster = Cluster(session)
    cluster.await_slots(2 * size)
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(cluster, Path.cwd(), size, transport)) for transport in Transport]
        job = cluster.submit(size, partial(spark_task, [spec.text() for _, spec in servers], port), "spark_rounds")
        try:
            yield
        finally:
            if not job.ended(_TIMEOUT) or job.problem():
                print(f"the Spark job failed: {job.problem()}", file=sys.stderr)


@contextmanager
def other_workers(size: int, port: int, folder: Path) -> Iterator[None]:
    """Run the workers of the other methods."""
    descriptor = create(size)
    options = {"size": size, "port": port, "folder": folder, "descriptor": descriptor}
    command = [
        sys.executable,
        "-m",
        "benchmarks.spark_workers",
        *(f"--{name}={value}" for name, value in options.items()),
    ]
    commands = [
        [*command, f"--method={method}", f"--rank={rank}"] for method in ("gloo", "local") for rank in range(size)
    ]
    if has_mpi():
        commands.append([_MPIEXEC, "-n", str(size), *command, "--method=mpi"])
    processes = [subprocess.Popen(words, pass_fds=[descriptor], stdin=subprocess.DEVNULL) for words in commands]
    os.close(descriptor)
    try:
        yield
    finally:
        for process in processes:
            process.wait()


def has_mpi() -> bool:
    """Whether MPI is installed."""
    return find_spec("mpi4py") is not None and Path(_MPIEXEC).exists()


def measure(size: int, sizes: Sequence[float], rounds: int) -> Iterator[tuple[float, dict[str, float]]]:
    """The median seconds of each method, for each size of a model."""
    settings = {**SETTINGS, **QUIET, "spark.executorEnv.PYTHONPATH": str(Path(__file__).parent.parent)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        session = stack.enter_context(open_session(f"local-cluster[{size},2,1024]", settings))
        controller = Controller()
        stack.enter_context(spark_job(session, size, controller.port))
        stack.enter_context(other_workers(size, controller.port, folder))
        stack.enter_context(closing(controller))
        controller.accept_workers(size * (4 if has_mpi() else 3))
        tree = TreeAggregate(session.sparkContext, size)
        for megabytes in sizes:
            count = int(megabytes * 1e6) // 4
            controller.prepare(count)
            methods = controller.methods
            if megabytes <= TREE_LIMIT:
                tree.prepare(count)
                methods["spark"] = tree.run_round
            yield megabytes, time_alternately(methods, rounds * EXTRA_ROUNDS if megabytes < SMALL_MODEL else rounds)


def time_alternately(methods: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median seconds of each method. A different one begins every round, and the first round is a warm-up."""
    names, seconds = list(methods), {name: list[float]() for name in methods}
    for number in range(rounds + 1):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            seconds[name].append(methods[name]())
    return {name: statistics.median(values[1:]) for name, values in seconds.items()}


def fits_in_memory(size: int, megabytes: float) -> bool:
    """Whether all workers' models fit into memory."""
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
        f"{'K':>2}{'MB':>7}" + "".join(f"{method:>9}" for method in METHODS) + f"{'peer/gloo':>11}{'driver/gloo':>13}"
    )
    for size in arguments.workers:
        sizes = [megabytes for megabytes in arguments.sizes if fits_in_memory(size, megabytes)]
        for megabytes, seconds in measure(size, sizes, arguments.rounds):
            times = "".join(f"{seconds[method]:>9.4f}" if method in seconds else f"{'-':>9}" for method in METHODS)
            ratios = seconds["peer"] / seconds["gloo"], seconds["driver"] / seconds["gloo"]
            print(f"{size:>2}{megabytes:>7g}{times}{ratios[0]:>11.2f}{ratios[1]:>13.2f}", flush=True)
        for megabytes in set(arguments.sizes) - set(sizes):
            print(f"{size:>2}{megabytes:>7g}   left out: too little memory")


if __name__ == "__main__":
    main()

"""Compares rounds of two workers while a stranger knocks at their supervisor with undisturbed rounds, in turns.

A second stranger knocks at an address at which nothing listens, in its own turns. It uses the processor in the same
way, so its rounds show what the first one costs by that alone.

    python -m benchmarks.knocking --seconds 60

Local workers have a local socket, and the stranger is another user if this program runs as root. Workers of the
backend external have a port with TLS.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from pathlib import Path

import msgspec
from google.protobuf import text_format

from caffe_proto import caffe_pb2 as pb
from netdsl.distributed.control.address import LocalSocket, NetworkPort
from netdsl.distributed.launcher import WorkerSpec
from netdsl.distributed.launchers.external import rendezvous_of_workers, train_as_worker
from netdsl.distributed.launchers.local import LocalLauncher, LocalWorkers
from netdsl.distributed.launchers.rendezvous_in_folder import Published
from netdsl.distributed.run import Run
from netdsl.distributed.run_log import RoundRecord, Told
from netdsl.distributed.strategies.settings import parse
from netdsl.distributed.supervisor import End, train
from netdsl.solver.events import Action
from netdsl.solver.settings import open_settings

_ADDRESS = "127.0.0.1"  # named, so that external workers of one machine have a port
_TURN = 0.5  # seconds with a stranger, then without
_CLOSED_PORT = 9
_PUBLISHED, _TIMES = "control.json", "times.txt"
_SOLVER = """
base_lr: 0.01 lr_policy: "fixed" max_iter: 100000000 random_seed: 3 snapshot_after_train: false
net_param {
  layer { name: "data" type: "Data" top: "data" top: "label" data_param { source: "digits:train" batch_size: 16 }
    transform_param { scale: 0.00390625 } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
    convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
  layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
  layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
    inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
}
"""


class During(Enum):
    """What happens during a round."""

    NOTHING = "nothing"
    KNOCKING = "knocking"
    KNOCKING_ELSEWHERE = "knocking elsewhere"


_CYCLE = (During.KNOCKING, During.NOTHING, During.KNOCKING_ELSEWHERE, During.NOTHING)


@dataclass
class Turns:
    """The strangers' processes, and the times at which one begins or pauses."""

    place: LocalSocket | NetworkPort
    changes: list[tuple[float, During]] = field(default_factory=list)
    knocks: int = 0
    connected: int = 0  # knocks that the system let through

    def take(self, ended: threading.Event) -> None:
        """Let the strangers knock and pause in turns until the event."""
        place = self.place
        here = [place.name] if isinstance(place, LocalSocket) else [place.hosts[0], str(place.port)]
        elsewhere = [f"{place.name}.closed"] if isinstance(place, LocalSocket) else [_ADDRESS, str(_CLOSED_PORT)]
        with stranger_at(here) as knocking, stranger_at(elsewhere) as knocking_elsewhere:
            strangers = {During.KNOCKING: knocking, During.KNOCKING_ELSEWHERE: knocking_elsewhere}
            for during in itertools.cycle(_CYCLE):
                for kind, stranger in strangers.items():
                    stranger.send_signal(signal.SIGCONT if kind is during else signal.SIGSTOP)
                self.changes.append((time.monotonic(), during))
                if ended.wait(_TURN):
                    break
            for stranger in strangers.values():
                stranger.send_signal(signal.SIGTERM)
                stranger.send_signal(signal.SIGCONT)
            said = [stranger.communicate()[0] for stranger in strangers.values()]
            self.knocks, self.connected = map(int, said[0].split())

    def seconds_of_rounds(self, times: list[float]) -> dict[During, list[float]]:
        """Return the seconds of the rounds during which only one thing happened."""
        seconds: dict[During, list[float]] = {each: [] for each in During}
        for begin, end in pairwise(times):
            changed = any(begin < time_ <= end for time_, _ in self.changes)
            before = [during for time_, during in self.changes if time_ <= begin]
            if not changed and before:
                seconds[before[-1]].append(end - begin)
        return seconds


def stranger_at(address: list[str]) -> subprocess.Popen[str]:
    """Start a stranger that knocks at an address."""
    command = [sys.executable, "-m", "benchmarks.stranger", *address]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


class KnockedLauncher(LocalLauncher):
    """The local launcher, which calls a function with the spec when the workers start."""

    def __init__(self, started: Callable[[WorkerSpec], object]) -> None:
        super().__init__()
        self._started = started

    def start(self, spec: WorkerSpec) -> LocalWorkers:
        """Start all workers."""
        self._started(spec)
        return super().start(spec)


def train_for(folder: Path, seconds: float) -> Mapping[str, Callable[..., object]]:
    """Return the functions by which a training writes the times of its rounds, and stops after some seconds."""
    begun = list[float]()

    def told(what: Told) -> None:
        if isinstance(what, RoundRecord) and what.rank == 0:
            begun.append(time.monotonic())
            with (folder / _TIMES).open("a") as file:
                file.write(f"{begun[-1]}\n")

    def requested() -> Action:
        return Action.STOP if begun and time.monotonic() - begun[0] > seconds else Action.NONE

    return {"told": told, "requested": requested}


@contextmanager
def new_run() -> Iterator[Path]:
    """Provide the folder of a run with two workers."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "run")
        param = text_format.Parse(_SOLVER, pb.SolverParameter())
        Run(open_settings(param), parse("averaging:tau=2"), 2, threads=1).settled().save(folder)
        yield folder


def measure_local(folder: Path, seconds: float) -> Turns:
    """Train with local workers."""
    ended, turns = threading.Event(), list[Turns]()
    knocking = list[threading.Thread]()

    def started(spec: WorkerSpec) -> None:
        turns.append(Turns(spec.control.place))
        knocking.append(threading.Thread(target=turns[-1].take, args=(ended,)))
        knocking[-1].start()

    try:
        train(folder, KnockedLauncher(started), **train_for(folder, seconds))  # type: ignore[arg-type]
    finally:
        ended.set()
        for thread in knocking:
            thread.join()
    return turns[-1]


def measure_external(folder: Path, seconds: float) -> Turns:
    """Train with two workers of the backend external, whose first one supervises."""
    settings = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": _ADDRESS}
    command = [sys.executable, "-m", "benchmarks.knocking", "--seconds", str(seconds), "--worker", str(folder)]
    workers = [
        subprocess.Popen(command, env={**os.environ, **settings, "RANK": str(rank), "LOCAL_RANK": str(rank)})
        for rank in range(2)
    ]
    while not (folder / _PUBLISHED).exists():
        if any(worker.poll() is not None for worker in workers):
            raise SystemExit("a worker ended; see its error above")
        time.sleep(0.1)
    published = msgspec.json.decode((folder / _PUBLISHED).read_bytes(), type=Published)
    assert published.spec is not None, published.reason
    ended, turns = threading.Event(), Turns(published.spec.control.place)
    knocking = threading.Thread(target=turns.take, args=(ended,))
    knocking.start()
    codes = [worker.wait() for worker in workers]
    ended.set()
    knocking.join()
    if any(codes):
        raise SystemExit("a worker failed; see its error above")
    return turns


def work(folder: Path, seconds: float) -> None:
    """Do the part of one external worker."""

    def supervise(launcher: object) -> End:
        return train(folder, launcher, **train_for(folder, seconds))  # type: ignore[arg-type]

    train_as_worker(rendezvous_of_workers(folder, _ADDRESS), supervise)


def main() -> None:
    """Measure and print both kinds of workers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--worker", type=Path)
    arguments = parser.parse_args()
    if arguments.worker is not None:
        work(arguments.worker, arguments.seconds)
        return
    for name, measure in {"local": measure_local, "external": measure_external}.items():
        with new_run() as folder:
            turns = measure(folder, arguments.seconds)
            times = [float(line) for line in (folder / _TIMES).read_text().splitlines()]
        seconds = turns.seconds_of_rounds(times)
        alone = seconds.pop(During.NOTHING)
        print(f"{name}: {turns.knocks} knocks, {turns.connected} of which the system let through")
        for during, disturbed in seconds.items():
            median = statistics.median(disturbed) / statistics.median(alone)
            mean = statistics.fmean(disturbed) / statistics.fmean(alone)
            print(
                f"  {len(disturbed)} rounds during {during.value} took {median:.3f} times as long as {len(alone)} "
                f"others (medians; means: {mean:.3f})"
            )


if __name__ == "__main__":
    main()

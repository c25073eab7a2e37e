"""Measures the time for which a client of `zoo serve` waits, in a quiet server and while strangers attack it.

The server has its default settings and a tiny net, so the quiet time is short. A thousand connections of eight other
addresses take turns in all attacks that the tests know. Each continues every second, and is opened again if the server
ended it. The client opens a new connection for each prediction. Quiet and attacked rounds alternate.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from urllib.request import Request, urlopen

from tests.zoo.serving.attacks import ATTACKS, has_ended, stranger

ADDRESSES = [f"127.0.0.{number}" for number in range(2, 10)]
PAUSE = 1.0  # seconds between two parts of an attack


def attack(port: int, number: int) -> None:
    """Attack a server with a number of connections until this process is killed. Prints a line when all are open."""
    allow_files(number + 100)
    attacks = list(islice(cycle(ATTACKS.values()), number))
    addresses = list(islice(cycle(ADDRESSES), number))
    connections = [stranger(port, *each) for each in zip(attacks, addresses, strict=True)]
    print("attacking", flush=True)
    while True:
        begin = time.monotonic()
        for index, each in enumerate(attacks):
            if has_ended(connections[index], each):
                connections[index].close()
                connections[index] = stranger(port, each, addresses[index])
            time.sleep(max(0.0, begin + PAUSE * index / number - time.monotonic()))


def allow_files(number: int) -> None:
    """Let this process open a number of files and sockets."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, number), hard))


@contextmanager
def output_of(*words: str) -> Iterator[str]:
    """Run a Python module, and return the first line of its output."""
    with subprocess.Popen([sys.executable, "-m", *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline()
        finally:
            process.kill()


def waits(address: str, image: bytes, number: int) -> list[float]:
    """Return the seconds of a number of predictions."""
    seconds = list[float]()
    for _ in range(number):
        begin = time.perf_counter()
        with urlopen(Request(address + "predict", image, {"Content-Type": "image/jpeg"}), timeout=60) as reply:
            json.load(reply)
        seconds.append(time.perf_counter() - begin)
    return seconds


def summary(seconds: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 99th percentile in milliseconds."""
    return 1000 * statistics.median(seconds), 1000 * statistics.quantiles(seconds, n=100)[98]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=1000, help="number of the attack's connections")
    parser.add_argument("--rounds", type=int, default=4, help="number of quiet and of attacked rounds")
    parser.add_argument("--requests", type=int, default=100, help="number of predictions in a round")
    parser.add_argument("--attack", type=int, metavar="PORT", help="only attack a server")
    said = parser.parse_args()
    if said.attack is not None:
        attack(said.attack, said.connections)
    from tests.zoo.models import classifier, photo  # imports torch, which would delay the attack

    quiet, attacked = list[float](), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        image = photo(Path(folder) / "image.jpg", 1).read_bytes()
        model = classifier(Path(folder) / "model")
        with output_of("zoo", "serve", str(model), "--port", "0") as line:
            address = line.split()[3]
            port = address.rstrip("/").rpartition(":")[2]
            waits(address, image, 20)
            for _ in range(said.rounds):
                quiet += waits(address, image, said.requests)
                words = ("--attack", port, "--connections", str(said.connections))
                with output_of("benchmarks.serving", *words):
                    attacked += waits(address, image, said.requests)
            with urlopen(address + "metrics") as reply:
                refused = [line for line in reply.read().decode().splitlines() if "refusals_total{" in line]
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, {said.connections:,} connections of strangers")
    print(f"{'':10}{'median':>10}{'99%':>10}")
    for name, values in (("quiet", summary(quiet)), ("attacked", summary(attacked))):
        print(f"{name:10}{values[0]:>7.1f} ms{values[1]:>7.1f} ms")
    ratios = [late / early for late, early in zip(summary(attacked), summary(quiet), strict=True)]
    print(f"{'ratio':10}{ratios[0]:>10.2f}{ratios[1]:>10.2f}")
    print("refused: " + ", ".join(line.split('"')[1] + line.split("}")[1] for line in refused if line[-2:] != " 0"))


if __name__ == "__main__":
    main()

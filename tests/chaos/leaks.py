"""Leaks over a long time: memory, descriptors, threads and temporary files of two workers and of a server under load.

`python -m tests.chaos.leaks --seconds 1800` prints what grows after the first third of the time.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex

from netdsl.distributed.transports.transport import Transport
from tests.chaos.killed_commands import write_sources
from tests.chaos.processes import MarkedCommand, kill_all, marked_processes, wait_until
from tests.chaos.settings import ZOO, LauncherName, TrainingSetting

_PAUSE = 1.0  # seconds between two samples
_START = 180.0  # seconds for a command to begin its work
_GROWTH, _MORE = 0.03, 8 << 20  # of memory: as a fraction, and in bytes, in half of the samples
_ENDLESS = 10**8  # iterations


@dataclass(frozen=True)
class ResourceSample:
    """What the processes of a command use together."""

    memory: int  # bytes
    descriptors: int
    threads: int
    temporary_files: int


def sample(mark: str, folder: Path) -> ResourceSample:
    """Return what the processes with a mark use now. Processes that end meanwhile don't count."""
    memory = descriptors = threads = 0
    for process in marked_processes(mark):
        place = Path("/proc", str(process.pid))
        with suppress(OSError):
            status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
            memory += int(status.get("VmRSS", "0 kB").split()[0]) << 10
            threads += int(status["Threads"])
            descriptors += len(list((place / "fd").iterdir()))
    return ResourceSample(memory, descriptors, threads, sum(1 for _ in (folder / "tmp").rglob("*")))


def growths(samples: Sequence[ResourceSample]) -> list[str]:
    """Return what grows from the second third of the samples to the last one."""
    size = len(samples) // 3
    before, after = samples[size : 2 * size], samples[2 * size :]
    found = []
    memory = [sum(each.memory for each in part) / len(part) for part in (before, after)]
    if memory[1] > memory[0] * (1 + _GROWTH) + _MORE:
        found.append(f"memory: {memory[0] / 2**20:.0f} MB, then {memory[1] / 2**20:.0f} MB")
    for name in ("descriptors", "threads", "temporary_files"):
        most, least = max(getattr(each, name) for each in before), min(getattr(each, name) for each in after)
        if least > most:  # all of the last third is above all of the second one
            found.append(f"{name}: at most {most}, then at least {least}")
    return found


def watch(words: Sequence[str], folder: Path, seconds: float, work: Callable[[MarkedCommand], object]) -> list[str]:
    """Run a command that doesn't end by itself, and return what grows. `work` is called between samples."""
    mark = token_hex(8)
    command, samples = MarkedCommand(words, folder, mark, folder / "output.txt"), list[ResourceSample]()
    try:
        begun = wait_until(lambda: work(command) is not False or command.code is not None, _START)
        if not begun or command.code is not None:
            return [f"the command didn't begin: {command.text()}"]
        until = time.monotonic() + seconds
        while time.monotonic() < until and command.code is None:
            pause = time.monotonic() + _PAUSE
            while time.monotonic() < pause:
                work(command)
            samples.append(sample(mark, folder))
        if command.code is not None:
            return [f"the command ended: {command.text()[-500:]}"]
        command.process.send_signal(signal.SIGTERM)
        wait_until(lambda: command.code is not None, _START)
    finally:
        kill_all(mark)
        command.process.wait()
    first, last = samples[len(samples) // 3], samples[-1]
    print(f"{' '.join(words[1:3])}: {len(samples)} samples, after a third {first}, at the end {last}", flush=True)
    return growths(samples)


def watch_training(folder: Path, seconds: float) -> list[str]:
    """Return what grows in a training with two workers."""
    setting = TrainingSetting(LauncherName.LOCAL, "averaging:tau=4", Transport.SHARED_MEMORY)
    replace(setting, iterations=_ENDLESS).write_files(folder)

    def has_rounds(command: MarkedCommand) -> bool:
        time.sleep(0.1)
        return setting.progress(folder) > 0

    return watch(setting.command(folder), folder, seconds, has_rounds)


def watch_server(folder: Path, seconds: float) -> list[str]:
    """Return what grows in a server that answers one request after the other."""
    write_sources(folder)
    image = next((folder / "photos").rglob("*.png")).read_bytes()

    def ask(command: MarkedCommand) -> bool:
        address = re.search(r"http://\S+", command.text())
        if address is None:
            return False
        request = urllib.request.Request(f"{address[0]}predict", image, {"Content-Type": "image/png"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return bool(answer.read())

    return watch([str(ZOO), "serve", "source", "--port", "0"], folder, seconds, ask)


def main() -> int:
    """Watch both, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.leaks", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0, help="how long, for each of both")
    seconds = parser.parse_args().seconds
    folder = Path(tempfile.mkdtemp(prefix="netdsl-leaks-"))
    problems = watch_training(folder / "training", seconds) + watch_server(folder / "server", seconds)
    print("\n".join(problems) or "nothing grows")
    shutil.rmtree(folder)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

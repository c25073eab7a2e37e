"""Read damaged files in separate processes, with limits on memory and time, and record each outcome."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from random import Random

from caffe_proto.errors import CaffeError
from tests.fuzz.damages import damaged
from tests.fuzz.readers import READERS, FuzzedReader

_SECONDS = 20  # of processor time, so that a busy machine doesn't count
_WAITING = 300  # seconds until a waiting process counts as hung
_MEMORY = 1 << 30  # bytes that a file may take
_ROOM = 3 << 30  # bytes of address space beyond that: reserving without using costs nothing
_LONGEST_MESSAGE = 2000


class ReadingOutcome(Enum):
    """The outcome of reading a file."""

    READ = "read"
    REFUSED = "refused"
    TRACEBACK = "traceback"
    CRASH = "crash"
    SLOW = "too slow"
    MEMORY = "too much memory"


_GOOD = (ReadingOutcome.READ, ReadingOutcome.REFUSED)


@dataclass
class Counts:
    """The number of times that each outcome occurred, and where the files of bad outcomes are."""

    outcomes: Counter[ReadingOutcome] = field(default_factory=Counter)
    kept: list[Path] = field(default_factory=list)


class Fuzzing:
    """Valid files of all readers, and cases that read damaged copies. A reader and a seed define a case, which can be
    repeated."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        self._folder, self.counts = folder, {name: Counts() for name in names}
        with_memory = Path("/dev/shm")
        self._work = Path(tempfile.mkdtemp(prefix="fuzz-", dir=with_memory if with_memory.is_dir() else None))
        for name in READERS:  # for all readers, since pieces of other formats get into files
            _in_a_child(partial(_make, READERS[name], self._work / "good" / name), self._work / "made")
            if not any((self._work / "good" / name).iterdir()):
                raise AssertionError(f"{name}: no good files could be made:\n{(self._work / 'made').read_text()}")
        self._others = [path.read_bytes() for path in sorted((self._work / "good").rglob("*")) if path.is_file()]

    def close(self) -> None:
        """Remove all files except those that are kept."""
        shutil.rmtree(self._work, ignore_errors=True)

    def run(self, name: str, seed: int) -> ReadingOutcome:
        """Run one case."""
        reader, random = READERS[name], Random(f"{name} {seed}")
        samples = sorted((self._work / "good" / name).iterdir())
        case = self._work / "case"
        shutil.rmtree(case, ignore_errors=True)
        shutil.copytree(random.choice(samples), case)
        file = random.choice([path for path in sorted(case.rglob("*")) if path.is_file() and reader.damages(path)])
        file.write_bytes(damaged(random, file.read_bytes(), random.choice(self._others)))
        return self._outcome(name, seed, file)

    def run_good(self, name: str) -> list[str]:
        """Return what is wrong with the valid files of a reader, or nothing if it reads them."""
        samples, report = self._work / "good" / name, self._work / "report"
        outcome = _in_a_child(partial(_read_all, READERS[name], samples), report)
        return [] if outcome is ReadingOutcome.READ else [f"{name}: {outcome.value}: {report.read_text()}"]

    def _outcome(self, name: str, seed: int, file: Path) -> ReadingOutcome:
        report, counts = self._work / "report", self.counts[name]
        outcome = _in_a_child(partial(READERS[name].read, self._work / "case"), report)
        counts.outcomes[outcome] += 1
        if outcome not in _GOOD:
            kept = self._folder / f"{name}-{seed}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self._work / "case", kept)
            (kept / "OUTCOME.txt").write_text(f"{outcome.value}; damaged: {file.name}\n{report.read_text()}")
            counts.kept.append(kept)
        return outcome


def _make(reader: FuzzedReader, folder: Path) -> None:
    folder.mkdir(parents=True)
    reader.make(folder)


def _read_all(reader: FuzzedReader, folder: Path) -> None:
    for sample in sorted(folder.iterdir()):
        try:
            reader.read(sample)
        except CaffeError as problem:
            raise AssertionError(f"{sample.name}: {problem}") from None


def _in_a_child(call: Callable[[], None], report: Path) -> ReadingOutcome:
    """Return the outcome of a call in a forked process, where everything is already imported."""
    report.unlink(missing_ok=True)
    before = _resident()
    child = os.fork()
    if not child:
        _run_child(call, report)
    _, status, usage = os.wait4(child, 0)
    report.touch()
    if os.WIFSIGNALED(status):
        return ReadingOutcome.SLOW if os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM) else ReadingOutcome.CRASH
    if usage.ru_maxrss * 1024 - before > _MEMORY:
        return ReadingOutcome.MEMORY
    return list(ReadingOutcome)[os.WEXITSTATUS(status)]


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def _run_child(call: Callable[[], None], report: Path) -> None:
    """Make the call within the limits, and exit with the outcome's number."""
    outcome = ReadingOutcome.TRACEBACK
    try:
        output = os.open(report, os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
        resource.setrlimit(resource.RLIMIT_AS, (size + _MEMORY + _ROOM,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        signal.alarm(_WAITING)
        warnings.simplefilter("ignore")
        try:
            call()
            outcome = ReadingOutcome.READ
        except CaffeError as problem:
            text = str(problem)
            assert "\n" not in text and len(text) < _LONGEST_MESSAGE, f"not one line: {text}"
            os.write(output, text.encode("utf-8", "replace"))
            outcome = ReadingOutcome.REFUSED
    except BaseException:
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    os._exit(list(ReadingOutcome).index(outcome))


def cases(names: list[str], first: int) -> Iterator[tuple[str, int]]:
    """Yield cases forever, each reader in turn."""
    while True:
        yield from ((name, first) for name in names)
        first += 1


def table(all_counts: Mapping[str, Counts]) -> str:
    """Return the counts by reader as a table."""
    lines = [f"{'':<16}" + "".join(f"{outcome.value:>17}" for outcome in ReadingOutcome)]
    lines += [
        f"{name:<16}" + "".join(f"{counts.outcomes[outcome]:>17,}" for outcome in ReadingOutcome)
        for name, counts in all_counts.items()
    ]
    return "\n".join(lines)

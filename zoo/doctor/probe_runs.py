"""Probes in processes of their own, so that a package that is broken, hangs or crashes ends nothing but its probe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

LIMIT = 60.0  # seconds for the probes of a process: libraries are slow to load from a network's disks

Request = tuple[str, ...]  # the name of a probe, and its arguments


@dataclass(frozen=True)
class Outcome:
    """What came of a probe: its result, as plain values of JSON, or the problem that it met."""

    result: Any = None
    problem: str = ""


def run_probes(requests: Sequence[Request], limit: float = LIMIT) -> Iterator[tuple[Request, Outcome]]:
    """What comes of each probe. They run one after the other in one process, and after one that ends it in another."""
    rest = list(requests)
    while rest:
        outcomes = _run(rest, limit)
        yield from zip(rest, outcomes, strict=False)
        rest = rest[len(outcomes) :]


def _run(requests: Sequence[Request], limit: float) -> list[Outcome]:
    """The outcomes of the first probes, of which the last one may have ended the process."""
    command = [sys.executable, "-P", "-m", "zoo.doctor.probes", json.dumps(requests)]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        ending = _ending(command, output, errors, limit)
        outcomes = [Outcome(**json.loads(line)) for line in _lines(output) if line.endswith("}")]
        if len(outcomes) < len(requests):
            last_words = _lines(errors)[-1:]
            outcomes.append(Outcome(problem=": ".join([ending, *last_words])))
    return outcomes


def _ending(command: Sequence[str], output: IO[bytes], errors: IO[bytes], limit: float) -> str:
    """How a process ends, which is killed with all that it started if it takes too long."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True)
    try:
        code = process.wait(limit)
    except subprocess.TimeoutExpired:
        return f"it takes more than {limit:g} s"
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return f"it crashes with {signal.Signals(-code).name}" if code < 0 else f"it ends with code {code}"


def _lines(file: IO[bytes]) -> list[str]:
    file.seek(0)
    return [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]

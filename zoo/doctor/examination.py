"""All checks of an installation. Several run at the same time, and none can stop the others.

Probes run in separate processes, so that a broken package can only end its own probe.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import IO

from netdsl.errors import first_line
from netdsl.plugins import Plugin, plugin_places, plugins
from zoo.doctor.engines import ENGINES
from zoo.doctor.machine import check_machine
from zoo.doctor.packages import (
    EXTRAS,
    Requirement,
    core_result,
    extra_result,
    foreign_results,
    netdsl_result,
    package_state,
    plugin_result,
    requirements,
    version_of,
)
from zoo.doctor.results import CheckResult, Diagnosis, Outcome, Verdict, diagnosis_of
from zoo.requests.events import Listen, work
from zoo.requests.machine import DoctorRequest
from zoo.requests.request import answers

_PROBES_LIMIT = 60.0  # time limit in seconds for a process of probes, since libraries load slowly from network disks

Request = tuple[str, ...]  # the name of a probe and its arguments

_GROUPS = ("core", "devices", "engines", "machine", "extras", "plug-ins")  # in the order of the output
# Probes that load torch. They run in one process.
_LOAD_TORCH = (
    ("torch",),
    ("training",),
    ("opset",),
    ("imports", "tensorboardX"),
)


def run_probes(requests: Sequence[Request], limit: float = _PROBES_LIMIT) -> Iterator[tuple[Request, Outcome]]:
    """Yield the outcome of each probe. They run in order in one process. If a probe ends the process, a new process
    runs the rest."""
    rest = list(requests)
    while rest:
        outcomes = _first_outcomes(rest, limit)
        yield from zip(rest, outcomes, strict=False)
        rest = rest[len(outcomes) :]


def _first_outcomes(requests: Sequence[Request], limit: float) -> list[Outcome]:
    """Return the outcomes of the first probes. The last of them may have ended the process."""
    command = [sys.executable, "-P", "-m", "zoo.doctor.probes", json.dumps(requests)]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        ending = _how_process_ends(command, output, errors, limit)
        outcomes = [Outcome(**json.loads(line)) for line in _written_lines(output) if line.endswith("}")]
        if len(outcomes) < len(requests):
            last_words = _written_lines(errors)[-1:]
            outcomes.append(Outcome(problem=": ".join([ending, *last_words])))
    return outcomes


def _how_process_ends(command: Sequence[str], output: IO[bytes], errors: IO[bytes], limit: float) -> str:
    """Return how a process ends. If it takes too long, it is killed together with its child processes."""
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


def _written_lines(file: IO[bytes]) -> list[str]:
    file.seek(0)
    return [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]


@dataclass(frozen=True)
class Examination:
    """An examination of the packages that netdsl and its extras need, and of plug-ins."""

    needed: Sequence[Requirement] = field(default_factory=lambda: tuple(requirements()))
    plugins: Mapping[Request, Plugin] = field(default_factory=lambda: _plugin_requests())

    @property
    def requests(self) -> list[Request]:
        """The probes of everything that is installed. torch has a special probe, which doesn't just import it."""
        here = {each.package: each for each in self.needed if each.extra in ("", *EXTRAS) and version_of(each)}
        modules = [each.module for package, each in here.items() if package != "torch"]
        engines = [name for name, (_, packages) in ENGINES.items() if here.keys() >= set(packages)]
        imports = [("imports", module) for module in modules if module is not None]
        return [*((name,) for name in engines), *imports, *self.plugins]

    def run(self, done: Callable[[], object] = lambda: None) -> list[CheckResult]:
        """Return the results about every part. `done` is called after each probe."""
        outcomes = _all_outcomes(self.requests, done)
        results = [
            netdsl_result(),
            *_results_of("names", foreign_results),
            *self._package_results(outcomes),
            *_results_of("machine", check_machine),
        ]
        for name, (meaning, _) in ENGINES.items():
            if (name,) in outcomes:
                results += _results_of(name, partial(meaning, outcomes[name,]))
        results += [plugin_result(plugin, outcomes[request]) for request, plugin in self.plugins.items()]
        return sorted(results, key=lambda result: _GROUPS.index(result.group))

    def _package_results(self, outcomes: Mapping[Request, Outcome]) -> list[CheckResult]:
        states = [package_state(each, outcomes.get(("imports", each.module or ""))) for each in self.needed]
        extras = {extra: [state for state in states if state.requirement.extra == extra] for extra in EXTRAS}
        core = [core_result(state) for state in states if not state.requirement.extra]
        return core + [extra_result(extra, packages) for extra, packages in extras.items() if packages]


def _plugin_requests() -> dict[Request, Plugin]:
    """Return the plug-ins by the probes that import them, with folders for plug-ins that aren't installed."""
    places = plugin_places()
    return {("plugin", plugin.module, plugin.package, places.get(plugin.module, "")): plugin for plugin in plugins()}


def _all_outcomes(requests: Sequence[Request], done: Callable[[], object]) -> dict[Request, Outcome]:
    """Return the outcomes of all probes. One for each core runs at the same time."""
    outcomes: dict[Request, Outcome] = {}

    def run(batch: Sequence[Request]) -> None:
        for request, outcome in run_probes(batch):
            outcomes[request] = outcome
            done()

    heavy = [request for request in requests if request in _LOAD_TORCH]
    with ThreadPoolExecutor(max(2, os.cpu_count() or 1)) as threads:
        for _ in threads.map(run, [heavy, *([request] for request in requests if request not in heavy)]):
            pass
    return outcomes


def _results_of(part: str, check: Callable[[], Iterable[CheckResult]]) -> list[CheckResult]:
    """Return the results of a check, or a result about its failure."""
    try:
        return list(check())
    except Exception as problem:  # a machine can be broken in unforeseen ways
        return [CheckResult("machine", part, Verdict.WRONG, f"the check failed: {first_line(problem)}")]


@answers(DoctorRequest)
def examine(request: DoctorRequest, listen: Listen) -> Diagnosis | None:
    """Examine this installation, or the machines of a cluster. Returns `None` in a worker that another process
    supervises."""
    if request.cluster:
        from zoo.doctor.cluster import examine_cluster  # needs torch

        return examine_cluster(request)
    examination = Examination()
    with work(listen, "examining", len(examination.requests)) as advance:
        return diagnosis_of(examination.run(advance))

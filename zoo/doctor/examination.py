"""All checks of an installation, several at once, none of which can stop the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from netdsl.errors import first_line
from netdsl.plugins import Plugin, plugin_places, plugins
from zoo.doctor.engines import ENGINES
from zoo.doctor.machine import check_machine
from zoo.doctor.packages import (
    EXTRAS,
    Requirement,
    core_result,
    extra_result,
    netdsl_result,
    package_state,
    requirements,
    version_of,
)
from zoo.doctor.plugins import plugin_request, plugin_result
from zoo.doctor.probe_runs import Outcome, Request, run_probes
from zoo.doctor.results import CheckResult, Verdict

_GROUPS = ("core", "devices", "engines", "machine", "extras", "plug-ins")  # in the order in which they are shown
# The probes that load torch, which are run in one process.
_LOAD_TORCH = (
    ("torch",),
    ("training",),
    ("opset",),
    ("imports", "tensorboardX"),
)


@dataclass(frozen=True)
class Examination:
    """What is to be examined: the packages that netdsl and its extras need, and plug-ins."""

    needed: Sequence[Requirement] = field(default_factory=lambda: tuple(requirements()))
    plugins: Mapping[Request, Plugin] = field(default_factory=lambda: _plugins())

    @property
    def requests(self) -> list[Request]:
        """The probes of everything that is installed. torch has one of its own, which does more than import it."""
        here = {each.package: each for each in self.needed if each.extra in ("", *EXTRAS) and version_of(each)}
        modules = [each.module for package, each in here.items() if package != "torch"]
        engines = [name for name, (_, packages) in ENGINES.items() if here.keys() >= set(packages)]
        imports = [("imports", module) for module in modules if module is not None]
        return [*((name,) for name in engines), *imports, *self.plugins]

    def run(self, done: Callable[[], object] = lambda: None) -> list[CheckResult]:
        """What there is to say about every part; `done` is called after each probe."""
        outcomes = _outcomes(self.requests, done)
        results = [netdsl_result(), *self._package_results(outcomes), *_guarded("machine", check_machine)]
        for name, (meaning, _) in ENGINES.items():
            if (name,) in outcomes:
                results += _guarded(name, partial(meaning, outcomes[name,]))
        results += [plugin_result(plugin, outcomes[request]) for request, plugin in self.plugins.items()]
        return sorted(results, key=lambda result: _GROUPS.index(result.group))

    def _package_results(self, outcomes: Mapping[Request, Outcome]) -> list[CheckResult]:
        states = [package_state(each, outcomes.get(("imports", each.module or ""))) for each in self.needed]
        extras = {extra: [state for state in states if state.requirement.extra == extra] for extra in EXTRAS}
        core = [core_result(state) for state in states if not state.requirement.extra]
        return core + [extra_result(extra, packages) for extra, packages in extras.items() if packages]


def _plugins() -> dict[Request, Plugin]:
    """All plug-ins by the probes that import them."""
    places = plugin_places()
    return {plugin_request(plugin, places.get(plugin.module, "")): plugin for plugin in plugins()}


def _outcomes(requests: Sequence[Request], done: Callable[[], object]) -> dict[Request, Outcome]:
    """What comes of all probes, as many at once as there are cores."""
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


def _guarded(part: str, check: Callable[[], Iterable[CheckResult]]) -> list[CheckResult]:
    """The results of a check; that it failed, if it did."""
    try:
        return list(check())
    except Exception as problem:  # a machine can be wrong in ways that nobody thought of
        return [CheckResult("machine", part, Verdict.WRONG, f"can't be checked: {first_line(problem)}")]

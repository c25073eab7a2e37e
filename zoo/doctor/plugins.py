"""Plug-ins: those of installed packages and those that the user allows, and whether they can be imported."""

from __future__ import annotations

from netdsl.plugins import Plugin
from zoo.doctor.probe_runs import Outcome, Request
from zoo.doctor.results import CheckResult, Verdict


def plugin_request(plugin: Plugin, folder: str) -> Request:
    """The probe of a plug-in, which is perhaps found in a folder only."""
    return ("plugin", plugin.module, plugin.package, folder)


def plugin_result(plugin: Plugin, outcome: Outcome) -> CheckResult:
    """What there is to say about a plug-in: who has it, and what it registers."""
    origin = plugin.package or "allowed by name"
    if outcome.problem:
        reason = outcome.problem.removeprefix(f"{plugin}: ")
        return CheckResult("plug-ins", plugin.module, Verdict.WRONG, f"{origin}; {reason}")
    what = ", ".join(outcome.result) or "nothing by a decorator"
    return CheckResult("plug-ins", plugin.module, Verdict.GOOD, f"{origin}; registers {what}")

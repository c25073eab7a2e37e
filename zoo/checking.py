"""Checks of nets for `zoo check`: whether they work, and whether they complete a training step on made-up data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import torch

from netdsl.checking.data_trial import DataTrial, TrialSettings
from netdsl.checking.lint import CheckSettings, Finding, check_net
from netdsl.checking.solver_chain import ChainLink, check_chain, is_solver
from netdsl.checking.trial_process import TrialLimits, try_all
from netdsl.net.memory import memory_of
from zoo.requests.events import Listen, work
from zoo.requests.files import CheckRequest
from zoo.requests.request import answers

_NET_ENDINGS = (".prototxt", ".pt")  # suffixes of files in a folder that may be nets
_SOLVER_WORD = "solver"  # a word in the names of files that aren't nets
_SHARE_OF_MEMORY = 0.8  # the share of the machine's memory that a net may use


@answers(CheckRequest)
def check(request: CheckRequest, listen: Listen) -> Iterator[Finding | ChainLink | DataTrial]:
    """Yield the findings about each net, and the verdicts on all parts that each solver needs, in order."""
    if request.data:
        yield from _trials(request, listen)
        return
    settings = CheckSettings(request.assume, request.stages, request.stub_unknown, dialect=request.dialect)
    findings = []
    with work(listen, "checking", len(request.files)) as advance:
        for file in request.files:
            finding = check_net(file, settings, run=request.run)
            if finding.reason and is_solver(file):  # a net without problems is read only once
                yield from check_chain(file, request.dialect)
            else:
                findings.append(finding)
                yield finding
            advance()
    if all(finding.resolved for finding in findings):
        request.warn_of_unused({name for finding in findings for name in finding.data}, listen)


def _trials(request: CheckRequest, listen: Listen) -> Iterator[DataTrial]:
    """Yield the outcome of each net's trial training."""
    nets = [net for file in request.files for net in _nets_at(Path(file))]
    memory = int(_SHARE_OF_MEMORY * (memory_of(torch.device("cpu")) or 0))
    settings = TrialSettings(request.batch, request.forward_only, request.stages, request.dialect)
    with work(listen, "trying", len(nets)) as advance:
        for trial in try_all(nets, settings, TrialLimits(request.seconds, memory)):
            advance()
            yield trial


def _nets_at(path: Path) -> Iterable[Path]:
    """Return the net at a path or with that name, or all files in a folder and below that may be nets."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*") if file.suffix in _NET_ENDINGS and file.is_file())
    return sorted(file for file in files if _SOLVER_WORD not in file.stem)

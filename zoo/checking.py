"""Checks of nets for `zoo check`: whether they work, and whether they complete a training step on made-up data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from caffe_proto.errors import CaffeError
from converters.running import with_made_up_weights
from converters.targets.proving import try_in_target
from converters.targets.session import TOLERANCE, needed_environment
from converters.targets.target import target_of
from netdsl.checking.apart import CheckingProcess, FileVerdict, check_file
from netdsl.checking.data_trial import DataTrial, TrialSettings
from netdsl.checking.lint import CheckSettings, Finding
from netdsl.checking.solver_chain import ChainLink
from netdsl.model.deploy.deploy_net import deploy_model
from netdsl.model.opening import open_model
from zoo.requests.events import Listen, work
from zoo.requests.files import CheckRequest
from zoo.requests.request import answers

_NET_ENDINGS = (".prototxt", ".pt")  # suffixes of files in a folder that may be nets
_SOLVER_WORD = "solver"  # a word in the names of files that aren't nets


@dataclass(frozen=True)
class TargetTrial:
    """Whether a target takes a net and computes the same outputs with made-up weights. `difference` is the largest one,
    relative to the output's spread. It is `None` for a target that doesn't run here, and for a net that the target
    doesn't take for a `reason`."""

    file: str
    target: str
    difference: float | None
    reason: str = ""

    @property
    def good(self) -> bool:
        """Whether the target takes the net."""
        return not self.reason


@answers(CheckRequest)
def check(request: CheckRequest, listen: Listen) -> Iterator[Finding | ChainLink | DataTrial | TargetTrial]:
    """Yield the findings about each net, and the verdicts on all parts that each solver needs, in order."""
    if request.runtime is not None and target_of(request.runtime).program is not None:
        needed_environment(target_of(request.runtime))
    if request.data:
        yield from _trials(request, listen)
        return
    findings = []
    with work(listen, "checking", len(request.files)) as advance:
        for verdict in _verdicts(request):
            if verdict.finding is None:
                yield from verdict.links
            else:
                findings.append(verdict.finding)
                yield verdict.finding
                if request.runtime is not None and verdict.finding.good:
                    yield _target_trial(verdict.finding.file, request.runtime, request, listen)
            advance()
    if all(finding.resolved for finding in findings):
        request.warn_of_unused({name for finding in findings for name in finding.data}, listen)


def _verdicts(request: CheckRequest) -> Iterator[FileVerdict]:
    """Yield the verdict on each file. Several files are opened in a separate process, so that each fails alone."""
    settings = CheckSettings(request.assume, request.stages, request.stub_unknown, dialect=request.dialect)
    if len(request.files) == 1:
        yield check_file(os.fsencode(request.files[0]), settings, request.run)
        return
    with CheckingProcess(request.seconds) as process:
        for file in request.files:
            yield process.check(file, settings, run=request.run)


def _target_trial(file: str, runtime: str, request: CheckRequest, listen: Listen) -> TargetTrial:
    try:
        opened = open_model(file, deployed=True, dialect=request.dialect, shapes=request.assume, stages=request.stages)
        model = with_made_up_weights(deploy_model(opened))
        found = try_in_target(model, target_of(runtime), TOLERANCE, partial(work, listen))
    except CaffeError as problem:
        return TargetTrial(file, runtime, None, str(problem))
    return TargetTrial(file, runtime, max((part.difference for part in found), default=None))


def _trials(request: CheckRequest, listen: Listen) -> Iterator[DataTrial]:
    """Yield the outcome of each net's trial training."""
    nets = [net for file in request.files for net in _nets_at(Path(file))]
    settings = TrialSettings(request.batch, request.forward_only, request.stages, request.dialect)
    with work(listen, "trying", len(nets)) as advance, CheckingProcess(request.seconds) as process:
        for net in nets:
            yield process.try_training(net, settings)
            advance()


def _nets_at(path: Path) -> Iterable[Path]:
    """Return the net at a path or with that name, or all files in a folder and below that may be nets."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*") if file.suffix in _NET_ENDINGS and file.is_file())
    return sorted(file for file in files if _SOLVER_WORD not in file.stem)

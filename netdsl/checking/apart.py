"""Checks and trials of nets as calls for a separate process, `netdsl.apart`."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from caffe_proto.errors import CaffeError
from netdsl.apart import SeparateProcess
from netdsl.checking.data_trial import DataTrial, TrialSettings, try_data
from netdsl.checking.lint import CheckSettings, Finding, check_net
from netdsl.checking.solver_chain import ChainLink, check_chain, is_solver


@dataclass(frozen=True)
class FileVerdict:
    """The finding about a net, or the verdicts on all parts of a solver's chain."""

    finding: Finding | None = None
    links: list[ChainLink] = field(default_factory=list)


def check_file(file: bytes, settings: CheckSettings, run: bool) -> FileVerdict:
    """Check a net, or a solver with everything that it names."""
    path = os.fsdecode(file)
    finding = check_net(path, settings, run=run)
    if finding.reason and is_solver(path):  # a net without problems is read only once
        return FileVerdict(links=list(check_chain(path, settings.dialect)))
    return FileVerdict(finding)


def try_file(file: bytes, settings: TrialSettings) -> DataTrial:
    """Try a net's training."""
    return try_data(os.fsdecode(file), settings)


class CheckingProcess(SeparateProcess):
    """A separate process that checks files. A file that exceeds the limits, or ends the process, fails alone."""

    def __init__(self, seconds: float) -> None:
        super().__init__(__name__, seconds, "--seconds")

    def check(self, file: str, settings: CheckSettings, *, run: bool) -> FileVerdict:
        """Return the verdict on a file."""
        try:
            return self.call(file, check_file, os.fsencode(file), settings, run)
        except CaffeError as problem:
            return FileVerdict(Finding(file, reason=str(problem)))

    def try_training(self, file: str | Path, settings: TrialSettings) -> DataTrial:
        """Return the result of a trial."""
        try:
            return self.call(file, try_file, os.fsencode(file), settings)
        except CaffeError as problem:
            return DataTrial(str(file), reason=str(problem))

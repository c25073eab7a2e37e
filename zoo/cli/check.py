"""Output of `zoo check`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netdsl.checking.data_trial import DataTrial
from netdsl.checking.lint import Finding, code_needed
from netdsl.checking.solver_chain import ChainLink
from zoo.checking import TargetTrial
from zoo.cli.output import counted, print_line
from zoo.requests.files import CheckRequest

_MOST_SKIPPED = (
    5  # maximum number of unknown fields to print for a file, since a fork's net can have one in every layer
)


def show_found(found: Finding | ChainLink | DataTrial | TargetTrial, request: CheckRequest) -> None:
    """Print the findings about a net, or the verdict on a part that a solver needs."""
    match found:
        case Finding():
            lines = list(_finding_lines(found))
        case ChainLink():
            lines = [found.reason or f"{found.part} {found.name}: {found.note}"]
        case DataTrial():
            lines = [_trial_line(found)]
        case TargetTrial():
            lines = [_target_line(found)]
    for line in lines:
        print_line(line)


def show_summary(found: Sequence[Finding | ChainLink | DataTrial | TargetTrial], request: CheckRequest) -> None:
    """Print a summary of all trials."""
    if request.data:
        print_line(_trials_summary([trial for trial in found if isinstance(trial, DataTrial)]))


def _finding_lines(finding: Finding) -> Iterator[str]:
    """Yield likely typos, then ambiguous settings, the result, and Caffe's differences."""
    yield from finding.skipped[:_MOST_SKIPPED]
    if len(finding.skipped) > _MOST_SKIPPED:
        yield f"{finding.file}: {len(finding.skipped) - _MOST_SKIPPED} more fields are unknown (skipped)"
    yield from finding.doubts
    yield _finding_result(finding)
    yield from finding.caffe_notes


def _finding_result(finding: Finding) -> str:
    if finding.needs_code:
        return f"{finding.file}: {code_needed(finding.needs_code)}"
    if finding.reason:
        return finding.reason
    phases = " and ".join(finding.phases)
    parts = [f"layers and shapes fit for {phases}" if finding.unread else f"good for {phases}"]
    if finding.skipped:
        parts = [f"good for {phases} without the unknown fields, which `zoo upgrade --lenient` removes"]
    parts += ["runs"] if finding.ran else []
    parts += [f"with {sentence}" for sentence in finding.assumptions()]
    parts += [f"with a batch that is a multiple of {finding.batch}"] if finding.batch else []
    parts += [f"with stubs for {', '.join(finding.stubbed)}"] if finding.stubbed else []
    parts += [f"but data can't be read: {'; '.join(finding.unread)}"] if finding.unread else []
    return f"{finding.file}: {', '.join(parts)}"


def _target_line(trial: TargetTrial) -> str:
    if trial.reason:
        return f"{trial.file}: not for {trial.target}: {trial.reason}"
    if trial.difference is None:
        return f"{trial.file}: keeps the rules of {trial.target}, which doesn't run here"
    made_up = f"with made-up weights, outputs differ by {trial.difference:.1e} of their spread"
    return f"{trial.file}: runs in {trial.target}; {made_up}"


def _trial_line(trial: DataTrial) -> str:
    """Return the outcome for one net: whether it reads its data, its loss, and the reason if it fails."""
    if trial.trains is False:
        return f"{trial.file}: the net has no loss in TRAIN"
    if trial.loss is None:
        return f"reads its data: {trial.reason}" if trial.reads else trial.reason
    gradients = " and gradients" if trial.backward else ""
    if trial.reason:
        return f"reads its data: {trial.reason}"
    return f"{trial.file}: reads its data and computes a loss of {trial.loss:.4g}{gradients} in {trial.seconds:.1f} s"


def _trials_summary(trials: Sequence[DataTrial]) -> str:
    training = [trial for trial in trials if trial.trains]
    reading, good = sum(trial.reads for trial in training), sum(not trial.reason for trial in training)
    unknown = sum(trial.trains is None for trial in trials)
    more = f"; {unknown} files can't be read" if unknown else ""
    return f"{counted(len(training), 'net')} with a loss: {reading} read their data, {good} compute the loss{more}"

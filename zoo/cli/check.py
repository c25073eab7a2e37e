"""`zoo check`: check whether nets would work, and try their training on made-up data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from zoo.cli import options, shapes
from zoo.cli.output import ExitCode, print_json, progress_bar
from zoo.cli.shapes import Shape

if TYPE_CHECKING:
    from netdsl.checking.data_trial import DataTrial
    from netdsl.checking.lint import Finding

_NET_ENDINGS = (".prototxt", ".pt")  # endings of files in a folder that may be nets
_SOLVER_WORD = "solver"  # a word in the names of files that are none
_SHARE_OF_MEMORY = 0.8  # of the machine's memory, which a net may take
_MOST_SKIPPED = 5  # unknown fields of one file: a net of a fork can have one in every layer


@click.command("check", short_help="Check whether nets would work.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--run", is_flag=True, help="Also run each net once, forward, on small random input.")
@click.option("--data", is_flag=True, help="Instead try each net's training on data that are made up for it.")
@click.option("--forward-only", is_flag=True, help="With --data: compute no gradients.")
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="With --data: the most items in a batch, if the net takes that many.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    metavar="S",
    help="With --data: how long one net may take.",
)
@shapes.assume
@shapes.stages
@shapes.stub_unknown
@options.allow_python
@options.net_dialect
@options.as_json
def command(
    files: tuple[str, ...],
    run: bool,
    data: bool,
    forward_only: bool,
    batch: int,
    seconds: float,
    assume: Mapping[str, Shape],
    stages: tuple[str, ...],
    stub_unknown: bool,
    as_json: bool,
) -> None:
    """Check that each net can be parsed, has only known layer types, is connected in the phases that it is for, and has
    shapes that fit. The exit code is 1 if one doesn't.

    Where a net doesn't say the shape of its data, typical shapes are tried, and the one that fits is printed; so are
    batches, for nets that take only multiples of some number. What means something else in some forks of Caffe is told.
    Of the data only the first item is read: a net whose data aren't here isn't called good, but the exit code stays the
    same. What works here but Caffe refuses, or computes otherwise, is said, and doesn't change the exit code either.

    With --data, the data layers of each net's TRAIN phase make up the files that they read, in a temporary folder:
    databases, lists of images, whole data sets. A batch of them is read as in training, and its loss is computed with
    the gradients. A folder then stands for all nets below it. The exit code is 1 if a net with a loss doesn't come that
    far.
    """
    if data:
        _try_data(files, stages, batch, seconds, forward_only=forward_only, as_json=as_json)
        return
    findings = []
    with progress_bar(len(files), "checking") as advance:
        from netdsl.checking.lint import CheckSettings, check_net

        settings = CheckSettings(assume, stages, stub_unknown)
        for file in files:
            findings.append(check_net(file, settings, run=run))
            advance()
            if not as_json:
                for line in _finding_lines(findings[-1]):
                    click.echo(line)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    if all(finding.resolved for finding in findings):
        shapes.complain_of_unused(assume, {name for finding in findings for name in finding.assumed})
    if not all(finding.resolved and finding.ran is not False and not finding.skipped for finding in findings):
        raise click.exceptions.Exit(ExitCode.NO)


def _finding_lines(finding: Finding) -> Iterator[str]:
    """What may be a typo, what may mean something else, the result, and then what Caffe says otherwise."""
    yield from finding.skipped[:_MOST_SKIPPED]
    if len(finding.skipped) > _MOST_SKIPPED:
        yield f"{finding.file}: {len(finding.skipped) - _MOST_SKIPPED} more fields are unknown (skipped)"
    yield from finding.doubts
    yield _finding_result(finding)
    yield from finding.caffe_notes


def _finding_result(finding: Finding) -> str:
    if finding.needs_code:
        modules = ",".join(sorted({name.rpartition(".")[0] for name in finding.needs_code}))
        code = f"needs the Python code of {', '.join(finding.needs_code)}"
        return f"{finding.file}: {code}; if you trust it, give --allow-python {modules}"
    if finding.reason:
        return finding.reason
    phases = " and ".join(finding.phases)
    parts = [f"layers and shapes fit for {phases}" if finding.unread else f"good for {phases}"]
    if finding.skipped:
        parts = [f"good for {phases} without what is unknown, which `zoo upgrade --lenient` leaves out"]
    parts += ["runs"] if finding.ran else []
    parts += [f"with {name} taken as {'x'.join(map(str, shape))}" for name, shape in finding.assumed.items()]
    parts += [f"with a batch that is a multiple of {finding.batch}"] if finding.batch else []
    parts += [f"with stubs for {', '.join(finding.stubbed)}"] if finding.stubbed else []
    parts += [f"but data can't be read: {'; '.join(finding.unread)}"] if finding.unread else []
    return f"{finding.file}: {', '.join(parts)}"


def _try_data(
    files: Sequence[str], stages: Sequence[str], batch: int, seconds: float, *, forward_only: bool, as_json: bool
) -> None:
    """Try nets one after the other, and show what came of each."""
    nets = [net for file in files for net in _nets_at(Path(file))]
    trials: list[DataTrial] = []
    with progress_bar(len(nets), "trying") as advance:
        import torch

        from netdsl.checking.data_trial import TrialSettings
        from netdsl.checking.trial_process import TrialLimits, try_all
        from netdsl.net.memory import memory_of

        memory = int(_SHARE_OF_MEMORY * (memory_of(torch.device("cpu")) or 0))
        settings = TrialSettings(batch, forward_only, stages)
        for trial in try_all(nets, settings, TrialLimits(seconds, memory)):
            trials.append(trial)
            advance()
            if not as_json:
                click.echo(_trial_line(trial))
    if as_json:
        print_json([asdict(trial) for trial in trials])
    else:
        click.echo(_trials_summary(trials))
    if any(trial.reason for trial in trials):
        raise click.exceptions.Exit(ExitCode.NO)


def _nets_at(path: Path) -> Iterable[Path]:
    """The net that a path names, or all files below a folder that may be nets."""
    from netdsl.formats import model_files

    if not path.is_dir():
        return [model_files(path).net]
    files = (file for file in path.rglob("*") if file.suffix in _NET_ENDINGS and file.is_file())
    return sorted(file for file in files if _SOLVER_WORD not in file.stem)


def _trial_line(trial: DataTrial) -> str:
    """What came of one net: whether it reads its data, what it computes, and why no more."""
    if trial.trains is False:
        return f"{trial.file}: has no loss in TRAIN"
    if trial.loss is None:
        return f"reads its data: {trial.reason}" if trial.reads else trial.reason
    gradients = " and gradients" if trial.backward else ""
    if trial.reason:
        return f"reads its data: {trial.reason}"
    return f"{trial.file}: reads its data, a loss of {trial.loss:.4g}{gradients} in {trial.seconds:.1f} s"


def _trials_summary(trials: Sequence[DataTrial]) -> str:
    training = [trial for trial in trials if trial.trains]
    reading, good = sum(trial.reads for trial in training), sum(not trial.reason for trial in training)
    unknown = sum(trial.trains is None for trial in trials)
    more = f"; {unknown} files can't be read" if unknown else ""
    nets = "1 net" if len(training) == 1 else f"{len(training)} nets"
    return f"{nets} with a loss: {reading} read their data, {good} compute the loss{more}"

"""`zoo check --data`: whether nets read data and compute a loss, shown line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.exit_code import ExitCode
from zoo.cli.output import print_json
from zoo.cli.progress_bar import progress_bar

if TYPE_CHECKING:
    from netdsl.checking.data_trial import DataTrial

_NETS = (".prototxt", ".pt")  # endings of files in a folder that may be nets
_SOLVER = "solver"  # a word in the names of files that are none
_SHARE = 0.8  # of the machine's memory, which a net may take

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

forward_only: Decorator = click.option("--forward-only", is_flag=True, help="With --data: compute no gradients.")
batch: Decorator = click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="With --data: the most items in a batch, if the net takes that many.",
)
seconds: Decorator = click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    metavar="S",
    help="With --data: how long one net may take.",
)


def run(
    files: Sequence[str],
    stages: Sequence[str],
    batch: int,
    seconds: float,
    dialect: str | None,
    *,
    forward_only: bool,
    as_json: bool,
) -> None:
    """Try nets one after the other, and show what came of each."""
    nets = [net for file in files for net in _nets_of(Path(file))]
    trials: list[DataTrial] = []
    with progress_bar(len(nets), "trying") as advance:
        import torch

        from netdsl.checking.data_trial import TrialSettings
        from netdsl.checking.trial_process import TrialLimits, try_all
        from netdsl.net.memory import memory_of

        memory = int(_SHARE * (memory_of(torch.device("cpu")) or 0))
        settings = TrialSettings(batch, forward_only, stages, dialect)
        for trial in try_all(nets, settings, TrialLimits(seconds, memory)):
            trials.append(trial)
            advance()
            if not as_json:
                click.echo(_line(trial))
    if as_json:
        print_json([asdict(trial) for trial in trials])
    else:
        click.echo(_summary(trials))
    if any(trial.reason for trial in trials):
        raise click.exceptions.Exit(ExitCode.NO)


def _nets_of(path: Path) -> Iterable[Path]:
    """The net that is a file or has a name, or all files below a folder that may be nets."""
    if not path.is_dir():
        return [path]
    files = (file for file in path.rglob("*") if file.suffix in _NETS and file.is_file())
    return sorted(file for file in files if _SOLVER not in file.stem)


def _line(trial: DataTrial) -> str:
    """What came of one net: whether it reads its data, what it computes, and why no more."""
    if trial.trains is False:
        return f"{trial.file}: has no loss in TRAIN"
    if trial.loss is None:
        return f"reads its data: {trial.reason}" if trial.reads else trial.reason
    gradients = " and gradients" if trial.backward else ""
    if trial.reason:
        return f"reads its data: {trial.reason}"
    return f"{trial.file}: reads its data, a loss of {trial.loss:.4g}{gradients} in {trial.seconds:.1f} s"


def _summary(trials: Sequence[DataTrial]) -> str:
    training = [trial for trial in trials if trial.trains]
    reading, good = sum(trial.reads for trial in training), sum(not trial.reason for trial in training)
    unknown = sum(trial.trains is None for trial in trials)
    more = f"; {unknown} files can't be read" if unknown else ""
    nets = "1 net" if len(training) == 1 else f"{len(training)} nets"
    return f"{nets} with a loss: {reading} read their data, {good} compute the loss{more}"

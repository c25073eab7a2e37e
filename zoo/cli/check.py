"""`zoo check`: check whether nets would work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from zoo.cli import data_trials, options, shapes
from zoo.cli.exit_code import ExitCode
from zoo.cli.output import print_json
from zoo.cli.progress_bar import progress_bar
from zoo.cli.shapes import Shape

if TYPE_CHECKING:
    from netdsl.checking.lint import Finding

_MOST_SKIPPED = 5  # unknown fields of one file: a net of a fork can have one in every layer


@click.command("check", short_help="Check whether nets would work.")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--run", is_flag=True, help="Also run each net once, forward, on small random input.")
@click.option("--data", is_flag=True, help="Instead try each net's training on data that are made up for it.")
@data_trials.forward_only
@data_trials.batch
@data_trials.seconds
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
    dialect: str | None,
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
        data_trials.run(files, stages, batch, seconds, dialect, forward_only=forward_only, as_json=as_json)
        return
    findings = []
    with progress_bar(len(files), "checking") as advance:
        from netdsl.checking.lint import CheckSettings, check_net

        settings = CheckSettings(assume, stages, stub_unknown, dialect=dialect)
        for file in files:
            findings.append(check_net(file, settings, run=run))
            advance()
            if not as_json:
                for line in _lines(findings[-1]):
                    click.echo(line)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    if all(finding.resolved for finding in findings):
        shapes.complain_of_unused(assume, {name for finding in findings for name in finding.assumed})
    if not all(finding.resolved and finding.ran is not False and not finding.skipped for finding in findings):
        raise click.exceptions.Exit(ExitCode.NO)


def _lines(finding: Finding) -> Iterator[str]:
    """What may be a typo, what may mean something else, the result, and then what Caffe says otherwise."""
    yield from finding.skipped[:_MOST_SKIPPED]
    if len(finding.skipped) > _MOST_SKIPPED:
        yield f"{finding.file}: {len(finding.skipped) - _MOST_SKIPPED} more fields are unknown (skipped)"
    yield from finding.doubts
    yield _result(finding)
    yield from finding.caffe_notes


def _result(finding: Finding) -> str:
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

"""The command `zoo`: parses, calls one function, prints. Commands are imported only when they are used."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from types import FrameType

import click

from caffe_proto.errors import CaffeError
from zoo.cli.output import complain

# Every command with the module that has it and its line in the help, so that the help imports none of them.
_COMMANDS = {
    "show": ("zoo.cli.show", "What a file holds: a net, weights, a solver, a mean."),
    "upgrade": ("zoo.cli.upgrade", "Bring an old net or solver to today's form."),
    "fmt": ("zoo.cli.fmt", "Put prototxt files into one layout, with their comments."),
    "import": ("zoo.cli.import_", "A net as a readable Python program."),
    "check": ("zoo.cli.check", "Whether nets would work: types, connections, shapes."),
    "train": ("zoo.cli.train", "Train a net with Caffe's solvers."),
    "report": ("zoo.cli.report", "How a run with several workers went: times, tests, pictures."),
    "test": ("zoo.cli.test", "What a net with weights gives on its test data."),
    "predict": ("zoo.cli.predict", "A table with what a net predicts for each row."),
    "features": ("zoo.cli.features", "A table with any blobs of a net for each row."),
    "time": ("zoo.cli.time", "How long a net takes, layer by layer."),
    "simulate": ("zoo.cli.simulate", "Training with several machines, on a made-up clock."),
    "caffe": ("zoo.cli.caffe", "The caffe program's own commands and flags."),
    "diff": ("zoo.cli.diff", "What two files differ in: structure and weights."),
    "export": ("zoo.cli.export", "A net ready to deploy, for Caffe, ONNX or torch."),
    "convert": ("zoo.cli.convert", "Weights and nets from one format to another."),
    "verify": ("zoo.cli.verify", "Whether two models compute the same."),
    "data": ("zoo.cli.data", "Data sets: show, convert, take the mean image."),
}


class _Commands(click.Group):
    """A group that loads a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(_COMMANDS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            raise click.UsageError(f"{problem.message} The commands are {', '.join(_COMMANDS)}.", ctx) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="netdsl", prog_name="zoo")
def zoo() -> None:
    """Caffe models today: read, check, train, export."""


def main() -> None:
    """The console script: errors as one line, never a traceback."""
    # Threads that wait for each other by spinning make training twenty times as slow on a machine that is busy.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, _end)
    if isinstance(sys.stdout, TextIOWrapper):  # a name that the terminal's encoding lacks is no reason to fail
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.exit(zoo.main(prog_name="zoo", standalone_mode=False))  # a code only where a command exits with one
    except click.Abort:
        sys.exit(130)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except CaffeError as problem:
        _fail(str(problem))
    except (OSError, MemoryError) as problem:
        _drop_output()
        reason = getattr(problem, "strerror", None) or repr(problem)
        _fail(": ".join(filter(None, (getattr(problem, "filename", None), reason))))


def _end(number: int, frame: FrameType | None) -> None:
    """SIGTERM ends the program as an exception does, so that nothing half written stays behind."""
    sys.exit(128 + number)


def _fail(what: str) -> None:
    complain(what)
    sys.exit(2)


def _drop_output() -> None:
    """Python would try at exit to write again what a full disk didn't take, and complain in its own words."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    complain(f"warning: {message}")

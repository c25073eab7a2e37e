"""The command line `zoo`, whose commands parse, call one function and print. Each is imported when it is used."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from types import FrameType

import click

from caffe_proto.errors import CaffeError
from zoo.cli.output import complain

# The module of every command and its line in the help, so that the help imports none of them.
_COMMANDS = {
    "list": ("zoo.cli.list", "List the models of the zoo."),
    "card": ("zoo.cli.card", "Show what a model is for, takes and gives."),
    "show": ("zoo.cli.show", "Show what files hold: nets, weights, solvers, means."),
    "upgrade": ("zoo.cli.upgrade", "Bring an old net or solver to today's form."),
    "fmt": ("zoo.cli.fmt", "Put prototxt files into one layout, with their comments."),
    "import": ("zoo.cli.import_", "Write a model's files, or a net as a Python program."),
    "check": ("zoo.cli.check", "Check whether nets would work: types, connections, shapes."),
    "train": ("zoo.cli.train", "Train a net with Caffe's solvers."),
    "run": ("zoo.cli.run", "Run a torch or pycaffe script with several workers."),
    "report": ("zoo.cli.report", "Report how a run with several workers went."),
    "test": ("zoo.cli.test", "Test a net with weights on its test data."),
    "predict": ("zoo.cli.predict", "Say what is in images, or add predictions to a table."),
    "serve": ("zoo.cli.serve", "Serve a model over HTTP, with a page to try it."),
    "features": ("zoo.cli.features", "Write a table with any blobs of a net for each row."),
    "time": ("zoo.cli.time", "Measure how long a net takes, layer by layer."),
    "simulate": ("zoo.cli.simulate", "Simulate training with several machines."),
    "caffe": ("zoo.cli.caffe", "Run the caffe program's own commands, with its flags."),
    "diff": ("zoo.cli.diff", "Show what two files differ in: structure and weights."),
    "export": ("zoo.cli.export", "Export a net ready to deploy, for Caffe, ONNX or torch."),
    "convert": ("zoo.cli.convert", "Convert weights and nets from one format to another."),
    "verify": ("zoo.cli.verify", "Verify that two models compute the same."),
    "data": ("zoo.cli.data", "Show and convert data sets, and take their mean image."),
}


class _Commands(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS]  # `list` is a command here once it was imported

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
            near = get_close_matches(args[0], _COMMANDS, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"The commands are {', '.join(_COMMANDS)}."
            raise click.UsageError(f"{problem.message} {hint}", ctx) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="netdsl", prog_name="zoo")
def zoo() -> None:
    """Caffe models today: read, check, train, export."""


def main() -> None:
    """Run the console script; errors are printed on one line, never as a traceback."""
    # Threads that spin while they wait for each other slow training down by a factor of twenty on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, _exit)
    if isinstance(sys.stdout, TextIOWrapper):  # a name that the terminal can't encode is printed all the same
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.exit(zoo.main(prog_name="zoo", standalone_mode=False))  # the exit code of a command that has one
    except click.Abort:
        sys.exit(130)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except Exception as problem:
        sentence = _sentence(problem)
        if sentence is None:
            raise
        _fail(sentence)


def _sentence(problem: Exception) -> str | None:
    """A sentence about what is wrong with files, the machine or a user's Python layer; None for a mistake of ours."""
    if hasattr(problem, "__notes__"):
        from netdsl.errors import user_code_problem

        user_problem = user_code_problem(problem)
        if user_problem is not None:
            return user_problem
    if isinstance(problem, CaffeError):
        return str(problem)
    if isinstance(problem, RuntimeError):
        from netdsl.errors import memory_shortage

        return memory_shortage(problem)
    if isinstance(problem, (OSError, MemoryError)):
        _drop_output()
        reason = getattr(problem, "strerror", None) or str(problem) or repr(problem)
        return ": ".join(filter(None, (getattr(problem, "filename", None), reason)))
    return None


def _exit(number: int, frame: FrameType | None) -> None:
    """Exit at SIGTERM by an exception, so that no incomplete file stays behind."""
    sys.exit(128 + number)


def _fail(problem: str) -> None:
    complain(problem)
    sys.exit(2)


def _drop_output() -> None:
    """Drop buffered output: at exit Python would write it again to a full disk, and print a traceback."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    complain(f"warning: {message}")

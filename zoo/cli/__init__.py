"""The command line `zoo`, whose commands parse, call one function and print. Each is imported when it is used."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from types import FrameType

import click

from caffe_proto.errors import CaffeError
from zoo.cli import options
from zoo.cli.output import ExitCode, complain

# The module and the function of every command and its line in the help, so that the help imports none of them.
_COMMANDS = {
    "list": ("zoo.cli.models:list_command", "List the models of the zoo."),
    "card": ("zoo.cli.models:card_command", "Show what a model is for, takes and gives."),
    "pull": ("zoo.cli.store:pull_command", "Fetch a model into the store, where its name is a net."),
    "push": ("zoo.cli.store:push_command", "Give a model to others: to a folder or a hub."),
    "store": ("zoo.cli.store:store_command", "List, check and prune the models that were pulled."),
    "draw": ("zoo.cli.draw:command", "Draw a net as a graph, SVG or PNG."),
    "show": ("zoo.cli.show:command", "Show what files hold: nets, weights, solvers, means."),
    "upgrade": ("zoo.cli.upgrade:command", "Bring an old net or solver to today's form."),
    "fmt": ("zoo.cli.fmt:command", "Put prototxt files into one layout, with their comments."),
    "import": ("zoo.cli.models:import_command", "Write a model's files, or a net as a Python program."),
    "check": ("zoo.cli.check:command", "Check whether nets would work: types, connections, shapes."),
    "train": ("zoo.cli.train:command", "Train a net with Caffe's solvers."),
    "finetune": ("zoo.cli.finetune:command", "Fine-tune a model to the classes of your data."),
    "run": ("zoo.cli.run:command", "Run a torch or pycaffe script with several workers."),
    "report": ("zoo.cli.report:command", "Report how a run went: a table, and a page to look at."),
    "test": ("zoo.cli.test:command", "Test a net with weights on its test data."),
    "predict": ("zoo.cli.predict:command", "Say what is in images, or add predictions to a table."),
    "serve": ("zoo.cli.serve:command", "Serve a model over HTTP, with a page to try it."),
    "features": ("zoo.cli.features:command", "Write a table with any blobs of a net for each row."),
    "propose": ("zoo.cli.propose:command", "Write the regions that a net proposes for images."),
    "time": ("zoo.cli.time:command", "Measure how long a net takes, layer by layer."),
    "plan": ("zoo.cli.plan:command", "Say how a net is best trained on some machines."),
    "simulate": ("zoo.cli.simulate:command", "Simulate training with several machines."),
    "caffe": ("zoo.cli.caffe:command", "Run the caffe program's own commands, with its flags."),
    "diff": ("zoo.cli.diff:command", "Show what two files differ in: structure and weights."),
    "export": ("zoo.cli.export:export_command", "Export a net ready to deploy, for Caffe, ONNX or torch."),
    "convert": ("zoo.cli.export:convert_command", "Convert weights and nets from one format to another."),
    "verify": ("zoo.cli.verify:command", "Verify that two models compute the same."),
    "data": ("zoo.cli.data:command", "Show and convert data sets, and take their mean image."),
    "doctor": ("zoo.cli.doctor:command", "Tell what is installed here, what works, and what to do."),
    "completion": ("zoo.cli.completion:command", "Print what lets the Tab key complete commands and models."),
}

# What one wants to do, and the commands for it, in the order of the help.
_GROUPS = {
    "Find and get models": ("list", "card", "import", "pull", "push", "store"),
    "See and mend files": ("show", "draw", "check", "diff", "fmt", "upgrade"),
    "Prepare data": ("data",),
    "Train": ("train", "finetune", "test", "run", "report", "plan", "simulate", "caffe"),
    "Use": ("predict", "features", "propose", "serve"),
    "Export and compare": ("export", "convert", "verify"),
    "This machine": ("doctor", "time", "completion"),
}

_COMPLETE = "_ZOO_COMPLETE"  # with which a shell asks what completes a line


def grouped() -> dict[str, list[str]]:
    """The commands of each group; those that no group has are in one of their own."""
    groups = {title: [name for name in names if name in _COMMANDS] for title, names in _GROUPS.items()}
    groups["Other"] = [name for name in _COMMANDS if not any(name in names for names in groups.values())]
    return {title: names for title, names in groups.items() if names}


class _Commands(click.Group):
    """A group that imports a command when it is called."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would exit with the code that means that files differ
            _drop_output()
            raise click.exceptions.Exit(ExitCode.READER_GONE) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in grouped().values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, function = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), function)
        _take_plugins(command)
        if _COMPLETE in os.environ:
            from zoo.cli.completion import complete_values

            complete_values(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, _COMMANDS))
        for title, names in grouped().items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), _COMMANDS[name][1]) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            near = get_close_matches(args[0], _COMMANDS, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"The commands are {', '.join(self.list_commands(ctx))}."
            raise click.UsageError(f"{problem.message} {hint}", ctx) from None


def _take_plugins(command: click.Command) -> None:
    """Let a command, and those of a group, have the option --plugin; the help of `zoo` tells of it once for all."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _take_plugins(inner)
    if not command.ignore_unknown_options and all("--plugin" not in option.opts for option in command.params):
        command.params.append(options.plugin(hidden=True))


_CODES = """The exit code is 0 if all went well, 1 if the answer is no (files differ, a check fails), and 2 if the call
or a file is wrong."""


@click.group(
    cls=_Commands, epilog=_CODES, params=[options.plugin()], context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(package_name="netdsl", prog_name="zoo")
@click.pass_context
def zoo(ctx: click.Context) -> None:
    """Caffe models today: read, check, train, export."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        ctx.color = False


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
        sys.exit(ExitCode.INTERRUPTED)
    except click.ClickException as problem:
        problem.show()
        sys.exit(problem.exit_code)
    except Exception as problem:
        sentence = _sentence(problem)
        if sentence is None:
            traceback.print_exc()
            sys.exit(ExitCode.MISTAKE)
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
        from netdsl.errors import memory_shortage, range_problem

        return memory_shortage(problem) or range_problem(problem)
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
    sys.exit(ExitCode.WRONG)


def _drop_output() -> None:
    """Drop buffered output: at exit Python would write it again to a full disk, and print a traceback."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    complain(f"warning: {message}")

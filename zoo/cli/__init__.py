"""The command line `zoo`. Each command parses its arguments, calls one function and prints the result. A command's
module is imported when the command is used."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from difflib import get_close_matches
from io import TextIOWrapper
from types import FrameType

import click

from caffe_proto.errors import CaffeError
from caffe_proto.limits import check_limits
from netdsl import __version__
from netdsl.allowed_modules import PLUGINS
from netdsl.log_level import check_log_level
from netdsl.ranks import started_by_mpiexec
from zoo.cli.commands import COMMANDS, GROUPS, TASKS
from zoo.cli.output import ExitCode, complain, open_closed_streams, print_text, print_usage_error
from zoo.cli.request_command import Command, loaded
from zoo.requests.groups import modules_of
from zoo.requests.request import RequestError

_PLUGIN_HELP = """Plug-in module to import, installed or in the current folder. May be repeated, before or after the
name of a command."""

_COMPLETE = "_ZOO_COMPLETE"  # set by a shell that requests completions of a line


def grouped() -> dict[str, list[str]]:
    """Return the commands of each task. Commands without a task are grouped under "Other"."""
    own = [name for name in COMMANDS if " " not in name]
    groups = {title: [name for name in names if name in own] for title, names in TASKS.items()}
    groups["Other"] = [name for name in own if not any(name in names for names in groups.values())]
    return {title: names for title, names in groups.items() if names}


def _line(name: str) -> str:
    entry = COMMANDS[name]
    return entry.line if isinstance(entry, Command) else entry[1] if isinstance(entry, tuple) else entry


def _command(name: str) -> click.Command:
    """Return a command by name, or the group of the commands whose names begin with it."""
    entry = COMMANDS[name]
    if isinstance(entry, Command):
        return entry.command(name)
    if isinstance(entry, str):
        inner = [_command(other) for other in COMMANDS if other.startswith(f"{name} ")]
        group = GROUPS[name]
        return click.Group(name, inner, help=group.help, epilog=group.epilog, short_help=entry)
    command: click.Command = loaded(entry[0])
    return command


def _allow_plugins(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    """Allow plug-ins while a command runs."""
    try:
        modules = modules_of(values, "plugin")
    except RequestError as problem:
        raise click.BadParameter(str(problem)) from None
    ctx.with_resource(PLUGINS.allowing(modules))


def _plugin(*, hidden: bool = False) -> click.Option:
    """Return the option --plugin, which the command group and every command have."""
    return click.Option(
        ["--plugin"],
        multiple=True,
        metavar="MODULE",
        is_eager=True,  # parsed first, since a plug-in may add values of other options
        expose_value=False,
        callback=_allow_plugins,
        hidden=hidden,
        help=_PLUGIN_HELP,
    )


class _Commands(click.Group):
    """A group that imports a command when it is called."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click's own exit code here would mean that files differ
            _drop_output()
            raise click.exceptions.Exit(ExitCode.READER_GONE) from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in grouped().values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS or " " in cmd_name:
            return None
        command = _command(cmd_name)
        _take_plugins(command)
        if _COMPLETE in os.environ:
            from zoo.cli.completion import complete_values

            complete_values(command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(len(name) for names in grouped().values() for name in names)
        for title, names in grouped().items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), _line(name)) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as problem:
            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"The commands are {', '.join(self.list_commands(ctx))}."
            raise click.UsageError(f"{problem.message} {hint}", ctx) from None


def _take_plugins(command: click.Command) -> None:
    """Add the option --plugin to a command, or to all commands of a group. It is hidden there, since the help of `zoo`
    describes it."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _take_plugins(inner)
    if not command.ignore_unknown_options and all("--plugin" not in option.opts for option in command.params):
        command.params.append(_plugin(hidden=True))


_CODES = """The exit code is 0 on success, 1 if the answer is negative (files differ, a check fails), and 2 if the call
or a file is wrong."""


@click.group(cls=_Commands, epilog=_CODES, params=[_plugin()], context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="zoo")
@click.pass_context
def zoo(ctx: click.Context) -> None:
    """Work with Caffe models: read, check, train and export them."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        ctx.color = False


def main() -> None:
    """Run the console script. Errors are printed on one line, never as a traceback."""
    open_closed_streams()
    # Threads that spin while they wait for each other make training on a busy machine twenty times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    warnings.showwarning = _show_warning
    signal.signal(signal.SIGTERM, _exit)
    if started_by_mpiexec(os.environ):
        from netdsl.mpi.ending import end_with_the_others_at_exit

        end_with_the_others_at_exit()
    if isinstance(sys.stdout, TextIOWrapper):  # names that the terminal can't encode are still printed
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as zoo.__main__ leaves it
            signal.signal(signal.SIGINT, signal.default_int_handler)
        check_log_level()
        check_limits()
        sys.exit(zoo.main(prog_name="zoo", standalone_mode=False))  # a command with its own exit code
    except (click.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except click.ClickException as problem:
        print_usage_error(problem)
        sys.exit(problem.exit_code)
    except Exception as problem:
        sentence = _sentence(problem)
        if sentence is None:
            print_text(traceback.format_exc(), err=True)
            sys.exit(ExitCode.MISTAKE)
        _fail(sentence)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # nothing is left to clean up, and nothing would catch `_exit`


def _sentence(problem: Exception) -> str | None:
    """Return a sentence about an error in files, on the machine or in a user's Python layer. Returns `None` for a bug
    in this program."""
    if hasattr(problem, "__notes__"):
        from netdsl.errors import user_code_problem

        user_problem = user_code_problem(problem)
        if user_problem is not None:
            return user_problem
    if isinstance(problem, CaffeError):
        return str(problem)
    if isinstance(problem, (ImportError, MemoryError, RuntimeError)):
        from netdsl.errors import memory_shortage, range_problem

        return memory_shortage(problem) or range_problem(problem)
    if isinstance(problem, OSError):
        _drop_output()
        name = problem.filename if isinstance(problem.filename, (str, bytes, os.PathLike)) else ""
        return ": ".join(filter(None, (os.fsdecode(name), problem.strerror or str(problem) or repr(problem))))
    return None


def _exit(number: int, frame: FrameType | None) -> None:
    """Exit on SIGTERM with an exception, so that no incomplete file is left behind."""
    sys.exit(128 + number)


def _fail(problem: str) -> None:
    complain(problem)
    sys.exit(ExitCode.WRONG)


def _drop_output() -> None:
    """Discard buffered output. Otherwise Python would write it to the full disk again at exit, and print a
    traceback."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    complain(f"warning: {message}")

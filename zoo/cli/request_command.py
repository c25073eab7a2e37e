"""Commands that are built from a request, the function that answers it, and the function that shows the answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from zoo.cli.config import config_options, config_text
from zoo.cli.output import ExitCode, print_json, print_text, progress_bar
from zoo.requests.request import NotesCommand, Request, RequestError, RequestField, fields_of, typed_request
from zoo.requests.results import MayBeNo, MayFail


@dataclass(frozen=True)
class Command:
    """An entry in the table of commands: the command's line in the help, and the names of its request in zoo.requests,
    of the function in zoo that answers it, and of the function in zoo.cli that shows the answer.

    The bar shows `doing` while the work doesn't describe itself. `computes` means that the function loads torch, which
    takes seconds, so the bar appears before that. `show_all` prints a summary of answers that were shown one by one. If
    `function` is missing, the show function is called with the request alone. `json` adds the option --json.
    `takes_all` passes all words after an argument to it, even if they look like options.
    """

    line: str
    request: str
    function: str = ""
    show: str = ""
    doing: str = ""
    show_all: str = ""
    display: str = "display:Display"
    json: bool = True
    takes_all: bool = False
    computes: bool = False

    def command(self, name: str) -> click.Command:
        """Return the click command. It imports the function that answers it only after its arguments have been
        parsed."""
        kind: type[Request] = loaded(f"zoo.requests.{self.request}")
        settings = {"ignore_unknown_options": True, "allow_interspersed_args": False} if self.takes_all else {}
        return click.Command(
            name.rpartition(" ")[2],
            context_settings=settings,
            callback=lambda **plain: self._answer(kind, plain),
            params=[*map(_parameter_of, fields_of(kind)), *self._more_params(kind)],
            help=kind.__doc__,
            epilog=kind.epilog or None,
            short_help=self.line,
        )

    def _more_params(self, kind: type[Request]) -> Iterator[click.Parameter]:
        if self.json:
            yield click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON.")
        if fields_of(kind):
            yield from config_options()

    def _answer(self, kind: type[Request], plain: dict[str, Any]) -> None:
        as_json, print_config = self.json and plain.pop("as_json"), plain.pop("print_config", False)
        with _usage_errors():
            request = typed_request(kind, plain)
            if print_config:
                print_text(config_text(kind, plain))
            elif not self.function:
                loaded(f"zoo.cli.{self.show}")(request)
            else:
                if isinstance(request, NotesCommand):
                    request = replace(request, command=("zoo", *sys.argv[1:]))
                self._show(request, as_json=as_json)

    def _show(self, request: Request, *, as_json: bool) -> None:
        """Call the function and show its answer."""
        with nullcontext() if as_json else progress_bar(doing=self.doing, at_once=self.computes):
            display = loaded(f"zoo.cli.{self.display}")
            if self.computes:
                import_module(f"zoo.{self.function}".partition(":")[0])
        with closing(display(request, self.doing, quiet=as_json, err=request.prints_answers)) as listen:
            answer = loaded(f"zoo.{self.function}").ask(request, listen)
            if isinstance(answer, Iterator):
                self._show_one_by_one(answer, request, as_json=as_json)
                return
        if as_json and answer is not None:
            print_json(answer)
        elif self.show and not as_json:
            loaded(f"zoo.cli.{self.show}")(answer, request)
        _end(_exit_code(answer))

    def _show_one_by_one(self, answers: Iterator[object], request: Request, *, as_json: bool) -> None:
        """Show answers as they arrive."""
        show, kept, code = loaded(f"zoo.cli.{self.show}"), list[object](), ExitCode.FINE
        for answer in answers:
            code = max(code, _exit_code(answer))
            if as_json or self.show_all:
                kept.append(answer)
            if not as_json:
                show(answer, request)
        if as_json:
            print_json(kept)
        elif self.show_all:
            loaded(f"zoo.cli.{self.show_all}")(kept, request)
        _end(code)


def _end(code: ExitCode) -> None:
    if code:
        raise click.exceptions.Exit(code)


def _exit_code(answer: object) -> ExitCode:
    if isinstance(answer, MayFail) and answer.failed:
        return ExitCode.WRONG
    return ExitCode.NO if isinstance(answer, MayBeNo) and not answer.good else ExitCode.FINE


def loaded(name: str) -> Any:
    """Return an object by its full name, such as zoo.exporting:export."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def _parameter_of(field: RequestField) -> click.Parameter:
    """Return the click option or argument of a field."""
    said, default = field.said, field.plain_default
    if said.get("is_argument"):
        return click.Argument(
            [field.name],
            type=_type_of(field),
            metavar=said.get("metavar"),
            nargs=-1 if field.is_repeated else 1,
            required=field.is_needed,
        )
    long = f"--{field.option_name}"
    names = [*([f"-{said['short']}"] if "short" in said else []), long, *said.get("aliases", ())]
    if field.kind is bool:
        both = f"{long}/--no-{field.option_name}" if default else long
        help_text = f"{said['help']}  [default: {field.option_name}]" if default else said["help"]
        return click.Option(
            [both, field.name], is_flag=True, default=default, help=help_text, envvar=said.get("environment")
        )
    return click.Option(
        [*names, field.name],
        type=_type_of(field),
        metavar=said.get("metavar"),
        multiple=field.is_repeated,
        required=field.is_needed,
        default=default,
        show_default=default not in (None, ""),
        help=said.get("help"),
        envvar=said.get("environment"),
    )


def _type_of(field: RequestField) -> click.ParamType[Any]:
    """Return the click type that checks a field's value and describes it in the help."""
    said = field.said
    if said.get("parse"):
        return click.STRING
    if "names" in said:
        return _RegisteredName(*said["names"]())
    if field.choices:
        return click.Choice(field.choices, case_sensitive=not said.get("ignore_case"))
    if field.kind in (int, float):
        is_open, least, most = "above" in said, said.get("above", said.get("least")), said.get("most")
        if least is None and most is None:
            return click.INT if field.kind is int else click.FLOAT
        if field.kind is float:
            return click.FloatRange(least, most, min_open=is_open)
        least, most = (None if bound is None else int(bound) for bound in (least, most))
        return click.IntRange(least, most)
    if said.get("unprocessed"):
        return click.UNPROCESSED
    return click.Path(exists="is_file" in said, dir_okay="is_file" not in said) if field.kind is Path else click.STRING


class _RegisteredName(click.Choice[str]):
    """One of netdsl's own names, which the help lists, or a name that a plug-in has registered."""

    def __init__(self, names: tuple[str, ...], registry: Mapping[str, object]) -> None:
        super().__init__(names)
        self._registry = registry

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name. A usage error also lists the names of plug-ins."""
        if value in self.choices:
            return value
        return click.Choice([*self.choices, *self._registry]).convert(value, param, ctx)


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Turn a RequestError into a usage error that names the wrong option."""
    try:
        yield
    except RequestError as problem:
        ctx = click.get_current_context()
        param = next((each for each in ctx.command.params if each.name == problem.field), None)
        if param is None:
            raise click.UsageError(str(problem), ctx) from None
        raise click.BadParameter(str(problem), ctx, param) from None

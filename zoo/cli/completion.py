"""`zoo completion`: completion of commands, options, model names and files with the Tab key of a shell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from zoo.cli.output import print_text
from zoo.requests.machine import CompletionRequest

_VARIABLE = "_ZOO_COMPLETE"
_MODELS = ("NET", "MODEL", "FILE...", "A", "B", "IN")  # words in a command's usage that stand for model names
_FOLDERS = ("FOLDER", "RUN...")
_SOURCES = ("SOURCE", "SRC")


def print_script(request: CompletionRequest) -> None:
    """Print the completion script for a shell."""
    kind = get_completion_class(request.shell)
    assert kind is not None
    print_text(kind(click.Group("zoo"), {}, "zoo", _VARIABLE).source() + "\n")


def complete_values(command: click.Command) -> None:
    """Make a command complete its values, which are named as in its usage. The values aren't processed further."""
    for parameter in command.params:
        parameter.callback = None  # may import torch or create a folder
        if isinstance(parameter.type, (click.types.StringParamType, click.Path)):
            parameter.type = _NamedValue((parameter.metavar or (parameter.name or "").upper()).strip("[]"))
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            complete_values(inner)


class _NamedValue(click.ParamType[str]):
    """A text that names a model, a data set or a file."""

    name = "text"

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """Return the matching names and files. If there are none, leave completion to the shell."""
        names = [name for name in _names_for(self._kind) if name.startswith(incomplete)]
        if names:
            return [CompletionItem(value) for value in (*names, *_files_beginning(incomplete))]
        return [CompletionItem(incomplete, type="dir" if self._kind in _FOLDERS else "file")]


def _names_for(kind: str) -> list[str]:
    if kind in _MODELS:
        from zoo import catalogue

        return catalogue.names()
    return ["digits", "shapes"] if kind in _SOURCES else []


def _files_beginning(beginning: str) -> Iterator[str]:
    """Yield the files and folders in the current folder with this beginning. A shell adds its own only if there are no
    other completions."""
    for entry in sorted(os.scandir(Path.cwd()), key=lambda entry: entry.name):
        if entry.name.startswith(beginning) and (beginning or not entry.name.startswith(".")):
            yield f"{entry.name}/" if entry.is_dir() else entry.name

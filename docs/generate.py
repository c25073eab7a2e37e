"""Writes the generated parts of docs/: help, layer types, code in pages, the picture. Run by `make docs`."""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from enum import Enum
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from rich.console import Console
from rich.text import Text

import zoo.cli
from caffe_proto.files import read
from caffe_proto.summary import summarise
from netdsl.layer.capabilities import Capabilities, DataAccess, Deployment, capabilities
from netdsl.layers import LAYERS
from zoo.cli.commands import COMMANDS
from zoo.cli.request_command import Command, loaded
from zoo.requests.schema import request_schema, schema_of, types_of

HERE = Path(__file__).parent
HELP = zoo.cli.zoo.context_settings  # click remembers a command's help option from its first context
EXAMPLES = HERE.parent / "examples"
_CODE = re.compile(r"(?m)^<!-- code: (\S+) (\S+) -->\n```python\n.*?^```$", re.DOTALL)


def command_line() -> str:
    """The help of every command, as one page."""
    pages: list[tuple[str, click.Command]] = [("zoo", zoo.cli.zoo)]
    root = click.Context(zoo.cli.zoo, info_name="zoo", **HELP)
    for name in zoo.cli.zoo.list_commands(root):
        command = zoo.cli.zoo.get_command(root, name)
        assert command is not None
        pages.append((f"zoo {name}", command))
        if isinstance(command, click.Group):
            pages += [(f"zoo {name} {below}", each) for below, each in command.commands.items()]
    parts = [
        "# The command line\n\nWritten by `make docs`. [shell.md](shell.md) has exit codes, JSON and the Tab key.\n"
    ]
    for name, command in pages:
        context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100, **HELP)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
        entry = COMMANDS.get(name.removeprefix("zoo "))
        if isinstance(entry, Command) and entry.function:
            parts.append(
                f"In Python: `zoo.{entry.function.replace(':', '.')}`, whose keywords are the fields of the request.\n"
            )
    return "\n".join(parts)


def schemas() -> str:
    """JSON Schemas of what each command takes from a file, and of what it prints with --json."""
    lines = []
    for name, entry in COMMANDS.items():
        if isinstance(entry, Command):
            schema = {"settings": request_schema(loaded(f"zoo.requests.{entry.request}"))}
            if entry.json and entry.function:
                schema["result"] = schema_of(types_of(loaded(f"zoo.{entry.function}").function)["return"])
            lines.append(f"{json.dumps(name)}: {json.dumps(schema)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


LAYER_TYPES = """# The layer types

Written by `make docs`. All of them run on a CPU and on a GPU.

- *Gradient*: whether one passes through the layer, or comes to its blobs.
- *ONNX*: whether the layer can be exported.
- *Deployed*: what becomes of the layer in a net to deploy, if it doesn't stay as it is.
- *Data*: where a data layer's tops come from.
- *From*: the dialects of Caffe whose schema has the type (see `caffe_proto/dialects`), or the plug-in that added it.

| Type | What it is | Blobs | Gradient | ONNX | Deployed | Data | From |
|---|---|---|---|---|---|---|---|
"""


def layer_types() -> str:
    """What every layer type can do, as one table."""
    return LAYER_TYPES + "".join(_row(name, capabilities(kind)) for name, kind in sorted(LAYERS.own().items()))


def _row(name: str, can: Capabilities) -> str:
    title = (sys.modules[LAYERS[name].__module__].__doc__ or "").splitlines()[0].partition(": ")[2].removesuffix(".")
    deployed = "" if can.deployment is Deployment.STAYS else f"as {can.replacement}" if can.replacement else "goes"
    data = "" if can.data is DataAccess.NONE else can.data.value
    flags = ["yes" if flag else "no" for flag in (can.passes_gradient, can.has_onnx_form)]
    cells = [
        f"`{name}`",
        title,
        ", ".join(can.blobs),
        *flags,
        deployed,
        data,
        ", ".join(can.origins),
    ]
    return f"| {' | '.join(cells)} |\n"


PYTHON = """# The Python names

Written by `make docs`. These are all names that programs import; every layer type has a function of its own name beside
them ([layer_types.md](layer_types.md)), and every command is a function ([command_line.md](command_line.md)).
`netdsl.registry` has what an extension of your own registers, and `netdsl.pycaffe` is pycaffe's interface
([pycaffe.md](pycaffe.md)).
"""
PUBLIC = ("netdsl", "netdsl.spark", "converters", "zoo")


def python_names() -> str:
    """Every public name with its signature and its documentation, as one page."""
    parts = [PYTHON]
    for package in map(import_module, PUBLIC):
        names = [name for name in package.__all__ if package.__name__ != "netdsl" or name not in LAYERS]
        parts += [f"## {package.__name__}\n", *(_described(package, name) for name in sorted(names, key=str.lower))]
    return "\n".join(parts)


def _described(package: ModuleType, name: str) -> str:
    """A name with what Python knows of it; of a class its public methods, too."""
    thing = getattr(package, name)
    if not callable(thing):
        return f"`{name}`: a value of `{type(thing).__name__}`, {int(thing)}.\n"
    parts = [f"### {name}\n\n{_call_of(name, thing)}\n{inspect.getdoc(thing) or ''}\n"]
    if inspect.isclass(thing) and not issubclass(thing, Enum):
        for method, function in vars(thing).items():
            if inspect.isfunction(function) and not method.startswith("_") and inspect.getdoc(function):
                parts.append(f"{_call_of(f'{name}.{method}', function)}\n{inspect.getdoc(function)}\n")
    return "\n".join(parts)


def _call_of(name: str, thing: Any) -> str:
    """How something is called, with a line for each argument where one line isn't enough."""
    if inspect.isclass(thing) and issubclass(thing, Enum):
        return f"```text\n{name}: {', '.join(each.name for each in thing)}\n```\n"
    signature = inspect.signature(thing)
    shown = [each for each in signature.parameters.values() if each.name != "self"]
    texts, keywords = list[str](), False
    for each in shown:
        if each.kind is each.KEYWORD_ONLY and not keywords:
            keywords = True
            texts.append("*")
        keywords = keywords or each.kind is each.VAR_POSITIONAL
        texts.append(_argument(each))
    line = f"{name}({', '.join(texts)})"
    if len(line) > 100:
        line = f"{name}(\n" + "".join(f"    {text},\n" for text in texts) + ")"
    returned = signature.return_annotation
    arrow = "" if returned in (signature.empty, "None", None) else f" -> {returned}"
    return f"```text\n{line}{arrow}\n```\n"


def _argument(parameter: inspect.Parameter) -> str:
    """An argument with its type, as its module writes it, and its default."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    default = parameter.default
    if default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    shown = default.name if isinstance(default, Enum) else "..." if callable(default) else repr(default)
    return f"{stars}{parameter.name}{kind} = {shown}"


def picture() -> str:
    """A terminal in which an old net is shown and a typo is found."""
    console = Console(record=True, width=112, file=StringIO(), force_terminal=True, highlight=False)
    show = import_module("zoo.cli.files")
    summary = summarise(read(EXAMPLES / "digits_2013.prototxt"))
    upgraded, changes = import_module("caffe_proto").upgrade_file(read(EXAMPLES / "digits_2013.prototxt"))
    assert summary.layers
    console.print("[bold green]$[/] zoo upgrade digits_2013.prototxt digits.prototxt")
    for change in changes:
        console.print(Text(change))
    console.print("[bold green]$[/] zoo show digits.prototxt")
    show.show(console, "digits.prototxt", summarise(upgraded))
    console.print("[bold green]$[/] zoo show typo.prototxt")
    console.print(
        Text(
            "zoo: typo.prototxt:13:45: layer 'conv1': unknown field 'kernal_size' in convolution_param; "
            "did you mean kernel_size?"
        )
    )
    svg = console.export_svg(title="zoo", unique_id="zoo")
    return re.sub(r"\s*@font-face \{[^}]*\}", "", svg)  # no fonts from elsewhere


def with_code(page: str) -> str:
    """A page in which each `<!-- code: FILE NAME -->` is followed by the code that has this name in the file."""

    def block(match: re.Match[str]) -> str:
        return f"<!-- code: {match[1]} {match[2]} -->\n```python\n{_code_of(HERE.parent / match[1], match[2])}```"

    return _CODE.sub(block, page)


def _code_of(path: Path, name: str) -> str:
    """The code of a class, a function or a constant; of a method, Class.method, under the first line of its class."""
    text = path.read_text()
    lines = text.splitlines(keepends=True)
    head, node = "", _child(ast.parse(text), name.partition(".")[0])
    if "." in name:
        head = f"{lines[node.lineno - 1]}    ...\n\n"
        node = _child(node, name.partition(".")[2])
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])
    return head + "".join(lines[first - 1 : node.end_lineno])


def _child(node: ast.AST, name: str) -> ast.stmt:
    """The statement directly below a node that defines a name."""
    statements = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    return next(statement for statement in statements if name in _names_of(statement))


def _names_of(node: ast.AST) -> list[str]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def main() -> None:
    """Write the pages."""
    for page in HERE.glob("*.md"):
        page.write_text(with_code(page.read_text()))
    (HERE / "command_line.md").write_text(command_line())
    (HERE / "schemas.json").write_text(schemas())
    (HERE / "layer_types.md").write_text(layer_types())
    (HERE / "python.md").write_text(python_names())
    (HERE / "picture.svg").write_text(picture())


if __name__ == "__main__":
    main()

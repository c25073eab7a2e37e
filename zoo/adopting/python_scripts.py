"""Caffe's names in Python scripts: the files that they open, the layers that they define, and their modules. The
scripts are read and never run."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from zoo.python_source import parsed, text_of

_ROLES = {"Net": ("net", "weights"), "Classifier": ("net", "weights"), "Detector": ("net", "weights")}
_SOLVERS = re.compile(r"get_solver|\w+Solver")
_NAMES_OF_ROLES = {"weights": "weights", "model_file": "net", "network_file": "net", "pretrained_file": "weights"}
# Statements of Python 2, and their form in Python 3. A change counts only if the script is Python 3 afterwards.
_START = r"(?m)^([ \t]*+(?:[^#\n'\"]*:[ \t]*+)?)print"
_MODERN = (
    (re.compile(rf"{_START}[ \t]*>>[ \t]*([\w.]+)[ \t]*,[ \t]*+(.*[^ \t\n])[ \t]*$"), r"\1print(\3, file=\2)"),
    (re.compile(rf"{_START}[ \t]++(?![=(])(.*[^ \t\n;])[ \t]*(;?)$"), r"\1print(\2)\3"),
    (re.compile(rf"{_START}[ \t]+(\(.+)$"), r"\1print(\2)"),
    (re.compile(r"(?m)^([ \t]*)print[ \t]*$"), r"\1print()"),
    (re.compile(r"(?m)^([ \t]*except[ \t]+[\w.()]+(?:,[ \t]*[\w.]+\))?)[ \t]*,[ \t]*(\w+)[ \t]*:"), r"\1 as \2:"),
    (re.compile(r"(?m)^([ \t]*)exec[ \t]+(?!\()(.+)$"), r"\1exec(\2)"),
    (re.compile(r"\b0(\d{3})\b(?=[ \t]*\))"), r"0o\1"),
    (re.compile(r"\bopen\(([^()\n]*\.(?:binaryproto|caffemodel)[\"'])(?:,[ \t]*[\"']r[\"'])?\)"), r"open(\1, 'rb')"),
    (re.compile(r"(\.put\([ \t]*(?:str\(\w+\)|[\"'][^\"'\n]*[\"']\.format\(\w+\)))([ \t]*,)"), r"\1.encode()\2"),
)
_RENAMED = (
    (re.compile(r"\bxrange\("), "range("),
    (re.compile(r"\braw_input\("), "input("),
    (re.compile(r"\btime\.clock\("), "time.perf_counter("),
    (re.compile(r"\.iter(items|keys|values)\(\)"), r".\1()"),
    (re.compile(r"\bimport cPickle\b"), "import pickle"),
    (re.compile(r"\.tostring\(\)"), ".tobytes()"),
)


@dataclass
class PythonScript:
    """The uses of Caffe in a script.

    `files` contains the files that Caffe opens, by role, and `layers` the classes of Python layers. `missing` contains
    the modules that are neither installed nor in the project. `modern` is the script in Python 3, if it isn't already.
    """

    uses_caffe: bool = False
    files: list[tuple[int, str, str]] = field(default_factory=list)  # line, role, name
    layers: list[str] = field(default_factory=list)
    imports: set[str] = field(default_factory=set)
    modern: str | None = None
    problem: str = ""

    def missing_modules(self, own: set[str]) -> list[str]:
        """Return the modules that Python doesn't find, besides the project's own ones."""
        return sorted(name for name in self.imports - own - {"caffe", "_caffe"} if not _is_installed(name))


def _is_installed(name: str) -> bool:
    if name in sys.stdlib_module_names:
        return True
    try:
        return find_spec(name) is not None
    except (ValueError, ImportError):
        return False


def read_script(text: str) -> PythonScript:
    """Read a script of Python 3 or 2."""
    found = PythonScript()
    tree = parsed(text)
    if tree is None or any(pattern.search(text) for pattern, _ in _RENAMED):
        modern = _modernized(text, renamed_only=tree is not None)
        if parsed(modern) is None:
            modern = modern.expandtabs(8)  # Python 2 allowed lines with tabs next to lines with spaces
        tree, found.modern = parsed(modern) or tree, modern
    if tree is None:
        found.problem, found.modern = _syntax_problem(text), None
        found.uses_caffe = re.search(r"(?m)^\s*(import|from) caffe\b", text) is not None
        return found
    constants = dict[str, str]()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found.imports |= {name.name.partition(".")[0] for name in names}
            case ast.ImportFrom(module=str(module), level=0):
                found.imports.add(module.partition(".")[0])
            case ast.ClassDef(name=name, bases=bases) if any(_dotted(base).endswith("caffe.Layer") for base in bases):
                found.layers.append(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                text_value = text_of(value, constants)
                if text_value is not None:
                    constants[name] = text_value
            case ast.Call():
                found.files += _opened_files(node, constants)
    found.uses_caffe = "caffe" in found.imports
    return found


def _syntax_problem(text: str) -> str:
    try:
        ast.parse(text)
    except SyntaxError as problem:
        return f"line {problem.lineno}: {problem.msg}"
    except ValueError as problem:
        return str(problem)
    return ""


def _modernized(text: str, *, renamed_only: bool) -> str:
    """Return a script with Python 3's form of Python 2's statements and names. Every line keeps its end."""
    lines = text.split("\n")
    ends = ["\r" * line.endswith("\r") for line in lines]  # a pattern would take it for a part of the statement
    text = "\n".join(line.removesuffix("\r") for line in lines)
    for pattern, modern in _RENAMED if renamed_only else (*_MODERN, *_RENAMED):
        text = pattern.sub(modern, text)
    return "\n".join(line + end for line, end in zip(text.split("\n"), ends, strict=True))


def _dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            return f"{_dotted(value)}.{name}"
        case _:
            return ""


def _opened_files(call: ast.Call, constants: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yield the files that a call of Caffe opens, with the line and the role of each."""
    name = _dotted(call.func)
    if not name.startswith("caffe.") and name not in _ROLES:
        method = name.rpartition(".")[2]
        roles: tuple[str, ...] = ("weights",) if method == "copy_from" else ("state",) if method == "restore" else ()
    else:
        kind = name.rpartition(".")[2]
        roles = ("solver",) if _SOLVERS.fullmatch(kind) else _ROLES.get(kind, ())
    given = list(zip(roles, call.args, strict=False))
    given += [
        (_NAMES_OF_ROLES[each.arg], each.value) for each in call.keywords if roles and each.arg in _NAMES_OF_ROLES
    ]
    for role, value in given:
        text = text_of(value, constants)
        if text:
            yield call.lineno, role, text

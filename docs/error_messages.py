"""Collects the error messages of the packages from their code, for docs/errors.md and for the check that each message
ends with what to do."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGES = ("caffe_proto", "netdsl", "converters", "zoo")
_Call = tuple[ast.Call, ast.FunctionDef | None]  # with the function that contains it
_BASE = "CaffeError"
_TEXT_ERROR = (
    "zoo/requests",
    "ValueError",
)  # the parsers of options raise it, and requests turn it into a RequestError
_ADVICE_NAMES = re.compile(
    "advice|available|hint|guess|suggest|way|what to|without it|names that give|reason nothing fits|near flags",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(if|to|for|with|in|as|unless|otherwise|then|first|please|so|and|or)\b[^,:]*[,:]? ?", re.IGNORECASE
)
# Errors that become a part of another message, which ends with the advice: their place, their class, and that advice.
_PARTS = (
    *(
        (f"converters/{room}", "ConversionError", "Change these parts of the model, and convert it again")
        for room in ("incoming", "onnx_import", "torch_import")
    ),
    ("converters/onnx", "ConversionError", "Replace these layers, or export the net to torch"),
    ("netdsl/layers", "ConversionError", "Replace these layers, or export the net to torch"),
    ("zoo/store", "UnreachableError", "Get the model in another way, and store it with `zoo pull PATH --as NAME`"),
    ("zoo/store", "InterruptedTransferError", "Run the same command again, which continues the transfer"),
    ("netdsl", "PeerLostError", "The workers restart; otherwise, resume the run with --resume"),
    ("netdsl/distributed/journal.py", "DistributedError", "Resume the run, which continues from another saved round"),
)
_IMPORTER = "import_extra"  # raises an error with its last argument and the command that installs the extra
_MOST_DEPTH = 2
_MOST_TEXTS = 20  # of a name in a message; names with more texts stay names
_PLACES = {"batch", "byte", "item", "layer", "line", "net", "phase", "worker"}
_CONNECTION = re.compile(r"; |\. |, so |, or |, and |: |\? ")


@dataclass(frozen=True)
class ErrorMessage:
    """A message in the code. `text` contains a name in angle brackets for each value."""

    path: Path  # relative to the root
    line: int
    error: str
    text: str

    @property
    def room(self) -> str:
        """The package and the room that the message comes from, such as netdsl.layers."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:2])

    @property
    def advice(self) -> str:
        """What to do, from the end of the message or of the message that contains it, or an empty string."""
        return self._own_advice or next((do for path, error, do in _PARTS if self._is_from(path, error)), "")

    def _is_from(self, path: str, error: str) -> bool:
        return self.path.is_relative_to(path) and self.error == error

    @property
    def _own_advice(self) -> str:
        ends = [match.end() for match in _CONNECTION.finditer(self.text)]
        ends += [self.text.rfind("<")] if self.text.endswith(">") else []
        after_semicolon = self.text.rfind("; ") + 2 if "; " in self.text else 0
        for start in [after_semicolon, *(end for end in ends if end > after_semicolon)]:
            if is_instruction(self.text[start:]):
                return self.text[start:]
        return ""

    @property
    def problem(self) -> str:
        """What happened: the message without its advice."""
        return self.text.removesuffix(self._own_advice).rstrip("; ,:").removesuffix(", so") or self.text

    @property
    def is_passed_on(self) -> bool:
        """Whether the text is that of another error, with only a place in front or behind."""
        own_words = re.findall(r"[A-Za-z']{3,}", re.sub(r"<[^<>]*>|'<[^<>]*>'", "", self.text))
        return "<" in self.text and len(set(own_words) - _PLACES) < 2


@cache
def instruction_verbs() -> frozenset[str]:
    """Return the verbs with which an instruction begins, from docs/vocabulary.toml."""
    text = (ROOT / "docs/vocabulary.toml").read_text()
    return frozenset(tomllib.loads(text)["instructions"]["verbs"].split())


def is_instruction(clause: str) -> bool:
    """Return whether a clause is what to do: an imperative, a command, or a question such as "did you mean kernel?"."""
    clause = clause.strip()
    if clause.startswith("<"):
        return bool(_ADVICE_NAMES.search(clause[1 : clause.find(">")]))
    if clause.startswith(("`", "did you mean ", "pip install ")):
        return True
    words = re.split(r"[ ,:]", clause.strip("'"), maxsplit=1)
    if words[0].lower() in instruction_verbs():
        return True
    condition = _CONDITION.match(clause)
    rest = clause[condition.end() :] if condition else ""
    return bool(rest) and is_instruction(rest)


@cache
def error_messages() -> tuple[ErrorMessage, ...]:
    """Return the messages of all errors that the packages raise, by file and line."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    trees = {path.relative_to(ROOT): ast.parse(path.read_text()) for path in paths if not path.stem.endswith("_pb2")}
    errors = _errors_in(trees.values())
    return tuple(message for path, tree in trees.items() for message in _messages_in(path, tree, errors))


def messages_without_advice() -> list[ErrorMessage]:
    """Return the messages that don't end with what to do."""
    return [message for message in error_messages() if not message.is_passed_on and not message.advice]


def _errors_in(trees: Iterable[ast.Module]) -> set[str]:
    """Return the names of the classes that derive from our base class."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    errors, before = {_BASE}, 0
    while len(errors) > before:
        before = len(errors)
        errors |= {name for name, above in bases.items() if above & errors}
    return errors


def _messages_in(path: Path, tree: ast.Module, errors: set[str]) -> Iterator[ErrorMessage]:
    is_request = path.is_relative_to(_TEXT_ERROR[0])
    calls, constants = list(_calls_in(tree)), _constants_in(tree)
    for node, function in calls:
        error = _name_of(node.func)
        if error == _IMPORTER and len(node.args) == 3:  # its message is in another module
            _, extra, need = map(_text_of, node.args)
            yield ErrorMessage(path, node.lineno, "MissingExtraError", f"{need}: pip install 'netdsl[{extra}]'")
        if error in errors or (is_request and error == _TEXT_ERROR[1]):
            scopes = _scopes_of(function, calls, constants)
            for text in dict.fromkeys(text for scope in scopes for text in _texts_of(node.args[0], scope)):
                yield ErrorMessage(path, node.lineno, error, " ".join(text.split()))


def _constants_in(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the expressions that a module assigns to names."""
    return {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def _calls_in(node: ast.AST, function: ast.FunctionDef | None = None) -> Iterator[_Call]:
    """Yield the calls with arguments, each with the function that contains it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call) and child.args:
            yield child, function
        yield from _calls_in(child, child if isinstance(child, ast.FunctionDef) else function)


@dataclass(frozen=True)
class _Scope:
    """The texts of names at a place in a module: its constants, the variables of the function there, and the arguments
    of one of the function's calls."""

    constants: dict[str, ast.expr]
    function: ast.FunctionDef | None
    arguments: dict[str, ast.expr]
    caller: _Scope | None = None
    depth: int = 0  # the number of names through which the search has come

    def texts_of(self, name: str) -> list[str]:
        """Return the possible texts of a name, or nothing if one of them isn't written as text."""
        if self.depth == _MOST_DEPTH:
            return []
        texts = [list(_texts_of(value, replace(scope, depth=self.depth + 1))) for value, scope in self._values_of(name)]
        return [text for group in texts for text in group] if all(texts) else []

    def _values_of(self, name: str) -> Iterator[tuple[ast.expr, _Scope]]:
        """Yield the expressions that a name may stand for, each with the scope in which it is written."""
        if name in self.constants:
            yield self.constants[name], self
        if name in self.arguments and self.caller is not None:
            yield self.arguments[name], self.caller
        for node in ast.walk(self.function) if self.function else ():
            if isinstance(node, ast.Assign) and [name] == [getattr(target, "id", None) for target in node.targets]:
                yield node.value, self


def _scopes_of(function: ast.FunctionDef | None, calls: list[_Call], constants: dict[str, ast.expr]) -> list[_Scope]:
    """Return a scope for each call of a function in its module whose arguments are in order, or one without a call."""
    scopes = []
    names = [argument.arg for argument in function.args.args] if function else []
    own = names[1:] if names[:1] in (["self"], ["cls"]) else names
    for call, caller in calls if own else ():
        if function and _name_of(call.func) == function.name and len(call.args) == len(own):
            arguments = dict(zip(own, call.args, strict=True))
            scopes.append(_Scope(constants, function, arguments, _Scope(constants, caller, {})))
    return scopes or [_Scope(constants, function, {})]


def _texts_of(node: ast.expr, scope: _Scope) -> Iterator[str]:
    """Yield the possible texts of an expression that is written as text. Other expressions have none."""
    match node:
        case ast.IfExp(body=body, orelse=other):
            yield from _texts_of(body, scope)
            yield from _texts_of(other, scope)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from map("".join, product(_parts_of(left, scope), _parts_of(right, scope)))
        case ast.JoinedStr(values=values):
            yield from map("".join, product(*(_parts_of(value, scope) for value in values)))
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name):
            yield from scope.texts_of(name)


def _parts_of(node: ast.expr, scope: _Scope) -> list[str]:
    """Return the possible texts of a part of a message, or a single one with a name in angle brackets."""
    value = node.value if isinstance(node, ast.FormattedValue) else node
    texts = (
        list(_texts_of(value, scope)) if isinstance(value, (ast.Name, ast.IfExp, ast.JoinedStr, ast.Constant)) else []
    )
    return texts if 0 < len(texts) <= _MOST_TEXTS and all(len(text) > 3 for text in texts) else [_text_of(node)]


def _text_of(node: ast.expr) -> str:
    """Return an expression as text, with a name in angle brackets for each value."""
    match node:
        case ast.Constant(value=value):
            return str(value)
        case ast.JoinedStr(values=values):
            return "".join(map(_text_of, values))
        case ast.FormattedValue(value=value):
            return _text_of(value)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text_of(left) + _text_of(right)
        case ast.IfExp(body=body, orelse=ast.Constant(value="")):
            return _text_of(body)
        case ast.IfExp(body=ast.Constant() as body, orelse=ast.Constant() as other):
            return f"{body.value}/{other.value}"
        case ast.BoolOp(op=ast.And(), values=values):
            return _text_of(values[-1])
        case _:
            return f"<{_name_of(node).strip('_').replace('_', ' ').lower()}>"


def _name_of(node: ast.expr) -> str:
    """Return the name of a value, such as `shape` for `list(self.shape)`."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr="strerror"):
            return "reason"
        case ast.Attribute(attr="name" | "__name__" | "value", value=value):
            return _name_of(value)
        case ast.Attribute(attr=name):
            return name
        case ast.Call(func=ast.Name(id="len"), args=[counted]):
            return f"number of {_name_of(counted)}"
        case ast.Call(func=ast.Name(id="map"), args=[*_, mapped]):
            return _name_of(mapped)
        case ast.Call(
            func=ast.Name(
                id="list"
                | "str"
                | "sorted"
                | "repr"
                | "type"
                | "few"
                | "tuple"
                | "sum"
                | "set"
                | "first_line"
                | "excerpt"
                | "min"
                | "max"
                | "abs"
            ),
            args=[value, *_],
        ):
            return _name_of(value)
        case ast.Call(func=ast.Attribute(attr="join"), args=[joined, *_]):
            return _name_of(joined)
        case ast.Call(func=ast.Attribute(attr="strip" | "lower" | "tolist" | "keys" | "values" | "items", value=value)):
            return _name_of(value)
        case ast.Call(func=function):
            return _name_of(function)
        case ast.Subscript(value=value) | ast.Starred(value=value) | ast.Await(value=value):
            return _name_of(value)
        case ast.GeneratorExp(elt=element) | ast.ListComp(elt=element):
            return _name_of(element)
        case ast.BoolOp(values=[first, *_]) | ast.IfExp(body=first):
            return _name_of(first)
        case ast.JoinedStr(values=values):
            names = [_name_of(each.value) for each in values if isinstance(each, ast.FormattedValue)]
            return names[-1] if names else "text"
        case ast.BinOp(left=ast.Constant(), right=value) | ast.BinOp(left=value) | ast.UnaryOp(operand=value):
            return _name_of(value)
        case _:
            return "value"


_HEAD = """# The error messages

Generated by `make docs`. This page lists the errors of netdsl by the room of the code that they come from. Search it
for a few words of the message that you have. A name in angle brackets stands for a value, such as a file or a number.
In front of the message, a command also prints the file, the line or the layer. The last column is the class of the
exception in Python.

`zoo doctor` finds the causes of errors about the installation. To see which files a command opens, set
`NETDSL_LOG=debug`.
"""


def error_page() -> str:
    """Return the page with all messages, by room and then in alphabetical order."""
    rooms: dict[str, set[tuple[str, str, str]]] = {}
    for message in error_messages():
        if not message.is_passed_on:
            advice = message.advice.rstrip(".")
            advice = "See the end of the message" if re.fullmatch(r"<[^<>]*>", advice) else advice
            shown = f"`{advice}`" if advice.startswith("pip install") else advice[:1].upper() + advice[1:]
            row = (message.problem, shown, message.error)
            rooms.setdefault(message.room, set()).add(row)
    parts = [_HEAD]
    for room, rows in sorted(rooms.items()):
        parts.append(f"## {room}\n\n| What happened | What to do | Class |\n|---|---|---|\n")
        parts += ["| " + " | ".join(map(_cell, row)) + " |\n" for row in sorted(rows, key=_order)]
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n"


def _order(row: tuple[str, str, str]) -> tuple[str, tuple[str, str, str]]:
    """Return the key for the alphabetical order, which ignores values and punctuation at the start."""
    return re.sub(r"^(<[^<>]*>|[^A-Za-z<]+)+", "", row[0]).lower(), row


def _cell(text: str) -> str:
    """Return a text as a cell of a table in Markdown."""
    return re.sub(r"([\\*_$#\[\]{}~|])", r"\\\1", text).replace("<", "&lt;").replace(">", "&gt;")

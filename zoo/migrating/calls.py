"""Finds the calls in sources that read Caffe models with OpenCV, and the files that they name. No source is run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from itertools import accumulate
from pathlib import Path

from caffe_proto.limits import Limit
from zoo.python_source import parsed, text_of

PYTHON = (".py",)
CPP = (".cpp", ".cc", ".cxx", ".c++", ".h", ".hpp", ".hh")
_READERS = ("readNetFromCaffe", "readNet")
_SUFFIXES = (".prototxt", ".caffemodel")
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_CPP_CALL = re.compile(r"\b(?P<reader>readNetFromCaffe|readNet)\s*\((?P<arguments>[^();{}]*)\)")
_CPP_CONSTANT = re.compile(r'\b(?P<name>\w+)\s*(?:=|\(|\{)\s*(?P<value>"(?:[^"\\\n]|\\.)*")\s*[)}]?\s*[;,]')
_CPP_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class ReadCall:
    """A call that reads a Caffe model: its place in the text, the part of it to replace, and the files that it names as
    the source does. `files` is empty if variables name them that the source doesn't set to a constant."""

    line: int
    begin: int  # of the whole call, as a place in the text
    end: int
    prefix: str  # what stands before the reader's name, such as cv2.dnn.
    files: tuple[str, ...]


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their ends, as Python and patches count them."""
    return list(StringIO(text, newline=""))


def calls_in(path: Path) -> tuple[str, list[ReadCall]]:
    """Return the text of a source, and its calls in their order. A file that isn't text has none."""
    data = path.read_bytes()
    Limit.LIST_BYTES.check(len(data), str(path))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return "", []
    found = _python_calls(text) if path.suffix in PYTHON else _cpp_calls(text)
    return text, [call for call in found if _reads_caffe(text, call)]


def _reads_caffe(text: str, call: ReadCall) -> bool:
    """Return whether a call reads a Caffe model. `readNet` reads others too."""
    named = text[call.begin : call.end]
    return "readNetFromCaffe" in named or any(name.endswith(_SUFFIXES) for name in call.files)


def _python_calls(text: str) -> Iterator[ReadCall]:
    tree = parsed(text)
    if tree is None:
        return
    constants = _python_constants(tree)
    lines = lines_of(text)
    starts = [0, *accumulate(map(len, lines))]

    def place(line: int, column: int) -> int:
        """Return a place in the text. Python counts columns in bytes."""
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name not in _READERS or node.end_lineno is None or node.end_col_offset is None:
            continue
        begin, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        files = [text_of(value, constants) for value in values]
        prefix = text[begin : text.index(name, begin)]
        yield ReadCall(node.lineno, begin, end, prefix, _model_files(files))


def _python_constants(tree: ast.AST) -> dict[str, str]:
    """Return the variables that the source sets once, to a text."""
    values: dict[str, str | None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            values[name] = None if name in values else text_of(node.value, {})
    return {name: value for name, value in values.items() if value is not None}


def _cpp_calls(text: str) -> Iterator[ReadCall]:
    code = _CPP_COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)  # places stay the same
    values: dict[str, str | None] = {}
    for match in _CPP_CONSTANT.finditer(code):
        values[match["name"]] = None if match["name"] in values else _cpp_text(match["value"], {})
    constants = {name: value for name, value in values.items() if value is not None}
    for match in _CPP_CALL.finditer(code):
        files = [_cpp_text(part.strip(), constants) for part in match["arguments"].split(",")]
        line = text.count("\n", 0, match.start()) + 1
        yield ReadCall(line, match.start(), match.end(), "", _model_files(files))


def _cpp_text(expression: str, constants: Mapping[str, str]) -> str | None:
    literal = _STRING.fullmatch(expression)
    return literal[1].replace("\\\\", "\\") if literal else constants.get(expression)


def _model_files(files: list[str | None]) -> tuple[str, ...]:
    """Return the net and its weights among the arguments of a call, or nothing if one of them isn't known."""
    found = {Path(name).suffix: name for name in files if name is not None and name.endswith(_SUFFIXES)}
    return tuple(found[suffix] for suffix in _SUFFIXES) if len(found) == len(_SUFFIXES) else ()

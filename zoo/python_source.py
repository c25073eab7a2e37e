"""Python sources that are read and never run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping


def parsed(text: str) -> ast.Module | None:
    """Return the syntax of a source, or `None` if it isn't Python 3."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd literals
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def text_of(node: ast.expr, constants: Mapping[str, str]) -> str | None:
    """Return the text that an expression certainly has, or `None`."""
    match node:
        case ast.Constant(value=str(value)):
            return value
        case ast.Name(id=name):
            return constants.get(name)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = text_of(left, constants), text_of(right, constants)
            return None if first is None or second is None else first + second
        case ast.Call(func=ast.Name(id="str"), args=[argument]):
            return text_of(argument, constants)
        case ast.Call(func=ast.Attribute(attr="join"), args=arguments) if arguments:
            parts = [text_of(part, constants) for part in arguments]
            return None if None in parts else "/".join(map(str, parts))
        case _:
            return None

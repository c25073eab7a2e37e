"""Settings that layers read in one way: a fork's that aren't supported, and the texts of Caffe's Python layers."""

from __future__ import annotations

import ast
from typing import Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError


def refuse(settings: Message, *names: str) -> None:
    """Say so where a setting would change what a layer computes, rather than compute something else."""
    for field, value in settings.ListFields():
        harmless = field.has_default_value and value == field.default_value
        if field.name in names and not harmless:
            raise NetError(
                f"'{field.name}' is a setting of a fork of Caffe that isn't supported; remove it, or add a type"
            )


def read_param_str(text: str) -> dict[str, Any]:
    """Settings by name, from lines like `'scales': [8, 16]`, from a dict or from `dict(...)`; nothing is run."""
    text = text.replace("!!python/tuple", "").strip()
    if text.startswith("dict("):
        return _keywords(text)
    if text.startswith("{"):
        settings = _literal(text)
        if not isinstance(settings, dict):
            raise NetError(f"param_str {text!r} isn't a dict")
        return settings
    return dict(_line_setting(line) for line in text.splitlines() if line.strip())


def _keywords(text: str) -> dict[str, Any]:
    """Return what is written as `dict(split='train', seed=1)`."""
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise NetError(f"param_str {text!r} isn't a dict")
    if any(keyword.arg is None for keyword in call.keywords):
        raise NetError(f"param_str {text!r} has settings without a name")
    return {str(keyword.arg): _literal(ast.unparse(keyword.value)) for keyword in call.keywords}


def set_param_str(layer: pb.LayerParameter, **settings: Any) -> None:
    """Write settings into a Python layer's own, in place of those with the same name, in capitals or not."""
    others = read_param_str(layer.python_param.param_str)
    kept = {name: value for name, value in others.items() if name.lower() not in settings}
    layer.python_param.param_str = repr(kept | settings)


def _line_setting(line: str) -> tuple[str, Any]:
    name, colon, value = line.partition(":")
    if not colon:
        raise NetError(f"param_str has {line.strip()!r}; a setting is written as 'name': value")
    return name.strip().strip("'\""), _literal(value.strip())


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise NetError(f"param_str has {text!r}, which isn't a number, text, list or dict") from None

"""The settings of layers: refuses settings of forks that aren't supported, and reads the `param_str` of Caffe's Python
layers."""

from __future__ import annotations

import ast
from typing import Any

from google.protobuf.message import Message

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError


def refuse(settings: Message, *names: str) -> None:
    """Raise a `NetError` if one of these settings is set, because it would change what the layer computes."""
    for field, value in settings.ListFields():
        harmless = field.has_default_value and value == field.default_value
        if field.name in names and not harmless:
            raise NetError(
                f"'{field.name}' is a setting of a fork of Caffe that isn't supported; remove it, or register "
                "a layer type that has it"
            )


def read_param_str(text: str) -> dict[str, Any]:
    """Return the settings by name.

    The text consists of lines such as `'scales': [8, 16]`, a dict, or `dict(...)`. It is parsed, never executed.
    """
    text = text.replace("!!python/tuple", "").strip()
    if text.startswith("dict("):
        return _keywords(text)
    if text.startswith("{"):
        settings = _literal(text)
        if not isinstance(settings, dict):
            raise NetError(f"param_str {text!r} isn't a dict; write {{'name': value, ...}}")
        return settings
    return dict(_line_setting(line) for line in text.splitlines() if line.strip())


def _keywords(text: str) -> dict[str, Any]:
    """Return the settings in a text such as `dict(split='train', seed=1)`."""
    try:
        call = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        call = None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise NetError(f"param_str {text!r} isn't a dict; write dict(name=value, ...)")
    if any(keyword.arg is None for keyword in call.keywords):
        raise NetError(f"param_str {text!r} contains a setting without a name; write dict(name=value, ...)")
    return {str(keyword.arg): _literal(ast.unparse(keyword.value)) for keyword in call.keywords}


def set_param_str(layer: pb.LayerParameter, **settings: Any) -> None:
    """Write settings into a Python layer's `param_str`. They replace settings of the same name in any case."""
    others = read_param_str(layer.python_param.param_str)
    kept = {name: value for name, value in others.items() if name.lower() not in settings}
    layer.python_param.param_str = repr(kept | settings)


def _line_setting(line: str) -> tuple[str, Any]:
    name, colon, value = line.partition(":")
    if not colon:
        raise NetError(f"param_str contains the line {line.strip()!r}; write a setting as 'name': value")
    return name.strip().strip("'\""), _literal(value.strip())


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise NetError(f"param_str contains {text!r}; write a number, a quoted text, a list or a dict") from None

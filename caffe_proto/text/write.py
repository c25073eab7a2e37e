"""The writer of prototxt, in one layout: two spaces, one field a line, comments where they were."""

from __future__ import annotations

from caffe_proto.text.document import Body, Entry, Scalar
from caffe_proto.text.scalars import quote, unquote

_WIDTH = 100  # a block that was on one line stays there while it fits


def write(body: Body) -> str:
    """The text of a whole file."""
    lines = _block(body, "")
    while lines and not lines[0]:
        del lines[0]
    return "\n".join(lines) + "\n" if lines else ""


def _block(body: Body, indent: str) -> list[str]:
    lines = [line for entry in body.entries for line in _entry(entry, indent)]
    return lines + _comments(body.closing, indent)


def _comments(comments: list[str], indent: str) -> list[str]:
    """Comment lines, with no more than one blank line in a row."""
    return [
        indent + comment if comment else ""
        for before, comment in zip(["#", *comments], comments, strict=False)
        if comment or before
    ]


def _entry(entry: Entry, indent: str) -> list[str]:
    lines = _comments(entry.leading, indent)
    tail = f"  {entry.trailing}" if entry.trailing else ""
    if entry.bracketed and not any(entry.bodies()):
        values = ", ".join(_scalar(value) for value in entry.values if isinstance(value, Scalar))
        return [*lines, f"{indent}{entry.name}: [{values}]{tail}"]
    for value in entry.values:
        lines += _value(entry.name, value, indent)
    if tail and lines:
        lines[-1] += tail
    return lines


def _value(name: str, value: Scalar | Body, indent: str) -> list[str]:
    if isinstance(value, Scalar):
        return [f"{indent}{name}: {_scalar(value)}"]
    lines = _block(value, indent + "  ")
    if not lines:
        return [f"{indent}{name} {{ }}"]
    line = f"{indent}{name} {{ {' '.join(text.strip() for text in lines if text)} }}"
    if value.one_line and len(line) <= _WIDTH and not any("#" in text for text in lines):
        return [line]
    return [f"{indent}{name} {{", *lines, indent + "}"]


def _scalar(value: Scalar) -> str:
    """The text of a value; a string gets double quotes, and several strings in a row stay several."""
    if not value.quoted or not value.text.startswith("'"):
        return value.text
    try:
        return quote(unquote(value.text).decode())
    except ValueError:  # not UTF-8, or in a field that was skipped and never understood
        return value.text

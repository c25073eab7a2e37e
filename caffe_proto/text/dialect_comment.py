"""The comment with which the prototxt of a net says its dialect: `# dialect: pspnet`. Caffe's own parser skips it."""

from __future__ import annotations

import re
from dataclasses import replace

from caffe_proto.text.document import Body

_COMMENT = re.compile(r"#\s*dialect:\s*([\w.-]+)\s*")


def find_dialect(body: Body) -> str | None:
    """The dialect that a comment above the first field of a net says."""
    return next(iter(_said(_lines(body))), None)


def say_dialect(body: Body, name: str) -> Body:
    """The fields of a net that say its dialect once, and no other one."""
    lines = _lines(body)
    if _said(lines) == [name]:
        return body
    lines = [f"# dialect: {name}", *(line for line in lines if not _COMMENT.fullmatch(line))]
    if not body.entries:
        return replace(body, closing=lines)
    return replace(body, entries=[replace(body.entries[0], leading=lines), *body.entries[1:]])


def _lines(body: Body) -> list[str]:
    return body.entries[0].leading if body.entries else body.closing


def _said(lines: list[str]) -> list[str]:
    return [match[1] for line in lines if (match := _COMMENT.fullmatch(line))]

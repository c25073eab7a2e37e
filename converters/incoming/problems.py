"""What has no counterpart in Caffe: gathered, so that all of it is told at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from caffe_proto.errors import CaffeError
from netdsl.errors import ConversionError

_SHOWN = 3  # names for each kind of problem


class Problems:
    """Reasons by operator, each with the nodes that have it."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], list[str]] = {}

    def add(self, operator: str, node: str, reason: str = "") -> None:
        """Something that can't be converted."""
        self._found.setdefault((operator, reason), []).append(node)

    @contextmanager
    def of(self, operator: str, node: str) -> Iterator[None]:
        """Errors inside are kept for later."""
        try:
            yield
        except CaffeError as problem:
            self.add(operator, node, str(problem))

    def check(self, what: str) -> None:
        """A ConversionError with all that was found, if anything was."""
        if self._found:
            told = "; ".join(_told(*key, nodes) for key, nodes in self._found.items())
            raise ConversionError(f"{what} has what Caffe hasn't: {told}")


def _told(operator: str, reason: str, nodes: list[str]) -> str:
    more = f" and {len(nodes) - _SHOWN} more" if len(nodes) > _SHOWN else ""
    named = f"{operator} ({', '.join(map(repr, nodes[:_SHOWN]))}{more})"
    return f"{named}: {reason}" if reason else named

"""Collected problems of a conversion, so that one error reports all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from caffe_proto.errors import CaffeError
from netdsl.errors import ConversionError

_MAX_NODES = 3  # names for each kind of problem


class ConversionProblems:
    """Collects the nodes that can't be converted, by operator and reason."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[str, str], list[str]] = {}

    def add(self, operator: str, node: str, reason: str = "") -> None:
        """Add a node that can't be converted."""
        self._nodes.setdefault((operator, reason), []).append(node)

    @contextmanager
    def of(self, operator: str, node: str) -> Iterator[None]:
        """Collect errors of the block instead of raising them."""
        try:
            yield
        except CaffeError as problem:
            self.add(operator, node, str(problem))

    def check(self, what: str) -> None:
        """Raise a ConversionError with all problems, if there are any."""
        if self._nodes:
            reasons = "; ".join(_describe(*key, nodes) for key, nodes in self._nodes.items())
            raise ConversionError(f"{what} can't be converted to Caffe: {reasons}")


def _describe(operator: str, reason: str, nodes: list[str]) -> str:
    more = f" and {len(nodes) - _MAX_NODES} more" if len(nodes) > _MAX_NODES else ""
    text = f"{operator} ({', '.join(map(repr, nodes[:_MAX_NODES]))}{more})"
    return f"{text}: {reason}" if reason else text

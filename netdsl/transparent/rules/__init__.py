"""What operations make of a rank's part of a batch, by kinds of operations."""

from __future__ import annotations

from netdsl.transparent.rules import elementwise, layers, losses, reductions, shapes, values

__all__ = ["elementwise", "layers", "losses", "reductions", "shapes", "values"]

"""What operations make of a rank's part of a batch, by kinds of operations."""

from __future__ import annotations

from netdsl.transparent.rules import arithmetic, layers, shapes

__all__ = ["arithmetic", "layers", "shapes"]

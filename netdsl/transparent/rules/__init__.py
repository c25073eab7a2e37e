"""Rules for operations on a rank's part of a batch, in a module for each kind of operation."""

from __future__ import annotations

from netdsl.transparent.rules import arithmetic, layers, shapes

__all__ = ["arithmetic", "layers", "shapes"]

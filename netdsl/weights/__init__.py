"""Weights: apart from a net, matched with its layers by name, in files of every format."""

from __future__ import annotations

from netdsl.weights.collection import WeightCollection
from netdsl.weights.match import LoadReport

__all__ = ["LoadReport", "WeightCollection"]

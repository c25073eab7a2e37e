"""The parts of the onnx package that have to be imported by themselves."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from converters.onnx.library import onnx


def part(name: str) -> Any:
    """A module of the onnx package."""
    return import_module(f"{onnx().__name__}.{name}")

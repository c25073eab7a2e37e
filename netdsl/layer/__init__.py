"""What every layer type is made of: `Layer`, fillers for its blobs, and the ONNX operators that it tells itself in."""

from __future__ import annotations

from netdsl.layer.core import Count, Layer, Rewritten, Shape, axis_of

__all__ = ["Count", "Layer", "Rewritten", "Shape", "axis_of"]

"""What pycaffe says of itself: its version and its layer types."""

from __future__ import annotations

from netdsl.layers import LAYERS

__version__ = "1.0.0"  # the Caffe whose interface this is


def layer_type_list() -> list[str]:
    """The names of all layer types."""
    return sorted(LAYERS)

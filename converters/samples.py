"""Made-up inputs for a net, on which it and what it was converted to can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from netdsl.build import Built
from netdsl.layer import Shape

Array = npt.NDArray[np.float32]


def sample_inputs(built: Built, shapes: Mapping[str, Shape], seed: int = 0) -> dict[str, Array]:
    """Random numbers by name; zeros and ones for labels and the like, plausible rows for what detection nets take."""
    random = np.random.default_rng(seed)
    labels = {built.graph.blobs[edge] for edge in _labels(built)}
    height, width = max((shape[2:] for shape in shapes.values() if len(shape) == 4), default=(1, 1))
    found = {}
    for name, shape in shapes.items():
        values: npt.NDArray[Any] = random.standard_normal(shape)
        if shape[1:] == (3,) or (len(shape) == 4 and shape[1:] == (1, 1, 3)):  # an image's size and scale
            values = np.broadcast_to([height, width, 1.0], shape)
        elif len(shape) > 1 and np.prod(shape[1:]) == 5:  # regions: the image, and two corners
            values = _regions(random, shape, height, width)
        elif name in labels:
            values = random.integers(0, 2, shape) if len(shape) > 1 else np.zeros(shape)
        found[name] = np.ascontiguousarray(values, np.float32)
    return found


def _labels(built: Built) -> set[int]:
    """The edges that a layer reads without a gradient."""
    pairs = zip(built.graph.nodes, built.layers, strict=True)
    return {node.bottoms[place] for node, layer in pairs for place in layer.no_gradient if place < len(node.bottoms)}


def _regions(random: np.random.Generator, shape: Shape, height: int, width: int) -> Array:
    corners = random.uniform(0, 1, (shape[0], 2, 2)) * [width - 1, height - 1]
    rows = np.concatenate([np.zeros((shape[0], 1)), corners.min(1), corners.max(1)], 1)
    return rows.reshape(shape).astype(np.float32)

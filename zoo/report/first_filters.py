"""The filters of a net's first layer that learns, as pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netdsl.layer import Shape
from netdsl.model import Model, open_weights
from netdsl.net.build import Built
from zoo.report.pixels import Pixels, is_image, pixels_of

_MOST = 96  # filters that are shown


@dataclass(frozen=True)
class FirstFilters:
    """The filters of a layer, as the values by which it weighs the pixels of an image."""

    layer: str
    total: int
    shape: Shape
    images: tuple[Pixels, ...]


def first_filters(model: Model, weights: Path) -> FirstFilters | None:
    """The filters of the first layer that has weights, if they are images; None if they aren't."""
    built = model.layers(model.phases[0])
    blobs = open_weights(weights, [built]).weights
    for node in built.graph.nodes:
        arrays = blobs.get(node.layer.name)
        if arrays and np.asarray(arrays[0]).ndim > 1:
            return _filters(node.layer.name, np.asarray(arrays[0], np.float32), _bottom(built, node.bottoms))
    return None


def _bottom(built: Built, edges: tuple[int, ...]) -> Shape:
    return built.shapes[edges[0]][1:] if edges else ()


def _filters(layer: str, values: NDArray[np.float32], bottom: Shape) -> FirstFilters | None:
    """The filters in a blob: of windows, or of whole images for a layer that is connected to every pixel."""
    shape = values.shape[1:] if values.ndim == 4 else bottom
    if not is_image(shape) or math.prod(shape) != math.prod(values.shape[1:]):
        return None
    images = tuple(pixels_of(each.reshape(shape)) for each in values[:_MOST])
    return FirstFilters(layer, len(values), shape, images)

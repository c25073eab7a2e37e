"""Creates sample inputs for a net: random numbers, and labels, sizes or boxes for layers that read those."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from netdsl.layer import Shape
from netdsl.layer.samples import BlobKind, Size, sample_values
from netdsl.net.build import Built

Array = npt.NDArray[np.float32]


def sample_inputs(
    built: Built, shapes: Mapping[str, Shape], seed: int = 0, *, fractions: bool = False
) -> dict[str, Array]:
    """Return values for all inputs by name, in shapes that may differ from the net's own. The same seed returns the
    same values. With `fractions`, numbers are from 0 to 1."""
    kinds = {built.graph.blobs[edge]: kind for edge, kind in input_kinds(built).items()}
    image = _image_size((kinds[name], shape) for name, shape in shapes.items())
    random = np.random.default_rng(seed)
    return {
        name: sample_values(kinds[name], shape, image, random, fractions=fractions) for name, shape in shapes.items()
    }


def sample_tensors(built: Built, edges: Iterable[int]) -> dict[int, Tensor]:
    """Return values for some inputs, in the net's own shapes."""
    kinds, shapes = input_kinds(built), built.shapes
    image = _image_size((kind, shapes[edge]) for edge, kind in kinds.items())

    def sample(edge: int) -> Tensor:
        return torch.from_numpy(sample_values(kinds[edge], shapes[edge], image, np.random.default_rng(edge)))

    return {edge: sample(edge) for edge in edges}


def input_kinds(built: Built) -> dict[int, BlobKind]:
    """Return the kind of every input's values. It depends on the layers that produce or read the input."""
    kinds = {edge: layer.top_kind(at) for node, layer in built.data_layers() for at, edge in enumerate(node.tops)}
    read = _read_kinds(built)
    return {edge: read.get(edge, kind) if kind is BlobKind.NUMBER else kind for edge, kind in kinds.items()}


def _read_kinds(built: Built) -> dict[int, BlobKind]:
    """Return the kind of value that the first layer with a preference expects for each edge, even if the edge is
    reshaped first."""
    kinds: dict[int, BlobKind] = {}
    for node, layer in reversed(built.pairs()):
        for place, edge in enumerate(node.bottoms):
            wished = [kinds[top] for top in node.tops if top in kinds] if layer.keeps_values else []
            kind = next(iter(wished), layer.bottom_kind(place))
            if kind is not BlobKind.NUMBER:
                kinds[edge] = kind
    return kinds


def is_image(kind: BlobKind, shape: Shape) -> bool:
    """Return whether an input contains images, or labels for all pixels of images."""
    return len(shape) == 4 and kind in (BlobKind.NUMBER, BlobKind.LABEL)


def _image_size(inputs: Iterable[tuple[BlobKind, Shape]]) -> Size:
    """Return the height and width of the largest images."""
    return max(((shape[2], shape[3]) for kind, shape in inputs if is_image(kind, shape)), default=(1, 1))

"""Made-up inputs for a net: random numbers, and labels, sizes and boxes where its layers read such."""

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


def sample_inputs(built: Built, shapes: Mapping[str, Shape], seed: int = 0) -> dict[str, Array]:
    """Values for all inputs by name, in shapes that may be others than the net's own; the same ones for a seed."""
    kinds = {built.graph.blobs[edge]: kind for edge, kind in input_kinds(built).items()}
    image = _image_size((kinds[name], shape) for name, shape in shapes.items())
    random = np.random.default_rng(seed)
    return {name: sample_values(kinds[name], shape, image, random) for name, shape in shapes.items()}


def sample_input(built: Built, edge: int) -> Tensor:
    """Values for one input, in the net's own shape."""
    kinds = input_kinds(built)
    image = _image_size((kind, built.shapes[other]) for other, kind in kinds.items())
    return torch.from_numpy(sample_values(kinds[edge], built.shapes[edge], image, np.random.default_rng(edge)))


def input_kinds(built: Built) -> dict[int, BlobKind]:
    """What the values of every input are, as the layers that bring it or read it say."""
    kinds = {edge: layer.top_kind(at) for node, layer in built.data_layers() for at, edge in enumerate(node.tops)}
    for node, layer in built.pairs():
        for place, edge in enumerate(node.bottoms):
            if kinds.get(edge) is BlobKind.NUMBER:
                kinds[edge] = layer.bottom_kind(place)
    return kinds


def is_image(kind: BlobKind, shape: Shape) -> bool:
    """Whether an input has images, or labels for all places of images."""
    return len(shape) == 4 and kind in (BlobKind.NUMBER, BlobKind.LABEL)


def _image_size(inputs: Iterable[tuple[BlobKind, Shape]]) -> Size:
    """Height and width of the largest images."""
    return max(((shape[2], shape[3]) for kind, shape in inputs if is_image(kind, shape)), default=(1, 1))

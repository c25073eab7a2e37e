"""Images that are sent to a GPU as bytes, a quarter of what they become there: which can be, and what is left to do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
import torch
from torch import Tensor

from netdsl.data.transforms.transform import ImageTransform, Transform
from netdsl.data.types import Array


def sends_bytes(transform: ImageTransform | None, array: Array) -> bool:
    """Whether a batch can have the bytes of such images.

    They are resized, cut and mirrored before; then the mean must be the same everywhere, which that of a file isn't.
    """
    return array.dtype == np.uint8 and isinstance(transform, Transform) and transform.mean_is_even


def finished(transforms: Sequence[ImageTransform | None], tops: Sequence[Tensor]) -> list[Tensor]:
    """The tops of a batch in float32, wherever they are: of bytes the mean is subtracted, and they are scaled.

    The values have the bits that they have where all of that is done image by image. Nothing is waited for, since
    numbers come from Python.
    """
    return [
        _arithmetic(transform, top) if isinstance(transform, Transform) and top.dtype is torch.uint8 else top
        for transform, top in zip_longest(transforms[: len(tops)], tops)
    ]


def _arithmetic(transform: Transform, pixels: Tensor) -> Tensor:
    values = pixels.float()
    means = transform.even_mean(values.shape[-3])
    if len(set(means)) > 1:
        for channel, mean in zip(values.unbind(-3), means, strict=True):
            channel.sub_(mean)
    elif means and means[0]:
        values.sub_(means[0])
    return values.mul_(transform.scale) if transform.scale != 1 else values

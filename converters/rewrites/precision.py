"""Weights of fewer bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from netdsl.errors import ConversionError
from netdsl.model import Model
from netdsl.weights.match import AnyArray
from netdsl.weights.tensor_files import Precision


def rounded(model: Model, precision: Precision) -> Model:
    """The model with weights that have the precision. They are still float32, as Caffe wants them."""
    weights = {name: [_rounded(array, precision) for array in arrays] for name, arrays in model.weights.items()}
    lost = [
        name
        for name, arrays in weights.items()
        if any(_overflows(*pair) for pair in zip(model.weights[name], arrays, strict=True))
    ]
    if lost:
        raise ConversionError(
            f"{precision.name.lower()} has no values as large as in layer {', '.join(map(repr, lost))}"
        )
    return replace(model, weights=weights, file=None)


def _rounded(array: AnyArray, precision: Precision) -> AnyArray:
    return torch.from_numpy(np.array(array)).to(precision.value).float().numpy()


def _overflows(before: AnyArray, after: AnyArray) -> bool:
    return bool(np.isfinite(before).all() and not np.isfinite(after).all())

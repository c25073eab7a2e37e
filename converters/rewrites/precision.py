"""The rounding of weights to fewer bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from netdsl.errors import ConversionError
from netdsl.model import Model
from netdsl.weights.match import AnyArray
from netdsl.weights.tensor_files import Precision


def round_weights(model: Model, precision: Precision) -> Model:
    """Round the weights of a model to a precision. They are still stored as float32, as Caffe needs."""
    weights = {name: [_round(array, precision) for array in arrays] for name, arrays in model.weights.items()}
    overflowing = [
        name
        for name, arrays in weights.items()
        if any(_overflows(*pair) for pair in zip(model.weights[name], arrays, strict=True))
    ]
    if overflowing:
        raise ConversionError(
            f"{precision.name.lower()} has no values as large as in layer {', '.join(map(repr, overflowing))}"
        )
    return replace(model, weights=weights, file=None)


def _round(array: AnyArray, precision: Precision) -> AnyArray:
    return torch.from_numpy(np.array(array)).to(precision.value).float().numpy()


def _overflows(before: AnyArray, after: AnyArray) -> bool:
    return bool(np.isfinite(before).all() and not np.isfinite(after).all())

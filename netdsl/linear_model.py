"""Fits linear models to items with classes, by ridge regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

_PENALTIES = 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0  # of the weights, relative to the size of the features
_FACTORS = np.geomspace(0.1, 1000, 81)


@dataclass(frozen=True)
class LinearModel:
    """A linear model of items' classes.

    `scores_of_others` contains, for each item, the scores that the model gives it if it is fitted to the other items.
    """

    weights: Values  # a row for each class
    offsets: Values
    scores_of_others: Values

    def scores(self, features: Values) -> Values:
        """Return the score of each class for each item."""
        return features @ self.weights.T + self.offsets


def linear_model(
    features: Values, labels: NDArray[np.int64], classes: int, *, with_offsets: bool = True
) -> LinearModel:
    """Return the linear model whose scores have the least squared error. A score should be 1 for the item's class and 0
    for the others.

    Of several penalties, the one counts that predicts most items correctly if each of them is left out in turn, or that
    has the lower error among equals.
    """
    targets = np.eye(classes)[labels]
    mean = features.mean(0) if with_offsets else np.zeros(features.shape[1])
    base = targets.mean(0) if with_offsets else np.zeros(classes)
    spread = features.std(0)
    spread[spread < 1e-6 * max(spread.max(), 1e-12)] = np.inf  # a constant feature gets no weight
    inputs, outputs = (features - mean) / spread, targets - base
    values, vectors = np.linalg.eigh(inputs @ inputs.T)
    values = values.clip(min=0)
    rotated = vectors.T @ outputs

    def left_out(penalty: float) -> Values:
        shares = values / (values + penalty * inputs.size)
        own = np.einsum("ij,j,ij->i", vectors, shares, vectors) + (1 / len(inputs) if with_offsets else 0.0)
        errors: Values = (outputs - vectors @ (shares[:, None] * rotated)) / np.maximum(1 - own, 1e-6)[:, None]
        return targets - errors

    def quality(penalty: float) -> tuple[float, float]:
        scores = scores_of_others[penalty]
        return float((scores.argmax(1) == labels).mean()), -float(np.square(targets - scores).mean())

    scores_of_others = {penalty: left_out(penalty) for penalty in _PENALTIES}
    penalty = max(_PENALTIES, key=quality)
    weights = (inputs.T @ (vectors @ (rotated / (values + penalty * inputs.size)[:, None])) / spread[:, None]).T
    return LinearModel(weights, base - weights @ mean, scores_of_others[penalty])


def factor_to_probabilities(scores: Values, labels: NDArray[np.int64]) -> float:
    """Return the factor of scores whose softmax gives the labels the highest likelihood."""

    def loss(factor: float) -> float:
        scaled = factor * (scores - scores.max(1, keepdims=True))
        return float((np.log(np.exp(scaled).sum(1)) - scaled[np.arange(len(labels)), labels]).mean())

    return float(min(_FACTORS, key=loss))

"""Linear models of items with classes."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.linear_model import LinearModel, Values, factor_to_probabilities, linear_model


@pytest.mark.parametrize("with_offsets", [True, False])
def test_scores_of_others_are_those_of_a_model_without_the_item(with_offsets: bool) -> None:
    random = np.random.default_rng(1)
    features, labels = random.normal(size=(30, 12)), random.integers(0, 3, 30)
    model = linear_model(features, labels, 3, with_offsets=with_offsets)
    targets, spread = np.eye(3)[labels], features.std(0)
    penalty = penalty_of(model, features, targets, with_offsets=with_offsets)
    for item in range(0, 30, 7):
        others = np.arange(30) != item
        inputs = features[others] / spread
        left = np.c_[inputs, np.ones(29)] if with_offsets else inputs
        penalties = np.diag([penalty] * 12 + [0.0] * with_offsets)
        weights = np.linalg.solve(left.T @ left + penalties, left.T @ targets[others])
        own = np.r_[features[item] / spread, [1.0] * with_offsets]
        np.testing.assert_allclose(model.scores_of_others[item], own @ weights, rtol=1e-6, atol=1e-9)


def penalty_of(model: LinearModel, features: Values, targets: Values, *, with_offsets: bool) -> float:
    """Return the penalty of a model's weights, from the equation that ridge regression solves."""
    spread = features.std(0)
    inputs = (features - (features.mean(0) if with_offsets else 0)) / spread
    outputs = targets - (targets.mean(0) if with_offsets else 0)
    weights = (model.weights * spread).T
    pull = inputs.T @ (outputs - inputs @ weights)
    return float((pull * weights).sum() / np.square(weights).sum())


def test_a_model_without_a_relation_gives_small_weights() -> None:
    random = np.random.default_rng(1)
    features = random.normal(size=(40, 200))
    model = linear_model(features, np.arange(40) % 2, 2)
    assert np.abs(model.scores(features) - 0.5).max() < 0.5


def test_the_factor_makes_scores_probabilities() -> None:
    random = np.random.default_rng(1)
    logits = random.normal(size=(5000, 4))
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = np.array([random.choice(4, p=each) for each in probabilities])
    assert factor_to_probabilities(logits / 20, labels) == pytest.approx(20, rel=0.15)

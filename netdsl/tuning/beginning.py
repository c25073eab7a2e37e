"""Measures how a fine-tuning begins: the weights of the new heads, and the learning rate.

Both are measured on copies of the net, before training begins. They become part of the run, so all workers and resumed
runs use the same values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from netdsl.layer import Layer
from netdsl.linear_model import Values, factor_to_probabilities, linear_model
from netdsl.model.model import Model
from netdsl.model.weights.files import array_of, learned_layers
from netdsl.model.weights.match import AnyArray
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import SolverSettings
from netdsl.solver.solver import Solver
from netdsl.solver.trainable_net import Compute
from netdsl.tuning.new_head import ACCURACY, reading_training_data_in_tests

_MARGIN = 0.05  # the part of ln N by which a new head's scores of the right classes exceed the average
_SCORES = 0.1  # root mean square of a new head's scores if it can't be fitted
_MOST_ITEMS = 2000  # that a head is fitted to
_MOST_FEATURES = 20_000_000  # of all items together
_RANGE = 100.0  # the range test's rates begin at the usual one divided by this, and end at the usual one times it
_STEPS = 48  # iterations of the range test
_SMOOTHED = 5  # iterations whose mean loss the range test compares
_WORSE = 2.0  # times the first loss; the range test ends there
_SAFE = 4.0  # by which the rate with the lowest loss is divided, since the net follows a rising rate with a delay


@dataclass(frozen=True)
class FittedHeads:
    """The initial weights of new heads, and the factors by which large features lower the weights' learning rates.

    `to_probabilities` contains the heads that predict the classes of the training items, with the factors of their
    weights that make the softmax of their scores the probabilities of classes. The other heads have random weights.
    """

    weights: Mapping[str, list[AnyArray]]
    rates: Mapping[str, float]
    to_probabilities: Mapping[str, float]

    @property
    def with_probabilities(self) -> dict[str, list[AnyArray]] | None:
        """The weights of all heads, with scores whose softmax contains probabilities, or `None` if a head has random
        weights."""
        if self.to_probabilities.keys() != self.weights.keys():
            return None
        return {
            name: [(blob * factor).astype(blob.dtype) for blob in self.weights[name]]
            for name, factor in self.to_probabilities.items()
        }

    @property
    def notices(self) -> list[str]:
        """A sentence about the weights of each head."""
        return [
            f"the new layer '{name}' begins as "
            + (
                "the linear model that best predicts the classes from its features"
                if name in self.to_probabilities
                else "a layer with random weights, because it isn't a linear model of its features"
            )
            for name in self.weights
        ]


def fitted_heads(
    settings: SolverSettings, heads: Sequence[str], weights: Sequence[Model], compute: Compute, items: int
) -> FittedHeads:
    """Fit new heads to the features that they read, as linear models of the training items' classes.

    `items` is the number of training items, of which up to 2,000 are read. A head that isn't a linear model of its
    features keeps the values of its fillers. All heads are then scaled so that their scores differ little. The loss
    thus begins near ln N for N classes, whatever the size of the features.
    """
    model = settings.net_to_train
    model = replace(model, net=reading_training_data_in_tests(model.net), file=None)
    settings = settings.with_net(model).with_fields(test_iter=[1], test_interval=1)
    with open_solver(settings, compute=compute, weights=weights) as solver, ExitStack() as hooks:
        (net,) = solver.tests
        layers = {name: layer for name, layer in learned_layers(net.built).items() if name in heads}
        samples = {name: _Sample() for name in layers}
        for name, layer in layers.items():
            hooks.callback(layer.register_forward_hook(samples[name].record).remove)
        labels = list[NDArray[np.int64]]()
        (accuracy,) = (layer for layer in net.built.layers if layer.layer.name == ACCURACY)
        hooks.callback(
            accuracy.register_forward_hook(
                lambda layer, bottoms, top: labels.append(bottoms[1].reshape(-1).long().cpu().numpy())
            ).remove
        )
        while sum(map(len, labels)) < min(items, _MOST_ITEMS) and all(sample.has_room for sample in samples.values()):
            net.forward()
        blobs, factors = dict[str, list[AnyArray]](), dict[str, float]()
        for name, layer in layers.items():
            sample, random = samples[name], [array_of(blob) for blob in layer.blob_tensors()]
            head = sample.fitted_head(np.concatenate(labels), random)
            if head is None:
                blobs[name] = [blob * _rounded(_SCORES / sample.score_size) for blob in random]
            else:
                blobs[name], factors[name] = head
    return FittedHeads(
        blobs, {name: _rounded(1 / max(1.0, sample.feature_size)) for name, sample in samples.items()}, factors
    )


@dataclass
class _Sample:
    """What a head reads and computes for some items, each value averaged over the positions of an image."""

    features: list[Values] = field(default_factory=list)
    scores: list[Values] = field(default_factory=list)
    feature_size: float = 1.0  # the root mean squares of the first batch's values
    score_size: float = 1.0

    def record(self, layer: nn.Module, bottoms: tuple[Tensor, ...], top: Tensor) -> None:
        """Record a batch."""
        assert isinstance(layer, Layer)
        if not self.features:
            self.feature_size, self.score_size = _size(bottoms[0]), _size(top)
        weight = next(iter(layer.blob_tensors()))
        whole = bottoms[0].flatten(1)
        is_flat = whole.shape[1] * len(weight) == weight.numel()
        self.features.append(_values(whole if is_flat else bottoms[0].flatten(2).mean(2)))
        self.scores.append(_values(top.flatten(2).mean(2) if top.dim() > 2 else top))

    @property
    def has_room(self) -> bool:
        """Whether more items may be recorded."""
        return sum(values.size for values in self.features) < _MOST_FEATURES

    def fitted_head(self, labels: NDArray[np.int64], blobs: Sequence[AnyArray]) -> tuple[list[AnyArray], float] | None:
        """Return a head's blobs that predict the labels, and the factor of the blobs that makes its scores
        probabilities. Returns `None` if the head isn't a linear model of its features or has another number of
        outputs."""
        features, scores, weight = np.concatenate(self.features), np.concatenate(self.scores), blobs[0]
        matrix = weight.reshape(len(weight), -1).astype(np.float64)
        bias = blobs[1].reshape(-1) if len(blobs) == 2 else np.zeros(len(weight))
        if len(blobs) > 2 or matrix.shape[1] != features.shape[1] or labels.min() < 0 or labels.max() >= len(weight):
            return None
        gain = _gain(features @ matrix.T, scores - bias) if scores.shape == (len(features), len(weight)) else None
        if gain is None:
            return None
        fitted = linear_model(features, labels, len(weight), with_offsets=len(blobs) == 2)
        predicted = fitted.scores(features)
        margin = float((predicted[np.arange(len(labels)), labels] - predicted.mean(1)).mean())
        if not 0 < margin < math.inf:
            return None
        scale = _MARGIN * math.log(len(weight)) / margin
        pair = [fitted.weights * (scale / gain), fitted.offsets * scale][: len(blobs)]
        head = [part.astype(blob.dtype).reshape(blob.shape) for part, blob in zip(pair, blobs, strict=True)]
        return head, factor_to_probabilities(fitted.scores_of_others, labels) / scale


def _gain(computed: Values, scores: Values) -> float | None:
    """Return the factor between computed values and scores, or `None` if no factor explains the scores.

    It isn't 1 if a layer pads its images, because padding lowers averages over positions.
    """
    size = float(np.square(computed).sum())
    gain = float((computed * scores).sum()) / size if size > 0 else 0.0
    unexplained = float(np.square(scores - gain * computed).sum())
    return gain if gain > 0 and unexplained < 1e-4 * float(np.square(scores).sum()) else None


def _values(batch: Tensor) -> Values:
    return batch.detach().double().cpu().numpy().reshape(len(batch), -1)


def _size(values: Tensor) -> float:
    """Return the root mean square of values, or 1 if it isn't a positive number."""
    size = math.sqrt(float(values.double().square().mean()))
    return size if 0 < size < math.inf else 1.0


def _rounded(factor: float) -> float:
    """Return a factor with two digits, so that machines whose sums differ in the last bits find the same one."""
    return float(f"{factor:.2g}")


@dataclass(frozen=True)
class RateTest:
    """The learning rate that a test found, and its number of iterations."""

    rate: float
    iterations: int


def find_rate(settings: SolverSettings, weights: Sequence[Model], compute: Compute) -> RateTest:
    """Return a quarter of the learning rate at which the loss is lowest while the rate rises.

    The range test is a short training whose rate rises from a hundredth of the rate in the settings to a hundred times
    it, or until the loss rises far above its first value.
    """
    usual = settings.param.base_lr
    growth = _RANGE ** (2 / (_STEPS - 1))
    fields = {"base_lr": usual / _RANGE, "lr_policy": "exp", "gamma": growth, "max_iter": _STEPS}
    rising = settings.without_tests().with_fields(
        **fields, average_loss=_SMOOTHED, display=0, snapshot=0, snapshot_after_train=False
    )
    with open_solver(rising, compute=compute, weights=weights, require_finite=False) as solver:
        losses = list(_losses(solver))
    lowest = min(range(len(losses)), key=lambda step: losses[step], default=0)
    rate = usual / _RANGE * growth**lowest / _SAFE
    return RateTest(float(f"{rate:.1g}"), len(losses))


def _losses(solver: Solver) -> Iterator[float]:
    """Yield the mean of the last losses after each iteration, until the loss is far above the first one."""
    limit = math.inf
    for iteration in range(_STEPS):
        solver.iterate()
        if not solver.loss < limit:
            return
        limit = _WORSE * solver.loss if iteration == 0 else limit
        yield solver.loss

"""Measures how a fine-tuning begins: the size of the new heads' weights, and the learning rate.

Both are measured on copies of the net, before training begins. They become part of the run, so all workers and resumed
runs use the same values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from torch import Tensor, nn

from netdsl.layer import Layer
from netdsl.model.model import Model
from netdsl.model.weights.files import array_of, learned_layers
from netdsl.model.weights.match import AnyArray
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import SolverSettings
from netdsl.solver.trainable_net import Compute

_SCORES = 0.1  # root mean square of a new head's outputs, so small that all classes begin with equal probabilities
_STEPS = 15  # iterations of a trial
_FACTOR = math.sqrt(10)  # between the rates of two trials
_TRIALS = 3  # on each side of the usual rate, at most
_WORSE = 1.2  # times the lowest loss of all trials; higher rates aren't tried then
_LEARNED = 0.9  # the part of the first loss below which a net has learned something


@dataclass(frozen=True)
class ScaledHeads:
    """The initial weights of new heads, and the factors by which large features lower the weights' learning rates."""

    weights: Mapping[str, list[AnyArray]]
    rates: Mapping[str, float]


def scaled_heads(
    settings: SolverSettings, heads: Sequence[str], weights: Sequence[Model], compute: Compute
) -> ScaledHeads:
    """Scale new heads to the features that they read.

    The heads get the values of their fillers. They are then scaled so that their outputs are small for the first batch
    of training data, whatever the size of the features. The loss then begins at ln N for N classes.
    """
    features, outputs = dict[str, float](), dict[str, float]()

    def measure(layer: nn.Module, bottoms: tuple[Tensor, ...], top: Tensor) -> None:
        assert isinstance(layer, Layer)
        features[layer.layer.name], outputs[layer.layer.name] = _size(bottoms[0]), _size(top)

    with (
        open_solver(_computing_only(settings), compute=compute, weights=weights, require_finite=False) as solver,
        ExitStack() as hooks,
    ):
        layers = {name: layer for name, layer in learned_layers(solver.net.built).items() if name in heads}
        for layer in layers.values():
            hooks.callback(layer.register_forward_hook(measure).remove)
        solver.net.forward()
        scaled = {
            name: [array_of(blob) * _rounded(_SCORES / outputs[name]) for blob in layer.blob_tensors()]
            for name, layer in layers.items()
        }
    return ScaledHeads(scaled, {name: _rounded(1 / max(1.0, features[name])) for name in layers})


def _size(values: Tensor) -> float:
    """Return the root mean square of values, or 1 if it isn't a positive number."""
    size = math.sqrt(float(values.double().square().mean()))
    return size if 0 < size < math.inf else 1.0


def _rounded(factor: float) -> float:
    """Return a factor with two digits, so that machines whose sums differ in the last bits find the same one."""
    return float(f"{factor:.2g}")


@dataclass(frozen=True)
class RateTest:
    """The learning rate of the best trial, and the number of iterations of all trials."""

    rate: float
    iterations: int


def find_rate(settings: SolverSettings, weights: Sequence[Model], compute: Compute) -> RateTest:
    """Return the learning rate with the lowest loss at the end of short trials.

    Each trial is a training from the same weights, on the same batches, whose rate falls as in the real training. The
    first trial has the rate in the settings. The next ones have higher rates, until the loss is much higher than the
    lowest one. If none of them is better, lower rates follow, as long as they improve on the
    others or while the net has learned nothing.
    """
    usual, first = settings.param.base_lr, 0.0
    losses = dict[int, float]()

    def lowest() -> int:
        return min(losses, key=lambda step: (losses[step], step))

    for step in range(_TRIALS + 1):
        first, losses[step] = _losses_of_trial(settings, _rate(usual, step), weights, compute)
        if not losses[step] <= _WORSE * losses[lowest()]:
            break
    for step in range(-1, -_TRIALS - 1, -1):
        if lowest() > 0 or (lowest() != step + 1 and losses[lowest()] < _LEARNED * first):
            break
        _, losses[step] = _losses_of_trial(settings, _rate(usual, step), weights, compute)
    return RateTest(_rate(usual, lowest()), _STEPS * len(losses))


def _rate(usual: float, step: int) -> float:
    return float(f"{usual * _FACTOR**step:.1g}") if step else usual


def _losses_of_trial(
    settings: SolverSettings, rate: float, weights: Sequence[Model], compute: Compute
) -> tuple[float, float]:
    """Return the first loss of a short training, and the mean loss at its end, or infinity if a loss isn't finite."""
    trial = _computing_only(settings).with_fields(base_lr=rate, max_iter=_STEPS, average_loss=_STEPS // 3)
    with open_solver(trial, compute=compute, weights=weights, require_finite=False) as solver:
        solver.iterate()
        first = solver.loss
        while solver.iteration < _STEPS and math.isfinite(solver.loss):
            solver.iterate()
        return first, solver.loss if math.isfinite(solver.loss) else math.inf


def _computing_only(settings: SolverSettings) -> SolverSettings:
    """Return the settings of a training that only computes."""
    return settings.without_tests().with_fields(display=0, snapshot=0, snapshot_after_train=False)

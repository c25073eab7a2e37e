"""The update rules of Caffe's six solvers. Each updates a stretch of weights with its gradients and history.

The only number that changes from step to step is the rule's `factor`. It is a Python number, or a tensor without axes
on the weights' device. With a tensor, a GPU that repeats a recorded step reads the current factor. Both forms produce
the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError

Factor = float | Tensor


class Rule(Protocol):
    """An update rule, which changes weights and history in place. It may overwrite the gradient."""

    histories: ClassVar[int] = 1  # number of history values for each weight

    def factor(self, rate: float, iteration: int) -> float:
        """Return the factor of an iteration's steps. This is the learning rate unless the rule corrects it."""
        return rate

    def __call__(self, weights: Tensor, gradient: Tensor, history: list[Tensor], factor: Factor) -> None:
        """Update the weights and the history."""
        ...


@dataclass(frozen=True)
class SGD(Rule):
    """Momentum. Caffe's rule: the learning rate is part of the velocity."""

    momentum: float

    def __call__(self, weights: Tensor, gradient: Tensor, history: list[Tensor], factor: Factor) -> None:
        """Apply v = momentum v + rate g; w -= v."""
        weights.sub_(_add_product(history[0].mul_(self.momentum), gradient, factor))


@dataclass(frozen=True)
class Nesterov(Rule):
    """Nesterov's momentum: a step back by the old velocity, then a step over by the new one."""

    momentum: float

    def __call__(self, weights: Tensor, gradient: Tensor, history: list[Tensor], factor: Factor) -> None:
        """Apply w += momentum v; v = momentum v + rate g; w -= (1 + momentum) v."""
        velocity = history[0]
        weights.add_(velocity, alpha=self.momentum)
        _add_product(velocity.mul_(self.momentum), gradient, factor)
        weights.sub_(velocity, alpha=1 + self.momentum)


@dataclass(frozen=True)
class AdaGrad(Rule):
    """Steps divided by the root of the sum of all squared gradients so far."""

    delta: float

    def __call__(self, weights: Tensor, gradient: Tensor, history: list[Tensor], factor: Factor) -> None:
        """Apply s += g g; w -= rate g / (sqrt(s) + delta)."""
        squares = history[0].addcmul_(gradient, gradient)
        _add_quotient(weights, gradient, squares.sqrt().add_(self.delta), -factor)


@dataclass(frozen=True)
class RMSProp(Rule):
    """Steps divided by the root of a decaying mean of squared gradients."""

    decay: float
    delta: float

    def __call__(self, weights: Tensor, gradient: Tensor, history: list[Tensor], factor: Factor) -> None:
        """Apply s = decay s + (1 - decay) g g; w -= rate g / (sqrt(s) + delta)."""
        squares = history[0].mul_(self.decay).addcmul_(gradient, gradient, value=1 - self.decay)
        _add_quotient(weights, gradient, squares.sqrt().add_(self.delta), -factor)


@dataclass(frozen=True)
class AdaDelta(Rule):
    """Steps scaled by the ratio of two decaying means: of squared updates and of squared gradients."""

    momentum: float
    delta: float
    histories: ClassVar[int] = 2

    def __call__(self, weights: Tensor, gradient: Tensor, history: list[Tensor], factor: Factor) -> None:
        """Apply steps of g sqrt((u + delta) / (s + delta)), where u and s are the means."""
        squares, updates = history
        squares.mul_(self.momentum).addcmul_(gradient, gradient, value=1 - self.momentum)
        gradient.mul_(((updates + self.delta) / (squares + self.delta)).sqrt_())
        updates.mul_(self.momentum).addcmul_(gradient, gradient, value=1 - self.momentum)
        _add_product(weights, gradient, -factor)


@dataclass(frozen=True)
class Adam(Rule):
    """Steps from decaying means of gradients and of their squares. Both are corrected for their start at zero."""

    momentum: float
    momentum2: float
    delta: float
    histories: ClassVar[int] = 2

    def factor(self, rate: float, iteration: int) -> float:
        """Return the rate times c, which corrects for the start at zero."""
        count = iteration + 1
        return rate * (math.sqrt(1 - self.momentum2**count) / (1 - self.momentum**count))

    def __call__(self, weights: Tensor, gradient: Tensor, history: list[Tensor], factor: Factor) -> None:
        """Apply w -= rate c m / (sqrt(s) + delta)."""
        mean, squares = history
        mean.mul_(self.momentum).add_(gradient, alpha=1 - self.momentum)
        squares.mul_(self.momentum2).addcmul_(gradient, gradient, value=1 - self.momentum2)
        _add_quotient(weights, mean, squares.sqrt().add_(self.delta), -factor)


def _add_product(target: Tensor, values: Tensor, factor: Factor) -> Tensor:
    """Add the product of values and a factor, in place. For an `alpha` on a GPU, torch would wait."""
    if isinstance(factor, Tensor):
        return target.addcmul_(values, factor)
    return target.add_(values, alpha=factor)


def _add_quotient(target: Tensor, dividend: Tensor, divisor: Tensor, factor: Factor) -> Tensor:
    """Add the product of a factor and a quotient, in place."""
    if isinstance(factor, Tensor):
        return target.addcdiv_(dividend * factor, divisor)
    return target.addcdiv_(dividend, divisor, value=factor)


def rule_of(param: pb.SolverParameter) -> Rule:
    """Return the rule of a solver's type, with its settings."""
    match param.type:
        case "SGD":
            return SGD(param.momentum)
        case "Nesterov":
            return Nesterov(param.momentum)
        case "AdaGrad":
            _without_momentum(param)
            return AdaGrad(param.delta)
        case "RMSProp":
            _without_momentum(param)
            _fraction(param.rms_decay, "rms_decay")
            return RMSProp(param.rms_decay, param.delta)
        case "AdaDelta":
            return AdaDelta(param.momentum, param.delta)
        case "Adam":
            _fraction(param.momentum, "momentum")
            return Adam(param.momentum, param.momentum2, param.delta)
    raise SolverError(f"unknown solver type '{param.type}'; set it to one of {', '.join(TYPES)}")


TYPES = tuple(rule.__name__ for rule in (SGD, Nesterov, AdaGrad, RMSProp, AdaDelta, Adam))


def _without_momentum(param: pb.SolverParameter) -> None:
    if param.momentum:
        raise SolverError(f"solver type {param.type} doesn't use momentum; remove `momentum: {param.momentum:g}`")


def _fraction(value: float, name: str) -> None:
    if not 0 <= value < 1:
        raise SolverError(f"{name} is {value:g}; set it to at least 0 and below 1")

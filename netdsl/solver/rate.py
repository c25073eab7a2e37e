"""Caffe's seven learning-rate policies."""

from __future__ import annotations

import math
from collections.abc import Callable

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError

Policy = Callable[[pb.SolverParameter, int, int], float]  # of the settings, the iteration and the step


def next_step(param: pb.SolverParameter, iteration: int, step: int) -> int:
    """The step of an iteration, that is how often the rate was lowered, from the step of the one before.

    Caffe's rule: `multistep` takes at most one step in an iteration, and continues from the step of a solver state.
    """
    if param.lr_policy == "step":
        return iteration // _positive(param, "stepsize")
    if param.lr_policy == "multistep" and step < len(param.stepvalue) and iteration >= param.stepvalue[step]:
        return step + 1
    return step


def rate_at(param: pb.SolverParameter, iteration: int, step: int) -> float:
    """The learning rate of an iteration."""
    return policy_of(param)(param, iteration, step)


def policy_of(param: pb.SolverParameter) -> Policy:
    """The policy that a solver names."""
    if param.lr_policy not in POLICIES:
        problem = f"unknown lr_policy '{param.lr_policy}'" if param.lr_policy else "the solver has no lr_policy"
        raise SolverError(f"{problem}; it is one of {', '.join(POLICIES)}")
    return POLICIES[param.lr_policy]


def _positive(param: pb.SolverParameter, name: str) -> int:
    value: int = getattr(param, name)
    if value <= 0:
        raise SolverError(f"lr_policy '{param.lr_policy}' needs a {name} above 0")
    return value


def _gamma(param: pb.SolverParameter) -> float:
    if param.gamma < 0:
        raise SolverError(f"gamma is {param.gamma:g}; lr_policy '{param.lr_policy}' needs one that isn't negative")
    return param.gamma


def _fixed(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr


def _stepped(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr * math.pow(_gamma(param), step)


def _exp(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr * math.pow(_gamma(param), iteration)


def _inv(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr * math.pow(1 + _gamma(param) * iteration, -param.power)


def _poly(param: pb.SolverParameter, iteration: int, step: int) -> float:
    left = 1 - iteration / _positive(param, "max_iter")
    return param.base_lr * math.pow(max(left, 0.0), param.power)


def _sigmoid(param: pb.SolverParameter, iteration: int, step: int) -> float:
    return param.base_lr / (1 + math.exp(-_gamma(param) * (iteration - _positive(param, "stepsize"))))


POLICIES: dict[str, Policy] = {
    "fixed": _fixed,
    "step": _stepped,
    "exp": _exp,
    "inv": _inv,
    "multistep": _stepped,
    "poly": _poly,
    "sigmoid": _sigmoid,
}

"""The update of all weights, one stretch of the buffer at a time: clipping, weight decay and the solver's rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.optim.sgd import sgd

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError
from netdsl.layer.running import on_cpu
from netdsl.solver.flat import FlatGradients, FlatWeights
from netdsl.solver.rules import SGD, Factor, rule_of
from netdsl.solver.trainable_net import LossScale

_LEAST_RATE = 1e-8  # a rate; for a smaller one, 1 - (1 - rate) loses digits in float32
_LARGEST = torch.finfo(torch.float32).max  # the largest number by which weights can be multiplied
_CACHED_VALUES = 1 << 18  # values; a stretch of weights, gradients and history then fits into the cache
_COPIED_VALUES = 1 << 24  # values of a stretch that a GPU copies until it is known whether the step counts


class Updater:
    """Updates a net's weights with their gradients, following a solver's settings."""

    def __init__(self, param: pb.SolverParameter, weights: FlatWeights, loss_scale: LossScale | None = None) -> None:
        if param.regularization_type not in ("L1", "L2"):
            raise SolverError(f"unknown regularization_type '{param.regularization_type}'; set it to L1 or L2")
        self.param, self.weights, self.rule, self.loss_scale = param, weights, rule_of(param), loss_scale
        self.gradients = FlatGradients(weights)
        learned = weights.buffer[: weights.learned_size]
        self.histories = [torch.zeros_like(learned) for _ in range(self.rule.histories)]
        self._factors = StepFactors(len(weights.groups), learned)
        self._prepared_rates: Sequence[float] = ()
        self._one_pass = self._whole_update() if on_cpu(learned) else None
        self._stretches = self._cut_into_stretches() if self._one_pass is None else []

    def _whole_update(self) -> _OnePassMomentum | None:
        """Return a faster update for a CPU that does everything in one pass, or `None` if the settings need more."""
        param, rule = self.param, self.rule
        plain = self.loss_scale is None and param.clip_gradients < 0 and param.regularization_type == "L2"
        if not plain or not isinstance(rule, SGD) or not rule.momentum:
            return None
        velocities, batches = self.histories[0], param.iter_size
        return _OnePassMomentum(rule.momentum, param.weight_decay, self.weights, velocities, batches=batches)

    def _cut_into_stretches(self) -> list[_Stretch]:
        """Return all learned blobs in stretches. Needs memory for the gradients' buffer and for one stretch."""
        whole = max(1, self.weights.learned_size) if self.loss_scale is None else _COPIED_VALUES
        longest = _CACHED_VALUES if on_cpu(self.weights.buffer) else whole
        places = [
            (index, start, min(start + longest, group.stop))
            for index, group in enumerate(self.weights.groups)
            for start in range(group.start, group.stop, longest)
        ]
        scaled = self.gradients.buffer.new_empty(max((stop - start for _, start, stop in places), default=0))
        return [
            _Stretch(
                self.weights.buffer[start:stop],
                self.gradients.buffer[start:stop],
                [history[start:stop] for history in self.histories],
                scaled[: stop - start],
                group,
                self.weights.groups[group].decay_mult,
            )
            for group, start, stop in places
        ]

    def begin(self, rate: float, *, in_buffer: bool = False) -> None:
        """Begin a step with a rate. The blobs' gradients must be cleared.

        Autograd adds to the gradients' buffer if `in_buffer` is set or the update needs it. Otherwise autograd leaves
        each gradient where it creates it, which saves a CPU two passes over all of them.
        """
        if in_buffer or self._one_pass is None or not self._one_pass.takes(self._rates(rate)):
            self.gradients.clear()

    def _rates(self, rate: float) -> list[float]:
        """Return the rates of all groups."""
        return [rate * group.lr_mult for group in self.weights.groups]

    def apply(self, rate: float, iteration: int) -> None:
        """Update the weights with the blobs' gradients. With a loss scale, gradients that aren't finite change
        nothing."""
        self.prepare(rate, iteration)
        self.update()

    def prepare(self, rate: float, iteration: int) -> None:
        """Set everything that depends on the iteration, and that the next update can't find on the device."""
        rates = self._rates(rate)
        fastest = max(map(abs, rates), default=0.0)
        if not fastest <= _LARGEST:
            raise SolverError(f"iteration {iteration}: the learning rate is {fastest:g}; lower base_lr, or its lr_mult")
        self._prepared_rates = rates
        self._factors.set([self.rule.factor(each, iteration) for each in rates])

    @torch.no_grad()
    def update(self) -> None:
        """Update the weights as prepared. A GPU can record and repeat this part."""
        if self._one_pass is not None and self._one_pass.takes(self._prepared_rates):
            self._one_pass(self._prepared_rates)
            return
        self._stretches = self._stretches or self._cut_into_stretches()
        self.gradients.gather()
        finite = None if self.loss_scale is None else self.loss_scale.unscale(self.gradients.buffer)
        scale = self._scale()
        for stretch in self._stretches:
            with nullcontext() if finite is None else _undone_unless(finite, stretch):
                gradient = self._regularized(stretch, scale)
                self.rule(stretch.weights, gradient, stretch.histories, self._factors[stretch.group])
        if self.loss_scale is not None and finite is not None:
            self.loss_scale.update(finite)

    def _regularized(self, stretch: _Stretch, scale: Tensor | float) -> Tensor:
        """Return a gradient times the scale, plus weight decay. Returns a copy if either changes it."""
        gradient, weights, decay = stretch.gradient, stretch.weights, self.param.weight_decay * stretch.decay_mult
        if isinstance(scale, Tensor) or scale != 1 or not decay:
            gradient = torch.mul(gradient, scale, out=stretch.scaled)
        if not decay:
            return gradient
        penalty = weights if self.param.regularization_type == "L2" else weights.sign()
        return torch.add(gradient, penalty, alpha=decay, out=stretch.scaled)

    def _scale(self) -> Tensor | float:
        """Return the factor of the gradients. It is a tensor if it depends on them, so that the program doesn't wait
        for a GPU.

        Caffe's rule: `clip_gradients` limits the norm of all gradients, before they are divided by iter_size.
        """
        most = self.param.clip_gradients
        if most < 0:
            return 1 / self.param.iter_size
        norm = torch.nn.utils.get_total_norm(self.gradients.views.values()).double()
        return torch.where(norm > most, most / norm, 1.0) / self.param.iter_size

    def history(self) -> Iterator[Tensor]:
        """Yield the history, blob by blob in Caffe's order, with zeros for blobs that don't learn."""
        for history in self.histories:
            for blob in self.weights.blobs:
                yield self.weights.view(history, blob) if blob.learns else torch.zeros_like(blob.tensor)


@contextmanager
def _undone_unless(finite: Tensor, stretch: _Stretch) -> Iterator[None]:
    """Undo changes to a stretch's weights and histories inside the context if gradients aren't finite."""
    changed = [stretch.weights, *stretch.histories]
    before = [values.clone() for values in changed]
    yield
    for values, old in zip(changed, before, strict=True):
        torch.where(finite, values, old, out=values)


@dataclass(frozen=True)
class _Stretch:
    """A part of a group that is updated at once, as views of all buffers."""

    weights: Tensor
    gradient: Tensor
    histories: list[Tensor]
    scaled: Tensor  # memory for the gradient that the rule receives
    group: int
    decay_mult: float


class StepFactors:
    """A rule's factor for each group of blobs, which changes in every step.

    On a CPU these are Python numbers. A GPU has them in its own memory, and they are sent without waiting. This is safe
    because torch reuses pinned memory only after it was copied.
    """

    def __init__(self, count: int, weights: Tensor) -> None:
        self._there = weights.new_zeros(count) if weights.is_cuda else None
        self._values: Sequence[Factor] = () if self._there is None else self._there.unbind()

    def __getitem__(self, group: int) -> Factor:
        return self._values[group]

    def set(self, factors: Sequence[float]) -> None:
        """Set the factors of the next step."""
        if self._there is None:
            self._values = factors
        else:
            here = torch.tensor(factors, dtype=self._there.dtype).pin_memory()
            self._there.copy_(here, non_blocking=True)


class _OnePassMomentum:
    """SGD with momentum and L2 decay, blob by blob. Reads gradients wherever autograd has left them.

    In torch's rule the rate isn't part of the velocity, as it is in Caffe's. Here torch's rate is 1, and Caffe's rate
    is the factor of the gradient, which torch receives as 1 - dampening.
    """

    def __init__(
        self, momentum: float, decay: float, weights: FlatWeights, velocities: Tensor, *, batches: int = 1
    ) -> None:
        """Create an update for gradients that are sums over this many batches."""
        self._momentum, self._batches = momentum, batches
        self._blobs = [[blob.tensor for blob in group.blobs] for group in weights.groups]
        self._velocities = [[weights.view(velocities, blob) for blob in group.blobs] for group in weights.groups]
        self._decays = [decay * group.decay_mult * batches for group in weights.groups]

    def takes(self, rates: Sequence[float]) -> bool:
        """Return whether these rates of the groups are large enough to be exact here."""
        return all(rate == 0 or abs(rate / self._batches) >= _LEAST_RATE for rate in rates)

    def __call__(self, rates: Sequence[float]) -> None:
        """Update the weights and the velocities."""
        for blobs, velocities, decay, rate in zip(self._blobs, self._velocities, self._decays, rates, strict=True):
            if blobs[0].is_meta:  # there is nothing to do, and torch's kernel doesn't support meta tensors
                continue
            sgd(
                blobs,
                [_dense_gradient(blob) for blob in blobs],
                list(velocities),
                weight_decay=decay,
                momentum=self._momentum,
                lr=1.0,
                dampening=1 - rate / self._batches,
                nesterov=False,
                maximize=False,
                fused=True,
            )


def _dense_gradient(blob: Tensor) -> Tensor:
    """Return a blob's gradient in the blob's memory order, which torch doesn't check. Returns zeros if nothing depends
    on the blob."""
    if blob.grad is None:
        return torch.zeros_like(blob)
    axes = zip(blob.shape, blob.stride(), blob.grad.stride(), strict=True)
    if all(own == other or length == 1 for length, own, other in axes):
        return blob.grad
    return torch.empty_like(blob).copy_(blob.grad)

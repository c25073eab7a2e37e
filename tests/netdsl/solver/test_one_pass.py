"""Updates in one pass over memory, beside Caffe's formula in double precision."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.solver.flat import FlatWeights
from netdsl.solver.solver import Solver
from netdsl.solver.update import Updater

MOMENTUM, DECAY = 0.9, 0.25


def train(net: object, rate: float, gradients: Callable[[Tensor], Tensor | None], iter_size: int = 1) -> Tensor:
    """By how much the weights change, beside what the formula says; the bias has no decay."""
    param = pb.SolverParameter(type="SGD", momentum=MOMENTUM, weight_decay=DECAY, iter_size=iter_size)
    updater = Updater(param, FlatWeights(net.built))
    weight = updater.weights.blobs[0].tensor
    before, expected, velocity = weight.detach().clone(), weight.detach().double(), 0.0
    for iteration in range(3):
        for blob in updater.weights.blobs:
            blob.tensor.grad = gradients(blob.tensor)
        gradient = 0 if weight.grad is None else weight.grad.double()
        velocity = MOMENTUM * velocity + rate * (gradient / iter_size + DECAY * expected)
        expected = expected - velocity
        updater.apply(rate, iteration)
    torch.testing.assert_close(next(updater.history()).double(), velocity, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(weight.double(), expected, rtol=1e-5, atol=1e-7)
    return weight.detach() - before


@pytest.mark.parametrize("rate", [0.1, 1e-12], ids=["usual", "tiny"])
@pytest.mark.parametrize("iter_size", [1, 4])
def test_momentum_and_decay_follow_caffes_formula_to_the_last_digits(rate: float, iter_size: int, regression) -> None:
    def gradient(blob: Tensor) -> Tensor:
        return torch.randn(blob.shape) / rate  # as large as those of sums over whole images

    assert train(regression(), rate, gradient, iter_size).abs().min() > 1e-4


def test_gradients_count_in_whatever_order_their_values_lie(regression) -> None:
    train(regression(), 0.1, lambda blob: torch.randn(blob.shape[::-1]).permute(*reversed(range(blob.dim()))))


def test_weights_that_nothing_depends_on_decay_all_the_same(regression) -> None:
    assert train(regression(), 0.1, lambda blob: None).any()


def test_who_reads_gradients_before_the_update_finds_them_in_the_buffer(regression) -> None:
    """Also who begins to during an iteration, in which autograd leaves them elsewhere."""
    found = []
    for late in (False, True):
        torch.manual_seed(3)
        param = pb.SolverParameter(type="SGD", base_lr=0.1, lr_policy="fixed", momentum=MOMENTUM, max_iter=2)
        solver = Solver(param, regression())

        def double(solver: Solver = solver) -> None:
            solver.updater.gradients.buffer.mul_(2)

        if late:
            solver.on_start.append(lambda solver=solver, double=double: solver.on_gradients_ready.append(double))
        else:
            solver.on_gradients_ready.append(double)
        solver.iterate()
        found.append(solver.weights.buffer.clone())
    assert torch.equal(*found)
    torch.manual_seed(3)
    plain = Solver(param, regression())
    plain.iterate()
    assert not torch.equal(plain.weights.buffer, found[0])


def test_a_rate_too_small_for_one_pass_takes_gradients_from_the_buffer_of_the_step(regression) -> None:
    """As FCN's, whose losses are sums over whole images; their memory isn't taken a second time."""
    param = pb.SolverParameter(type="SGD", base_lr=1e-12, lr_policy="fixed", momentum=MOMENTUM, max_iter=2)
    solver = Solver(param, regression())
    solver.iterate()
    blobs = [blob.tensor for blob in solver.weights.blobs if blob.learns]
    start = solver.updater.gradients.buffer.untyped_storage().data_ptr()
    assert all(blob.grad.untyped_storage().data_ptr() == start for blob in blobs)

"""One update of all weights, compared with the formulas in double precision and with torch's own optimizers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import SolverError
from netdsl.solver import update
from netdsl.solver.flat import FlatWeights
from netdsl.solver.solver import Solver
from netdsl.solver.update import Updater

# Some steps in float32, compared with the same steps in float64.
TOLERANCE = 1e-5


def updater_of(net: object, **settings: object) -> Updater:
    return Updater(pb.SolverParameter(**settings), FlatWeights(net.built))


def weights_of(net: object) -> list[torch.Tensor]:
    return [blob.detach().clone() for layer in net.built.layers for blob in layer.blob_tensors()]


def test_decay_follows_its_kind_and_the_blobs_multiplier(regression) -> None:
    for kind, decayed in (("L2", lambda w: w), ("L1", torch.sign)):
        net = regression()
        updater = updater_of(net, type="SGD", weight_decay=0.5, regularization_type=kind)
        weight, bias = weights_of(net)
        updater.apply(0.1, 0)
        after = weights_of(net)
        torch.testing.assert_close(after[0], weight - 0.1 * 0.5 * decayed(weight))
        assert torch.equal(after[1], bias)  # decay_mult is 0


def test_a_bias_learns_twice_as_fast_and_batches_are_averaged(regression) -> None:
    net = regression()
    updater = updater_of(net, type="SGD", iter_size=4)
    weight, bias = weights_of(net)
    for layer in net.built.layers:
        for blob in layer.blob_tensors():
            blob.grad = torch.full_like(blob, 8)
    updater.apply(0.1, 0)
    torch.testing.assert_close(weights_of(net), [weight - 0.1 * 2, bias - 0.2 * 2])


def test_gradients_are_clipped_by_their_sum_over_batches(regression) -> None:
    net = regression()
    updater = updater_of(net, type="SGD", iter_size=2, clip_gradients=3)
    weight, bias = weights_of(net)
    blobs = [blob for layer in net.built.layers for blob in layer.blob_tensors()]
    for blob in blobs:
        blob.grad = torch.full_like(blob, 5)  # eight values with a norm of 5 sqrt(8)
    updater.apply(1.0, 0)
    step = 3 / 8**0.5 / 2
    torch.testing.assert_close(weights_of(net), [weight - step, bias - 2 * step])


@pytest.mark.parametrize(
    ("settings", "peer"),
    [
        ({"type": "SGD", "momentum": 0.9}, lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)),
        ({"type": "Nesterov", "momentum": 0.9}, lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True)),
        ({"type": "AdaGrad", "delta": 1e-8}, lambda p: torch.optim.Adagrad(p, 0.1, eps=1e-8)),
        ({"type": "RMSProp", "rms_decay": 0.9}, lambda p: torch.optim.RMSprop(p, 0.1, alpha=0.9, eps=1e-8)),
        ({"type": "AdaDelta", "momentum": 0.9}, lambda p: torch.optim.Adadelta(p, 0.1, rho=0.9, eps=1e-8)),
    ],
)
def test_with_a_constant_rate_rules_equal_torchs_own(
    settings: dict[str, object], peer: Callable[..., torch.optim.Optimizer], regression
) -> None:
    """Only Adam differs: Caffe adds delta before the correction, torch after it."""
    torch.manual_seed(1)
    net = regression()
    updater = updater_of(net, **{"delta": 1e-8, **settings})
    blobs = [blob for layer in net.built.layers for blob in layer.blob_tensors()]
    theirs = [blob.detach().clone().double().requires_grad_() for blob in blobs]
    optimizer = peer(theirs)
    for iteration in range(4):
        for blob, other in zip(blobs, theirs, strict=True):
            blob.grad = torch.randn_like(blob, requires_grad=False)
            other.grad = blob.grad.double()
        for group in updater.weights.groups:
            assert group.decay_mult in (0, 1)
        updater.apply(0.1, iteration)
        optimizer.step()
    # The bias has lr_mult 2, so only the weights are compared.
    np.testing.assert_allclose(blobs[0].detach(), theirs[0].detach(), rtol=TOLERANCE, atol=TOLERANCE)


def test_long_buffers_are_updated_in_parts_with_the_same_result(regression, monkeypatch) -> None:
    found = []
    for longest in (1 << 17, 5):
        monkeypatch.setattr(update, "_CACHED_VALUES", longest)
        torch.manual_seed(2)
        net = regression()
        updater = updater_of(net, type="Adam", momentum=0.9, weight_decay=0.1)
        for iteration in range(3):
            for layer in net.built.layers:
                for blob in layer.blob_tensors():
                    blob.grad = torch.randn_like(blob, requires_grad=False)
            updater.apply(0.1, iteration)
        found.append(weights_of(net))
    assert all(map(torch.equal, *found))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"type": "Adamm"}, "unknown solver type 'Adamm'; set it to one of SGD, Nesterov"),
        ({"type": "AdaGrad", "momentum": 0.9}, "doesn't use momentum"),
        ({"type": "RMSProp", "momentum": 0.9}, "doesn't use momentum"),
        ({"type": "RMSProp", "rms_decay": 1}, "rms_decay is 1"),
        ({"type": "SGD", "regularization_type": "L3"}, "unknown regularization_type 'L3'"),
    ],
)
def test_invalid_rules_are_refused(settings: dict[str, object], says: str, regression) -> None:
    with pytest.raises(SolverError, match=says):
        updater_of(regression(), **settings)


MOMENTUM, DECAY = 0.9, 0.25


def weight_change(net: object, rate: float, gradients: Callable[[Tensor], Tensor | None], iter_size: int = 1) -> Tensor:
    """Return the change of the weights, and the change by the formula. The bias has no decay."""
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
        return torch.randn(blob.shape) / rate  # as large as gradients of sums over whole images

    assert weight_change(regression(), rate, gradient, iter_size).abs().min() > 1e-4


def test_gradients_in_any_memory_layout_count(regression) -> None:
    weight_change(regression(), 0.1, lambda blob: torch.randn(blob.shape[::-1]).permute(*reversed(range(blob.dim()))))


def test_unused_weights_decay_too(regression) -> None:
    assert weight_change(regression(), 0.1, lambda blob: None).any()


def test_gradients_that_are_read_before_the_update_are_in_the_buffer(regression) -> None:
    """This includes readers that start during an iteration, in which autograd stores gradients elsewhere."""
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


def test_a_tiny_rate_updates_from_the_steps_gradient_buffer(regression) -> None:
    """FCN is an example: its losses are sums over whole images. The memory of the step isn't allocated a second
    time."""
    param = pb.SolverParameter(type="SGD", base_lr=1e-12, lr_policy="fixed", momentum=MOMENTUM, max_iter=2)
    solver = Solver(param, regression())
    solver.iterate()
    blobs = [blob.tensor for blob in solver.weights.blobs if blob.learns]
    start = solver.updater.gradients.buffer.untyped_storage().data_ptr()
    assert all(blob.grad.untyped_storage().data_ptr() == start for blob in blobs)

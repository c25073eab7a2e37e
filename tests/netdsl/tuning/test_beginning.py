"""Measuring how a fine-tuning begins: the weights of new heads, and the learning rate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from netdsl import Net
from netdsl.model.model import Model
from netdsl.model.opening import open_model
from netdsl.solver.open_solver import open_solver
from netdsl.solver.settings import SolverSettings
from netdsl.solver.trainable_net import Compute
from netdsl.tuning.beginning import find_rate, fitted_heads
from netdsl.tuning.new_head import DataLayers, heads_of, tunable_model, with_head_rates


def tuned(name: str, classes: int, size: int, channels: int = 3) -> tuple[SolverSettings, list[str], Model]:
    """Return the settings to fine-tune a net of the catalogue on shapes, its new heads, and weights for the others."""
    model = open_model(name)
    if not model.weights:
        model = model.with_weights(Net(name).get_weights())
    transform = pb.TransformationParameter(scale=1 / 256, force_color=channels == 3, force_gray=channels == 1)
    transform.resize_param.add(resize_mode=pb.ResizeParameter.WARP, height=size, width=size)
    phases = (pb.TRAIN, pb.TEST)
    source = f"shapes:train?kinds={','.join(['cross', 'flower', 'ring', 'hexagon', 'star'][:classes])}"
    layers = DataLayers(dict.fromkeys(phases, source), dict.fromkeys(phases, 6), dict.fromkeys(phases, transform))
    tunable = tunable_model(model, layers, heads_of(model, {}, classes), "new")
    param = pb.SolverParameter(base_lr=0.001, lr_policy="poly", power=1, momentum=0.9, max_iter=50, random_seed=1)
    return SolverSettings(param, Model(tunable.model.net)), list(tunable.heads.values()), model


def first_losses(settings: SolverSettings, weights: Model) -> list[float]:
    """Return the losses of the first batch, without their weights."""
    with open_solver(settings, weights=[weights]) as solver:
        solver.net.forward()
        return [float(top) for name, top in solver.net.outputs().items() if name in solver.net.loss_weights()]


@pytest.mark.parametrize(
    ("name", "classes", "size", "channels"),
    [
        ("shapes", 4, 40, 3),
        ("lenet", 2, 28, 1),
        ("cifar10-quick", 5, 32, 3),
        ("cifar-resnet-20", 3, 32, 3),
        ("squeezenet-1.1", 5, 67, 3),
    ],
)
def test_the_first_loss_is_that_of_equal_probabilities(name: str, classes: int, size: int, channels: int) -> None:
    settings, heads, weights = tuned(name, classes, size, channels)
    fitted = fitted_heads(settings, heads, [weights], Compute(), 60)
    has_finite_features = name != "cifar-resnet-20"  # random weights, without statistics for batch normalization
    assert list(fitted.to_probabilities) == (list(heads) if has_finite_features else [])
    for loss in first_losses(settings, weights.with_weights(fitted.weights)):
        assert loss == pytest.approx(math.log(classes), rel=0.1)


def test_a_fitted_head_predicts_classes_as_well_as_a_linear_model_of_the_features() -> None:
    settings, heads, weights = tuned("shapes", 3, 40)
    fitted = fitted_heads(settings, heads, [weights], Compute(), 300)
    assert accuracy(settings, weights.with_weights(fitted.weights)) > 0.8


def accuracy(settings: SolverSettings, weights: Model) -> float:
    """Return the accuracy on 120 items for tests."""
    with open_solver(settings.with_fields(test_iter=[20], test_interval=1), weights=[weights]) as solver:
        tested = solver.test()
        assert tested is not None
        return next(float(each.values[0]) for each in tested.outputs if each.name == "accuracy")


def test_large_features_lower_the_learning_rate_of_the_heads_weights_only() -> None:
    settings, (head,), weights = tuned("shapes", 4, 40)
    weights = weights.with_weights({"ip1": [100 * blob for blob in weights.weights["ip1"]]})
    fitted = fitted_heads(settings, [head], [weights], Compute(), 60)
    assert fitted.rates[head] < 1
    (layer,) = (each for each in with_head_rates(settings.net_to_train.net, fitted.rates).layer if each.name == head)
    assert layer.param[0].lr_mult == pytest.approx(10 * fitted.rates[head])
    assert layer.param[1].lr_mult == 20


def test_measurements_are_repeatable() -> None:
    settings, heads, weights = tuned("shapes", 3, 40)
    first, second = (fitted_heads(settings, heads, [weights], Compute(), 60) for _ in range(2))
    assert all(np.array_equal(*pair) for pair in zip(first.weights[heads[0]], second.weights[heads[0]], strict=True))
    initial = [weights.with_weights(first.weights)]
    assert find_rate(settings, initial, Compute()) == find_rate(settings, initial, Compute())


@pytest.mark.parametrize("usual", [1e-5, 3.0], ids=["too low", "too high"])
def test_the_found_rate_is_near_a_useful_one(usual: float) -> None:
    settings, heads, weights = tuned("shapes", 3, 40)
    initial = [weights.with_weights(fitted_heads(settings, heads, [weights], Compute(), 60).weights)]
    found = find_rate(settings.with_fields(base_lr=usual), initial, Compute()).rate
    assert found > usual if usual < 1 else found < usual

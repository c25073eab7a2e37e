"""BN: the layers of two forks under one name."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from netdsl.errors import NetError, ShapeError
from netdsl.layers.bn import BN

SHAPE = (4, 3, 2, 5)
SEGNET = "scale_filler { type: 'constant' value: 1 } shift_filler { type: 'constant' value: 0.5 }"
PSPNET = "slope_filler { type: 'constant' value: 2 } bias_filler { type: 'constant' value: 0.25 }"


def bn(settings, tops=1, shape=SHAPE, dialect="") -> BN:
    message = from_text("top: 't' " * tops + f"bn_param {{ {settings} }}", pb.LayerParameter)
    message.dialects.extend([dialect] if dialect else [])
    layer = BN(message, [shape])
    layer.allocate("cpu", {})
    return layer.double()


def normalized(x, eps):
    """Normalize each item with the batch's mean and variance of each channel."""
    top = np.zeros_like(x)
    for c in range(x.shape[1]):
        mean = sum(x[:, c].flat) / x[:, c].size
        variance = sum((value - mean) ** 2 for value in x[:, c].flat) / x[:, c].size
        top[:, c] = (x[:, c] - mean) / np.sqrt(variance + eps)
    return top


def some(shape=SHAPE):
    return np.random.default_rng(1).normal(3, 2, shape)


@pytest.mark.parametrize("training", [True, False])
def test_segnet_always_uses_the_batchs_statistics(training):
    layer, x = bn(SEGNET).train(training), some()
    assert layer.blob_names() == ["slope", "bias"]
    assert tuple(layer.slope.shape) == (1, 3, 1, 1)
    np.testing.assert_allclose(layer(torch.from_numpy(x)).detach(), normalized(x, 1e-9) + 0.5, rtol=1e-9)


def test_segnet_inference_has_no_statistics():
    layer, x = bn("bn_mode: INFERENCE " + SEGNET.replace("value: 1", "value: 3")).train(), some()
    np.testing.assert_allclose(layer(torch.from_numpy(x)).detach(), 3 * x + 0.5)


def test_segnet_shows_mean_and_variance():
    layer, x = bn("", tops=3), some()
    _, mean, variance = layer(torch.from_numpy(x))
    assert layer.top_shapes([SHAPE]) == [SHAPE, (1, 3, 1, 1), (1, 3, 1, 1)]
    np.testing.assert_allclose(mean.flatten(), x.mean((0, 2, 3)))
    np.testing.assert_allclose(variance.flatten(), x.var((0, 2, 3)))


def test_pspnet_keeps_averages_while_training():
    layer, x = bn(PSPNET + " momentum: 0.8 eps: 0.01").train(), some()
    assert layer.blob_names() == ["slope", "bias", "mean", "variance"]
    for _ in range(2):
        np.testing.assert_allclose(
            layer(torch.from_numpy(x)).detach(), 2 * normalized(x, 0.01) + 0.25, rtol=1e-9, atol=1e-9
        )
    np.testing.assert_allclose(layer.mean.flatten(), (0.2 + 0.8 * 0.2) * x.mean((0, 2, 3)))
    np.testing.assert_allclose(layer.variance.flatten(), (0.2 + 0.8 * 0.2) * x.var((0, 2, 3)))


@pytest.mark.parametrize(("settings", "training"), [("frozen: true", True), ("", False)])
def test_pspnet_uses_averages(settings, training):
    layer, x = bn(PSPNET + settings).train(training), some()
    assert layer.variance.flatten().tolist() == [1.0 if settings else 0.0] * 3
    with torch.no_grad():
        layer.mean.copy_(torch.tensor([1.0, 2, 3]).view(1, 3, 1, 1))
        layer.variance.copy_(torch.tensor([4.0, 5, 6]).view(1, 3, 1, 1))
    wanted = np.zeros_like(x)
    for n, c, h, w in np.ndindex(*SHAPE):
        wanted[n, c, h, w] = 2 * (x[n, c, h, w] - [1, 2, 3][c]) / np.sqrt([4, 5, 6][c] + 1e-5) + 0.25
    np.testing.assert_allclose(layer(torch.from_numpy(x)).detach(), wanted, rtol=1e-9)
    assert layer.mean.flatten().tolist() == [1, 2, 3]


def test_frozen_learns_nothing():
    layer = bn(PSPNET + " frozen: true")
    assert not layer.slope.requires_grad
    assert not layer.bias.requires_grad


@pytest.mark.parametrize("settings", [SEGNET, PSPNET, "bn_mode: INFERENCE " + SEGNET])
@pytest.mark.parametrize("shape", [(3, 2, 2, 2), (5, 2)])
def test_gradients(settings, shape):
    layer = bn(settings, shape=shape).train()
    x = torch.rand(shape, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, *_: layer(x), (x, layer.slope, layer.bias))


def test_one_value_for_a_channel_is_the_bias():
    layer = bn(PSPNET, shape=(1, 3, 1, 1)).train()
    assert layer(torch.rand(1, 3, 1, 1).double()).flatten().tolist() == [0.25] * 3


def test_wrong_settings_are_refused():
    with pytest.raises(NetError, match="moving_average"):
        bn(SEGNET + " moving_average: true")
    with pytest.raises(NetError, match="no mean and variance"):
        bn("bn_mode: INFERENCE", tops=2)
    with pytest.raises(ShapeError, match="2 to 4 axes"):
        bn(SEGNET, shape=(3,))


def test_synopsys_marks_the_layer_as_pspnets():
    assert bn(f"{SEGNET} icnet: true").runs
    assert not bn(f"{SEGNET} icnet: false").runs


def test_happynear_averages_inverse_deviations():
    layer = bn("momentum: 0.75 eps: 0.44 slope_filler { value: 1 }", shape=(2, 1), dialect="happynear")
    assert layer.variance.item() == 1
    x = torch.tensor([[1.0], [5.0]]).double()  # mean 3, variance 4; with eps the deviation is 2.1071...
    inverse = (4 + 0.44) ** -0.5
    np.testing.assert_allclose(layer.train()(x).detach().flatten(), [-2 * inverse, 2 * inverse], rtol=1e-6)
    assert layer.mean.item() == pytest.approx(0.75)
    assert layer.variance.item() == pytest.approx(0.75 + 0.25 * inverse)
    with torch.no_grad():
        layer.mean.fill_(2)
        layer.variance.fill_(3)
    assert layer.eval()(x).flatten().tolist() == [-3, 9]
    frozen = bn("frozen: true slope_filler { value: 1 }", shape=(2, 1), dialect="happynear-ms")
    frozen.variance.fill_(3)
    assert frozen.train()(x).flatten().tolist() == [3, 15]


def test_the_first_happynear_adds_eps_only_while_training():
    layer = bn(SEGNET + "var_eps: 5 decay: 0.75", shape=(2, 1), dialect="happynear")
    x = torch.tensor([[1.0], [5.0]]).double()
    np.testing.assert_allclose(layer.train()(x).detach().flatten(), [-2 / 3 + 0.5, 2 / 3 + 0.5])
    assert layer.variance.item() == pytest.approx(0.75 + 0.25 * 4)
    layer.variance.fill_(4)
    layer.mean.fill_(1)
    assert layer.eval()(x).flatten().tolist() == [0.5, 2.5]
    with pytest.raises(NetError, match="moving_average: false"):
        bn("moving_average: false", dialect="happynear")


@pytest.mark.parametrize(
    ("dialect", "settings", "blobs"),
    [("segnet", "", 2), ("deconvnet", "", 2), ("synopsys", "", 2), ("synopsys", "icnet: true", 4), ("pspnet", "", 4),
     ("tsn", "", 4), ("", "", 4), ("bvlc", "", 4)],
)  # fmt: skip
def test_without_settings_the_dialect_decides(dialect, settings, blobs):
    layer = bn(settings, dialect=dialect)
    assert len(layer.blob_names()) == blobs
    assert bool(layer.doubts) == (not dialect)


@pytest.mark.parametrize("settings", [SEGNET, PSPNET])
def test_a_net_with_an_ambiguous_fork_gives_a_warning(settings):
    (doubt,) = bn(settings).doubts
    assert "happynear" in doubt.sentence
    assert not bn(settings, dialect="pspnet" if settings is PSPNET else "segnet").doubts


def test_a_net_with_pspnets_fields_is_not_ambiguous():
    message = from_text(f"top: 't' bn_param {{ {PSPNET} }}", pb.LayerParameter)
    message.dialects.extend(["pspnet", "synopsys"])
    layer = BN(message, [SHAPE])
    assert len(layer.blob_names()) == 4
    assert not layer.doubts
    message.dialects[:] = ["synopsys"]
    assert len(BN(message, [SHAPE]).blob_names()) == 2

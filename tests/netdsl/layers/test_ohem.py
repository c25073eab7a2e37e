"""R-FCN's online hard example mining."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError


@pytest.mark.parametrize("more", [(), (1, 1), (2, 3)])
def test_the_worst_regions_of_each_image_are_kept(made, more):
    rng = np.random.default_rng(0)
    places = int(np.prod(more)) if more else 1
    regions = rng.integers(0, 3, (10, 5, *more)).astype(np.float32)
    losses = rng.permutation(10 * places).reshape(10, 1, *more).astype(np.float32)
    labels, weights = rng.integers(1, 5, losses.shape).astype(np.float32), rng.normal(size=(10, 8, *more))
    bottoms = [torch.tensor(each) for each in (regions, losses, labels, weights)]
    settings = "box_annotator_ohem_param { roi_per_img: 2 ignore_label: 255 }"
    layer = made("BoxAnnotatorOHEM", settings, *[tuple(each.shape) for each in bottoms], tops=2)
    got = [each.reshape(10, -1, places).numpy() for each in layer(*bottoms)]
    for image in range(3):
        own = [(n, s) for n in range(10) for s in range(places) if regions.reshape(10, 5, -1)[n, 0, s] == image]
        worst = sorted(own, key=lambda at: -losses.reshape(10, -1)[at])[:2]
        for n, s in own:
            chosen = (n, s) in worst
            assert got[0][n, 0, s] == (labels.reshape(10, -1)[n, s] if chosen else 255)
            assert (got[1][n, :, s] == (weights.reshape(10, 8, -1)[n, :, s] if chosen else 0)).all()


def test_tops_have_four_axes(made):
    shapes = [(6, 5), (6, 1, 1, 1), (6,), (6, 8)]
    layer = made("BoxAnnotatorOHEM", "box_annotator_ohem_param { roi_per_img: 2 }", *shapes, tops=2)
    assert layer.top_shapes(shapes) == [(6, 1, 1, 1), (6, 8, 1, 1)]


def test_data_that_do_not_fit_are_refused(made):
    with pytest.raises(NetError, match="roi_per_img"):
        made("BoxAnnotatorOHEM", "", (6, 5), (6,), (6,), (6, 8), tops=2)
    settings = "box_annotator_ohem_param { roi_per_img: 2 }"
    with pytest.raises(ShapeError, match="4 channels"):
        made("BoxAnnotatorOHEM", settings, (6, 4), (6,), (6,), (6, 8), tops=2)
    with pytest.raises(ShapeError, match="same regions"):
        made("BoxAnnotatorOHEM", settings, (6, 5), (7,), (6,), (6, 8), tops=2)


@pytest.mark.parametrize("kind", ["SoftmaxWithLoss", "SoftmaxWithLossOHEM"])
@pytest.mark.parametrize("shape", [(6, 4), (2, 4, 3, 5)])
def test_softmax_returns_the_loss_of_every_place(made, shape, kind):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=shape), requires_grad=True)
    labels = torch.tensor(rng.integers(0, 4, (shape[0], *shape[2:])), dtype=torch.float64)
    labels.view(-1)[0] = -1
    layer = made(kind, "loss_param { ignore_label: -1 }", shape, tuple(labels.shape), tops=3)
    loss, probabilities, each = layer(x, labels)
    loss.backward()
    scores, wanted = x.detach().movedim(1, -1).reshape(-1, 4).numpy(), labels.flatten().long().tolist()
    chance = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    losses = [-np.log(own[label]) if label >= 0 else 0 for own, label in zip(chance, wanted, strict=True)]
    slopes = [own - np.eye(4)[label] if label >= 0 else 0 * own for own, label in zip(chance, wanted, strict=True)]
    assert tuple(each.shape) == layer.top_shapes([x.shape, labels.shape])[2]
    assert tuple(each.shape) == (tuple(labels.shape) if labels.dim() > 1 else (6, 1, 1, 1))
    np.testing.assert_allclose(each.flatten(), losses)
    assert loss.item() == pytest.approx(sum(losses) / (len(losses) - 1))
    np.testing.assert_allclose(probabilities.movedim(1, -1).reshape(-1, 4), chance)
    np.testing.assert_allclose(x.grad.movedim(1, -1).reshape(-1, 4), np.array(slopes) / (len(losses) - 1))


@pytest.mark.parametrize("suffix", ["", "OHEM"])
@pytest.mark.parametrize("more", [(), (1, 1)])
def test_region_losses_can_be_added_to_box_losses(made, suffix, more):
    layer = made(f"SoftmaxWithLoss{suffix}", "", (6, 4, *more), (6,), tops=3)
    boxes = made(f"SmoothL1Loss{suffix}", "", (6, 8, *more), (6, 8), tops=2)
    assert layer.top_shapes([(6, 4, *more), (6,)])[2] == boxes.top_shapes([(6, 8, *more), (6, 8)])[1] == (6, 1, 1, 1)

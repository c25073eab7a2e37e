"""DetectionOutput compared with plain loops over images, labels and boxes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layer import Layer
from tests.nets import layer_of

IMAGES, BOXES, CLASSES = 2, 30, 4


def made(settings: str, *shapes: tuple[int, ...]) -> Layer:
    text = 'bottom: "l" bottom: "s" bottom: "p" top: "y" detection_output_param { %s }'
    return layer_of("DetectionOutput", text % settings, *shapes)


def inputs(kinds: int = 1) -> list[torch.Tensor]:
    rng = np.random.default_rng(4)
    centers, sides = rng.uniform(0, 1, (BOXES, 2)), rng.uniform(0.2, 0.5, (BOXES, 2))
    priors = np.concatenate((centers - sides / 2, centers + sides / 2), 1)
    table = np.stack((priors.ravel(), rng.uniform(0.1, 0.3, BOXES * 4)))[None]
    locations = rng.normal(0, 0.5, (IMAGES, BOXES * kinds * 4))
    return [torch.tensor(each) for each in (locations, rng.random((IMAGES, BOXES * CLASSES)), table)]


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    width, height = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    common = width * height if width > 0 and height > 0 else 0
    return common / ((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod() - common)


def plain(bottoms: list[torch.Tensor], kinds: int, least: float, candidates: int, keep: int, background: int) -> list:
    """Detect with center-size codes and a threshold of 0.3."""
    locations, scores, (priors, variances) = (each.numpy() for each in (*bottoms[:2], bottoms[2][0]))
    rows = []
    for image in range(IMAGES):
        of_image = []
        for label in set(range(CLASSES)) - {background}:
            kept = []
            own = scores[image].reshape(BOXES, CLASSES)[:, label]
            order = [box for box in np.argsort(-own) if own[box] > least][:candidates]
            for box in order:
                prior, variance = priors[4 * box : 4 * box + 4], variances[4 * box : 4 * box + 4]
                kind = label if kinds > 1 else 0
                code = locations[image].reshape(BOXES, kinds, 4)[box, kind] * variance
                side = prior[2:] - prior[:2]
                center, half = code[:2] * side + (prior[:2] + prior[2:]) / 2, np.exp(code[2:]) * side / 2
                corners = np.concatenate((center - half, center + half))
                if all(overlap(corners, other[3:]) <= 0.3 for other in kept):
                    kept.append(np.array([image, label, own[box], *corners]))
            of_image += kept
        best = sorted(of_image, key=lambda row: -row[2])[:keep]
        rows += sorted(best, key=lambda row: (row[1], -row[2]))
    return rows


@pytest.mark.parametrize("kinds", [1, CLASSES])
@pytest.mark.parametrize(
    ("least", "candidates", "keep", "background"), [(0.2, 12, 9, 0), (0.9, 50, 99, 2), (0.1, 2, 99, 1)]
)
def test_each_detection_has_a_row(kinds, least, candidates, keep, background):
    bottoms = inputs(kinds)
    settings = f"""num_classes: {CLASSES} share_location: {"true" if kinds == 1 else "false"} code_type: CENTER_SIZE
        background_label_id: {background} keep_top_k: {keep} confidence_threshold: {least}
        nms_param {{ nms_threshold: 0.3 top_k: {candidates} }}"""
    layer = made(settings, *(bottom.shape for bottom in bottoms))
    expected = plain(bottoms, kinds, np.float32(least), candidates, keep, background)
    top = layer(*bottoms)
    assert top.shape == (1, 1, len(expected), 7)
    np.testing.assert_allclose(top[0, 0], expected, atol=1e-12)


def test_without_any_detection_each_image_gets_a_row():
    layer = made(f"num_classes: {CLASSES} confidence_threshold: 2", *(bottom.shape for bottom in inputs()))
    assert layer(*inputs()).tolist() == [[[[0, *[-1] * 6], [1, *[-1] * 6]]]]
    assert layer.top_shapes([bottom.shape for bottom in inputs()]) == [(1, 1, 1, 7)]


def test_an_image_without_detections_has_no_row_among_others():
    locations, scores, priors = inputs()
    scores[0] = 0
    layer = made(f"num_classes: {CLASSES} confidence_threshold: 0.5", locations.shape, scores.shape, priors.shape)
    assert layer(locations, scores, priors)[0, 0, :, 0].unique().tolist() == [1]


@pytest.mark.parametrize(
    ("settings", "kind", "says"),
    [
        ("", NetError, "num_classes"),
        ("num_classes: 4 nms_param { nms_threshold: -1 }", NetError, "nms_threshold"),
        ("num_classes: 4 nms_param { eta: 1.5 }", NetError, "eta"),
        ("num_classes: 5", ShapeError, "30 priors need 150 scores per image, but the bottom has 120"),
        ("num_classes: 4 share_location: false", ShapeError, "30 priors need 480 locations"),
    ],
)
def test_data_that_do_not_fit_are_refused(settings, kind, says):
    with pytest.raises(kind, match=says):
        made(settings, *(bottom.shape for bottom in inputs()))


def test_feature_maps_may_be_separate() -> None:
    """Two maps, of 2 x 3 places with 3 ratios and of 2 x 2 with 3, contain the 30 boxes."""
    locations, scores, priors = inputs()
    parts = ((0, 18, 2, 3), (18, 30, 2, 2))
    maps = [
        scores.view(IMAGES, BOXES, CLASSES)[:, begin:end].reshape(IMAGES, h * w, 3, CLASSES).permute(0, 3, 2, 1)
        for begin, end, h, w in parts
    ]
    maps += [
        locations.view(IMAGES, BOXES, 4)[:, begin:end].reshape(IMAGES, h, w, 12).permute(0, 3, 1, 2)
        for begin, end, h, w in parts
    ]
    bottoms = [*(each.contiguous() for each in maps), priors]
    settings = "num_classes: 4 code_type: CENTER_SIZE nms_param { nms_threshold: 0.3 } confidence_threshold: 0.2"
    joined, apart = (made(settings, *(each.shape for each in given)) for given in (inputs(), bottoms))
    assert torch.equal(apart(*bottoms), joined(locations, scores, priors))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 9), (2, 9), (1, 2, 24), (2, 9), (2, 9)], "scores and locations with 4 axes for each feature map"),
        ([(2, 4, 3, 2)] * 5 + [(1, 2, 24)], "scores and locations with 4 axes for each feature map"),
        ([(2, 4, 3, 2), (3, 4, 3, 2), (2, 12, 1, 2), (2, 12, 1, 2), (1, 2, 24)], "different batch sizes"),
        ([(2, 4, 3, 2), (2, 4, 3, 2), (2, 12, 1, 2), (2, 12, 1, 3), (1, 2, 48)], "need 48 locations per image"),
    ],
)
def test_feature_maps_must_fit(shapes, message) -> None:
    with pytest.raises(ShapeError, match=message):
        made("num_classes: 4", *shapes)

"""MultiBoxLoss compared with plain loops that match, mine and sum up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from netdsl.errors import NetError, ShapeError
from netdsl.layers.multi_box_loss import MultiBoxLoss
from tests.nets import layer_of

IMAGES, BOXES, CLASSES = 3, 24, 4


@dataclass
class BoxBatch:
    locations: np.ndarray  # images x boxes x 4
    scores: np.ndarray
    priors: np.ndarray  # boxes x 4
    variances: np.ndarray
    objects: list[list[tuple[int, np.ndarray]]]  # labels and boxes for each image

    def bottoms(self) -> list[torch.Tensor]:
        rows = [(n, label, 0, *box, 0) for n, own in enumerate(self.objects) for label, box in own]
        rows.insert(1, (-1,) * 8)
        table = np.stack((self.priors.ravel(), self.variances.ravel()))
        arrays = self.locations.reshape(IMAGES, -1), self.scores.reshape(IMAGES, -1), table[None], np.array([[rows]])
        return [torch.tensor(array, dtype=torch.float64) for array in arrays]


def batch(seed: int = 0) -> BoxBatch:
    rng = np.random.default_rng(seed)

    def some(count: int) -> np.ndarray:
        centers, sides = rng.uniform(0.2, 0.8, (count, 2)), rng.uniform(0.2, 0.5, (count, 2))
        return np.concatenate((centers - sides / 2, centers + sides / 2), 1)

    objects = [list(zip(rng.integers(1, CLASSES, count), some(count), strict=True)) for count in (3, 0, 2)]
    shapes = (IMAGES, BOXES, 4), (IMAGES, BOXES, CLASSES)
    locations, scores = (rng.normal(0, 1, shape) for shape in shapes)
    return BoxBatch(locations, scores, some(BOXES), rng.uniform(0.1, 0.3, (BOXES, 4)), objects)


def made(settings: str, bottoms: list[torch.Tensor], outside: str = "") -> MultiBoxLoss:
    names = "".join(f'bottom: "{name}" ' for name in "lspo")
    text = f'{names} top: "y" {outside} multibox_loss_param {{ {settings} }}'
    return layer_of("MultiBoxLoss", text, *[bottom.shape for bottom in bottoms])


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    width, height = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    common = width * height if width > 0 and height > 0 else 0
    return common / ((one[2:] - one[:2]).prod() + (other[2:] - other[:2]).prod() - common)


def matched(priors: np.ndarray, objects: list[tuple[int, np.ndarray]], threshold: float) -> tuple[dict, list[float]]:
    """Return the object that each box is matched with, and each box's best overlap."""
    covers = {(i, j): overlap(p, box) for i, p in enumerate(priors) for j, (_, box) in enumerate(objects)}
    matches: dict[int, int] = {}
    left = {pair: value for pair, value in covers.items() if value > 1e-6}
    while left:
        i, j = max(left, key=lambda pair: left[pair])
        matches[i] = j
        left = {pair: value for pair, value in left.items() if pair[0] != i and pair[1] != j}
    for i in set(range(len(priors))) - set(matches):
        best = max(range(len(objects)), key=lambda j: covers[i, j], default=None)
        if best is not None and covers[i, best] >= threshold:
            matches[i] = best
    return matches, [max((covers[i, j] for j in range(len(objects))), default=0) for i in range(len(priors))]


def location_loss(given: BoxBatch, n: int, i: int, box: np.ndarray) -> float:
    """Compute the smooth L1 loss of a center-size code."""
    prior = given.priors[i]
    side, own = prior[2:] - prior[:2], box[2:] - box[:2]
    shift = (box[:2] + box[2:] - prior[:2] - prior[2:]) / 2 / side
    code = np.concatenate((shift, np.log(own / side))) / given.variances[i]
    d = np.abs(given.locations[n, i] - code)
    return float(np.where(d < 1, d * d / 2, d - 0.5).sum())


def confidence_loss(kind: str, scores: np.ndarray, label: int) -> float:
    if kind == "SOFTMAX":
        return float(np.log(np.exp(scores).sum()) - scores[label])
    wanted = np.arange(CLASSES) == label
    chance = 1 / (1 + np.exp(-scores))
    return float(-(np.log(np.where(wanted, chance, 1 - chance))).sum())


def plain(given: BoxBatch, kind: str, mining: str) -> float:
    """Compute the loss with a ratio of 2, examples of 7, thresholds of 0.4, and VALID."""
    total, count = 0.0, 0
    for n, objects in enumerate(given.objects):
        matches, covers = matched(given.priors, objects, 0.4)
        labels = [objects[matches[i]][0] if i in matches else 0 for i in range(BOXES)]
        hard = [confidence_loss(kind, given.scores[n, i], labels[i]) for i in range(BOXES)]
        where = {i: location_loss(given, n, i, objects[j][1]) for i, j in matches.items()}
        if not objects and mining != "NONE":
            continue
        if mining == "MAX_NEGATIVE":
            free = [i for i in range(BOXES) if i not in matches and covers[i] < 0.3]
            used = {*matches, *sorted(free, key=lambda i: -hard[i])[: 2 * len(matches)]}
        elif mining == "HARD_EXAMPLE":
            used = set(sorted(range(BOXES), key=lambda i: -(hard[i] + where.get(i, 0)))[:7])
            matches = {i: j for i, j in matches.items() if i in used}
        else:
            used = set(range(BOXES))
        count += len(matches)
        total += sum(hard[i] for i in used) + 1.5 * sum(where[i] for i in matches)
    return total / count


SETTINGS = f"""num_classes: {CLASSES} code_type: CENTER_SIZE overlap_threshold: 0.4 neg_overlap: 0.3 neg_pos_ratio: 2
    loc_weight: 1.5 sample_size: 7"""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kind", "mining"),
    [(kind, mining) for kind in ("SOFTMAX", "LOGISTIC") for mining in ("MAX_NEGATIVE", "HARD_EXAMPLE")]
    + [("SOFTMAX", "NONE")],
)
def test_the_loss_equals_that_of_loops(kind, mining, seed):
    given = batch(seed)
    layer = made(f"{SETTINGS} conf_loss_type: {kind} mining_type: {mining}", given.bottoms())
    loss = layer(*given.bottoms())
    assert loss.shape == ()
    assert loss.item() == pytest.approx(plain(given, kind, mining), rel=1e-6)


def test_logistic_targets_without_mining_are_where_caffe_puts_them():
    given = batch()
    wanted = np.zeros(given.scores.size)
    location, count = 0.0, 0
    for n, objects in enumerate(given.objects):
        for i, j in matched(given.priors, objects, 0.4)[0].items():
            wanted[n * BOXES + i * CLASSES + objects[j][0]] = 1  # Caffe's index; n * BOXES * CLASSES would be right
            location, count = location + location_loss(given, n, i, objects[j][1]), count + 1
    chance = 1 / (1 + np.exp(-given.scores.ravel()))
    confidence = -np.log(np.where(wanted == 1, chance, 1 - chance)).sum()
    layer = made(SETTINGS + " conf_loss_type: LOGISTIC mining_type: NONE", given.bottoms())
    assert layer(*given.bottoms()).item() == pytest.approx((confidence + 1.5 * location) / count, rel=1e-6)


@pytest.mark.parametrize("kind", ["SOFTMAX", "LOGISTIC"])
def test_gradients_are_derivatives(kind):
    locations, scores, *rest = batch().bottoms()
    layer = made(f"{SETTINGS} conf_loss_type: {kind}", batch().bottoms())
    leaves = [locations.requires_grad_(), scores.requires_grad_()]
    torch.autograd.gradcheck(lambda *bottoms: layer(*bottoms, *rest), leaves, fast_mode=True)


def test_an_image_full_of_background_counts_only_without_mining():
    bottoms = batch().bottoms()
    bottoms[3][..., 0] = -1
    scores = bottoms[1].view(IMAGES * BOXES, CLASSES)
    expected = (scores.logsumexp(1) - scores[:, 0]).sum()
    assert made(SETTINGS, bottoms)(*bottoms).item() == 0
    assert made(SETTINGS + " mining_type: NONE", bottoms)(*bottoms).item() == pytest.approx(expected.item())


@pytest.mark.parametrize(("mode", "divisor"), [("BATCH_SIZE", IMAGES), ("FULL", IMAGES * BOXES), ("NONE", 1)])
def test_every_normalization_is_supported(mode, divisor):
    bottoms = batch().bottoms()
    loss = made(SETTINGS, bottoms, f"loss_param {{ normalization: {mode} }}")(*bottoms)
    alone = made(SETTINGS, bottoms, "loss_param { normalization: NONE }")(*bottoms)
    assert loss.item() == pytest.approx(alone.item() / divisor)


def test_a_part_that_has_no_gradient_is_left_out():
    bottoms = batch().bottoms()
    down = "propagate_down: {} propagate_down: {} propagate_down: false propagate_down: false"
    losses = [
        made(SETTINGS, bottoms, down.format(*which))(*bottoms) for which in (("true", "false"), ("false", "true"))
    ]
    assert sum(losses).item() == pytest.approx(made(SETTINGS, bottoms)(*bottoms).item())
    assert min(losses) > 0


def test_difficult_objects_can_be_left_out():
    bottoms = batch().bottoms()
    bottoms[3][0, 0, :, 7] = 1
    bottoms[3][0, 0, 0, 7] = 0
    one = [each.clone() for each in bottoms]
    one[3][0, 0, 1:, 0] = -1
    loss = made(SETTINGS + " use_difficult_gt: false", bottoms)(*bottoms)
    assert loss.item() == made(SETTINGS, one)(*one).item()


@pytest.mark.parametrize(
    ("settings", "kind", "says"),
    [
        ("", NetError, "num_classes"),
        ("num_classes: 4 background_label_id: 4", NetError, "isn't among the 4"),
        ("num_classes: 4 share_location: false", NetError, "share_location"),
        ("num_classes: 4 do_neg_mining: false", NetError, "contradicts"),
        ("num_classes: 4 map_object_to_agnostic: true", NetError, "needs num_classes: 2"),
        ("num_classes: 4 mining_type: HARD_EXAMPLE sample_size: 0", NetError, "sample_size"),
        ("num_classes: 3", ShapeError, "24 priors need 72 scores per image, but the bottom has 96"),
    ],
)
def test_wrong_settings_are_refused(settings, kind, says):
    with pytest.raises(kind, match=says):
        made(settings, batch().bottoms())


def test_an_object_labeled_as_background_is_refused():
    bottoms = batch().bottoms()
    bottoms[3][0, 0, 0, 1] = 0
    with pytest.raises(NetError, match="label 0"):
        made(SETTINGS, bottoms)(*bottoms)

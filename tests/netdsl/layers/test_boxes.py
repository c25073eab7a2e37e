"""The geometry of boxes, compared with plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from netdsl.layers import _boxes
from netdsl.layers._boxes import areas, best_first, decode, encode, overlaps, suppressed

CODES = [pb.PriorBoxParameter.CORNER, pb.PriorBoxParameter.CENTER_SIZE, pb.PriorBoxParameter.CORNER_SIZE]


def boxes(count: int, seed: int = 0, side: float = 0.4) -> torch.Tensor:
    rng = np.random.default_rng(seed)
    centers, sides = rng.uniform(0, 1, (count, 2)), rng.uniform(0.05, side, (count, 2))
    return torch.tensor(np.concatenate((centers - sides / 2, centers + sides / 2), 1))


def plain_overlap(one: list[float], other: list[float], pixel: float) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0]) + pixel
    height = min(one[3], other[3]) - max(one[1], other[1]) + pixel
    if width <= 0 or height <= 0:
        return 0.0
    sizes = [(box[2] - box[0] + pixel) * (box[3] - box[1] + pixel) for box in (one, other)]
    return width * height / (sum(sizes) - width * height)


def greedy(
    some: torch.Tensor, groups: torch.Tensor, threshold: float, eta: float = 1, pixel: int = 0, limit: int | None = None
) -> list[int]:
    """Apply Caffe's own method: compare one box after the other with all that are kept so far."""
    staying = []
    for label in groups.unique().tolist():
        allowed, kept = threshold, list[int]()
        for index in (groups == label).nonzero()[:, 0].tolist():
            rivals = (plain_overlap(some[index].tolist(), some[other].tolist(), pixel) for other in kept)
            if (limit is None or len(kept) < limit) and all(overlap <= allowed for overlap in rivals):
                kept.append(index)
                allowed *= eta if allowed > 0.5 else 1
        staying += kept
    return staying


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("variances", [None, torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)])
def test_decoding_is_the_inverse_of_encoding(code, variances):
    some, priors = boxes(7), boxes(7, seed=1)
    codes = encode(code, some, priors, variances)
    torch.testing.assert_close(decode(code, codes, priors, variances), some)


def test_codes_by_hand():
    box, prior = torch.tensor([[1.0, 2, 5, 10]]), torch.tensor([[0.0, 0, 2, 4]])
    assert encode(CODES[0], box, prior).tolist() == [[1, 2, 3, 6]]
    assert encode(CODES[2], box, prior).tolist() == [[0.5, 0.5, 1.5, 1.5]]
    expected = torch.tensor([[1, 1, 2.0, 2.0]])
    expected[:, 2:] = expected[:, 2:].log()
    torch.testing.assert_close(encode(CODES[1], box, prior), expected)


@pytest.mark.parametrize("pixel", [0, 1])
def test_overlaps(pixel):
    one, other = boxes(6) * (40 if pixel else 1), boxes(5, seed=2) * (40 if pixel else 1)
    expected = [[plain_overlap(a, b, pixel) for b in other.tolist()] for a in one.tolist()]
    torch.testing.assert_close(overlaps(one[:, None], other, pixel), torch.tensor(expected, dtype=torch.float64))


def test_inverted_boxes_and_points_overlap_no_box():
    odd = torch.tensor([[0.5, 0, 0.2, 1], [0.3, 0.3, 0.3, 0.3]])
    assert areas(odd).tolist() == [0, 0]
    assert overlaps(odd[:, None], torch.cat((odd, torch.tensor([[0.0, 0, 1, 1]])))).count_nonzero() == 0


@pytest.mark.parametrize("eta", [1, 0.9])
@pytest.mark.parametrize("limit", [None, 3, 40])
@pytest.mark.parametrize("groups", [1, 3, 40])
def test_suppression_equals_caffes_own_way(groups, limit, eta):
    some, rng = boxes(280), np.random.default_rng(3)  # more than one block of comparisons
    group, score = torch.tensor(rng.integers(0, groups, 280)), torch.tensor(rng.random(280))
    order, rank = best_first(group, score)
    some, group, score = some[order], group[order], score[order]
    for label in range(groups):
        assert score[group == label].tolist() == sorted(score[group == label].tolist(), reverse=True)
        assert rank[group == label].tolist() == list(range(int((group == label).sum())))
    assert suppressed(some, group, 0.6, eta=eta, limit=limit).tolist() == greedy(some, group, 0.6, eta, limit=limit)


@pytest.mark.parametrize("eta", [1, 0.9])
@pytest.mark.parametrize(("groups", "limit"), [(1, None), (1, 4), (3, None), (3, 2), (30, None)])
def test_suppression_works_in_crowds(groups, limit, eta, monkeypatch):
    monkeypatch.setattr(_boxes, "_BLOCK", 32)
    monkeypatch.setattr(_boxes, "_PAIRS", 900)  # small blocks: kept boxes meet the remaining ones several times
    rng = np.random.default_rng(groups)
    some = boxes(12)[rng.integers(0, 12, 500)]
    some = some + torch.tensor(rng.normal(0, 0.02, (500, 4)) * rng.integers(0, 2, (500, 1)))  # half are unchanged
    group = torch.tensor(np.sort(rng.integers(0, groups, 500)))
    kept = suppressed(some, group, 0.6, eta=eta, limit=limit).tolist()
    assert kept == greedy(some, group, 0.6, eta, limit=limit)
    assert len(kept) < 350


@pytest.mark.parametrize("pixel", [0, 1])
@pytest.mark.parametrize("size", [16, 4096])
def test_suppression_of_points_equal_boxes_and_equal_scores(size, pixel, monkeypatch):
    monkeypatch.setattr(_boxes, "_BLOCK", size)
    rng = np.random.default_rng(5)
    some = torch.tensor(rng.integers(0, 6, (200, 4)), dtype=torch.float32)
    some[:, 2:] = torch.maximum(some[:, :2], some[:, 2:])  # includes points and lines
    group, score = torch.tensor(rng.integers(0, 3, 200)), torch.tensor(rng.integers(0, 4, 200) / 4)
    order, _ = best_first(group, score)
    assert order.tolist() == sorted(range(200), key=lambda index: (group[index], -score[index], index))
    some, group = some[order], group[order]
    assert suppressed(some, group, 0.4, pixel=pixel).tolist() == greedy(some, group, 0.4, pixel=pixel)


def test_one_box_and_a_point():
    only = torch.zeros(1, dtype=torch.long)
    assert suppressed(torch.tensor([[0.1, 0.1, 0.5, 0.5]]), only, 0.5).tolist() == [0]
    assert suppressed(torch.full((1, 4), 0.3), only, 0, limit=1).tolist() == [0]


def test_empty_lists_of_boxes_are_accepted():
    none = torch.zeros(0, dtype=torch.long)
    assert suppressed(torch.zeros(0, 4), none, 0.5).tolist() == []
    assert best_first(none, torch.zeros(0))[1].tolist() == []

"""Faster R-CNN's layers that were written in Python, and the C++ Proposal, compared with plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from caffe_proto.text.scalars import quote
from netdsl.errors import NetError, ShapeError
from netdsl.layer import BringsData, Layer
from netdsl.layers import LAYERS
from netdsl.layers._rpn import anchors
from tests.nets import layer_of

PYTHON = {
    "ProposalLayer": "rpn.proposal_layer",
    "AnchorTargetLayer": "rpn.anchor_target_layer",
    "ProposalTargetLayer": "rpn.proposal_target_layer",
    "RoIDataLayer": "roi_data_layer.layer",
}
HEIGHT, WIDTH = 6, 9
IMAGE = torch.tensor([[90.0, 140.0, 1.25]])


def made(layer: str, settings: str, shapes: list[tuple[int, ...]], tops: int, train: bool = True) -> Layer:
    text = f"python_param {{ module: '{PYTHON[layer]}' layer: '{layer}' param_str: {quote(settings)} }}"
    return layer_of("Python", text, *shapes, tops=tops, train=train)


def overlap(one: list[float], other: list[float]) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0]) + 1
    height = min(one[3], other[3]) - max(one[1], other[1]) + 1
    if width <= 0 or height <= 0:
        return 0.0
    return width * height / (sum((b[2] - b[0] + 1) * (b[3] - b[1] + 1) for b in (one, other)) - width * height)


def code(box: list[float], wanted: list[float]) -> list[float]:
    w, h = box[2] - box[0] + 1, box[3] - box[1] + 1
    w_, h_ = wanted[2] - wanted[0] + 1, wanted[3] - wanted[1] + 1
    dx, dy = (wanted[0] + w_ / 2 - box[0] - w / 2) / w, (wanted[1] + h_ / 2 - box[1] - h / 2) / h
    return [dx, dy, math.log(w_ / w), math.log(h_ / h)]


def test_the_papers_nine_anchors_are_made():
    assert [tuple(map(int, anchor)) for anchor in anchors((8, 16, 32))] == [
        (-84, -40, 99, 55), (-176, -88, 191, 103), (-360, -184, 375, 199),
        (-56, -56, 71, 71), (-120, -120, 135, 135), (-248, -248, 263, 263),
        (-36, -80, 51, 95), (-80, -168, 95, 183), (-168, -344, 183, 359),
    ]  # fmt: skip


def plain_proposals(scores: np.ndarray, codes: np.ndarray, around: list, least: float, drop: bool) -> list[list[float]]:
    """Return the boxes of one image with their scores, best first. Small boxes are dropped, or get a score of 0."""
    found = []
    for y in range(HEIGHT):
        for x in range(WIDTH):
            for k, anchor in enumerate(around):
                x1, y1, x2, y2 = (side + 16 * at for side, at in zip(anchor, (x, y, x, y), strict=True))
                dx, dy, dw, dh = codes[4 * k : 4 * k + 4, y, x]
                w, h = x2 - x1 + 1, y2 - y1 + 1
                cx, cy = x1 + w / 2 + dx * w, y1 + h / 2 + dy * h
                w, h = math.exp(dw) * w, math.exp(dh) * h
                box = [cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2]
                box = [max(min(side, most - 1), 0) for side, most in zip(box, (140, 90, 140, 90), strict=True)]
                small = min(box[2] - box[0], box[3] - box[1]) + 1 < least
                if not (small and drop):
                    found.append([*box, 0 if small else scores[len(around) + k, y, x]])
    return sorted(found, key=lambda box: -box[4])


def kept(boxes: list[list[float]], threshold: float, limit: int) -> list[list[float]]:
    stay: list[list[float]] = []
    for box in boxes:
        if len(stay) < limit and all(overlap(box, other) <= threshold for other in stay):
            stay.append(box)
    return stay


def predictions(images: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(0)
    shape = images, 2 * count, HEIGHT, WIDTH
    return torch.tensor(rng.random(shape)), torch.tensor(rng.normal(0, 0.4, (images, 4 * count, HEIGHT, WIDTH)))


@pytest.mark.parametrize("pre", [5, 10000])
def test_proposals_equal_those_of_loops(pre):
    scores, codes = predictions(1, 3)
    settings = f"'feat_stride': 16\n'scales': !!python/tuple [2]\nRPN_PRE_NMS_TOP_N: {pre}\n'RPN_POST_NMS_TOP_N': 12"
    layer = made("ProposalLayer", settings, [scores.shape, codes.shape, (1, 3)], 2)
    assert layer.top_shapes([scores.shape, codes.shape, (1, 3)]) == [(12, 5), (12, 1)]
    boxes = plain_proposals(scores[0].numpy(), codes[0].numpy(), anchors((2,)), 16 * 1.25, drop=True)
    expected = np.array(kept(boxes[:pre], 0.7, 12))
    regions, score = layer(scores, codes, IMAGE)
    assert (regions[:, 0] == 0).all()
    np.testing.assert_allclose(regions[:, 1:], expected[:, :4])
    np.testing.assert_allclose(score, expected[:, 4:])


def test_proposals_of_other_anchors_equal_those_of_loops():
    scores, codes = predictions(1, 4)
    settings = "{'feat_stride': 16, 'ratios': [0.333, 1.5], 'scales': [2, 5], 'RPN_POST_NMS_TOP_N': 12}"
    regions, score = made("ProposalLayer", settings, [scores.shape, codes.shape, (1, 3)], 2)(scores, codes, IMAGE)
    around = anchors((2, 5), (0.333, 1.5))
    boxes = plain_proposals(scores[0].numpy(), codes[0].numpy(), around, 16 * 1.25, drop=True)
    np.testing.assert_allclose(torch.cat((regions[:, 1:], score), 1), kept(boxes, 0.7, 12))


@pytest.mark.parametrize("info", [[90.0, 140, 1.25], [90.0, 140, 1.25, 1.25]])
def test_proposals_of_the_cpp_forks_equal_those_of_loops(info):
    scores, codes = predictions(2, 2)
    text = """bottom: "s" bottom: "c" bottom: "i" top: "r" top: "p"
        proposal_param { ratio: 0.5 ratio: 2 scale: 2 min_size: 30 pre_nms_topn: 4 post_nms_topn: 9 nms_thresh: 0.5 }"""
    shapes = [scores.shape, codes.shape, (1, len(info))]
    layer = layer_of("Proposal", text, *shapes)
    assert layer.top_shapes(shapes) == [(18, 5), (18,)]
    regions, score = layer(scores, codes, torch.tensor([info]))
    around = anchors((2,), (0.5, 2))
    expected = []
    for image in range(2):
        boxes = plain_proposals(scores[image].numpy(), codes[image].numpy(), around, 30 * 1.25, drop=False)
        expected += [[image, *box] for box in kept(boxes[:4], 0.5, 9)]
    np.testing.assert_allclose(torch.cat((regions, score[:, None]), 1), expected)


def test_happynears_proposals_have_scales_in_pixels():
    text = """type: "Proposal" bottom: "s" bottom: "c" bottom: "i" top: "r"
        proposal_param { ratio: 0.5 scale: 33 min_size: 1 nms_thresh: 0.5 }"""
    message, shapes = from_text(text, pb.LayerParameter), [(1, 2, 1, 1), (1, 4, 1, 1), (1, 4)]
    boxes = {}
    for dialect in ("happynear", "pvanet"):
        message.dialects[:] = [dialect]
        layer = LAYERS["Proposal"](message, shapes)
        assert not layer.doubts
        boxes[dialect] = layer.anchors
    # The sides are 33 * sqrt(2) = 46.67 and half of that, 23.33. Minus a pixel and rounded, these are 46 and 22.
    assert boxes["happynear"] == [(7.5 - 23, 7.5 - 11, 7.5 + 23, 7.5 + 11)]
    # 16 * sqrt(2) = 22.63 rounds to 23, and half of that to 12. Both are then multiplied by 33.
    assert boxes["pvanet"] == [((16 - 23 * 33) / 2, (16 - 12 * 33) / 2, (14 + 23 * 33) / 2, (14 + 12 * 33) / 2)]
    message.ClearField("dialects")
    assert "in pixels" in LAYERS["Proposal"](message, shapes).doubts[0].sentence


OBJECTS = torch.tensor([(8.0, 12, 50, 60, 3), (60, 20, 120, 80, 7), (30, 5, 100, 40, 7)])


def test_anchor_targets_equal_those_of_loops():
    settings = "{'feat_stride': 16, 'scales': [2, 4], 'RPN_BBOX_INSIDE_WEIGHTS': (1, 2, 1, 1)}"
    shapes = [(1, 12, HEIGHT, WIDTH), (3, 5), (1, 3), (1, 3, 90, 140)]
    layer = made("AnchorTargetLayer", settings, shapes, 4)
    tops = layer(torch.zeros(shapes[0]), OBJECTS, IMAGE, torch.zeros(shapes[3]))
    assert [tuple(top.shape) for top in tops] == layer.top_shapes(shapes)
    labels, targets, inside, outside = (top.reshape(6, -1, HEIGHT, WIDTH) for top in tops)

    objects, boxes = OBJECTS[:, :4].tolist(), {}
    for k, anchor in enumerate(anchors((2, 4))):
        for y, x in np.ndindex(HEIGHT, WIDTH):
            box = [side + 16 * at for side, at in zip(anchor, (x, y, x, y), strict=True)]
            if box[0] >= 0 and box[1] >= 0 and box[2] < 140 and box[3] < 90:
                boxes[k, y, x] = box
    found = {at: [overlap(box, each) for each in objects] for at, box in boxes.items()}
    most = [max(values) for values in zip(*found.values(), strict=True)]
    expected = {at: 1 if max(own) >= 0.7 or any(a == b for a, b in zip(own, most, strict=True))
                else 0 if max(own) < 0.3 else -1 for at, own in found.items()}  # fmt: skip
    assert set(expected.values()) == {-1, 0, 1}
    counted = sum(label >= 0 for label in expected.values())
    for at in np.ndindex(6, HEIGHT, WIDTH):
        k, y, x = at
        label = expected.get(at, -1)
        assert labels[k, 0, y, x] == label
        np.testing.assert_allclose(outside[k, :, y, x], [(label >= 0) / counted] * 4, rtol=1e-6)
        assert inside[k, :, y, x].tolist() == ([1, 2, 1, 1] if label == 1 else [0] * 4)
        wanted = code(boxes[at], objects[int(np.argmax(found[at]))]) if at in boxes else [0] * 4
        np.testing.assert_allclose(targets[k, :, y, x], wanted, atol=1e-6)


UNITS = (
    "'rpn_normalize_targets': True, 'rpn_normalize_means': [0.5, 0, 0, 0], 'rpn_normalize_stds': [0.1, 0.2, 0.4, 0.5]"
)


def test_r_fcns_anchors_learn_scaled_targets():
    shapes = [(1, 12, HEIGHT, WIDTH), (3, 5), (1, 3)]
    targets = []
    for units in ("", UNITS):
        layer = made("AnchorTargetLayer", f"{{'feat_stride': 16, 'scales': [2, 4], {units}}}", shapes, 4)
        targets.append(layer(torch.zeros(shapes[0]), OBJECTS, IMAGE)[1].reshape(6, 4, HEIGHT, WIDTH))
    inside = targets[0].any(1)
    means, deviations = torch.tensor([0.5, 0, 0, 0]), torch.tensor([0.1, 0.2, 0.4, 0.5])
    expected = (targets[0].movedim(1, -1)[inside] - means) / deviations
    torch.testing.assert_close(targets[1].movedim(1, -1)[inside], expected)


def test_r_fcns_regions_have_scaled_targets_in_training():
    scores, codes = predictions(1, 6)
    shapes = [scores.shape, codes.shape, (1, 3)]
    rest = "'feat_stride': 16, 'scales': [2, 4], 'rpn_min_size': 1"
    usual = made("ProposalLayer", f"{{{rest}}}", shapes, 1)
    units = {train: made("ProposalLayer", f"{{{rest}, {UNITS}}}", shapes, 1, train) for train in (True, False)}
    as_used = (
        codes * torch.tensor([0.1, 0.2, 0.4, 0.5] * 6)[:, None, None] + torch.tensor([0.5, 0, 0, 0] * 6)[:, None, None]
    )
    torch.testing.assert_close(units[True](scores, codes, IMAGE)[0], usual(scores, as_used, IMAGE)[0])
    torch.testing.assert_close(units[False](scores, codes, IMAGE)[0], usual(scores, codes, IMAGE)[0])


def test_proposal_nets_normalize_box_targets_by_default():
    targets = {}
    for setting in ("", "'bbox_normalize_targets': False"):
        settings = f"{{'num_classes': 9, 'batch_size': -1, {setting}}}"
        targets[setting] = made("ProposalTargetLayer", settings, [(4, 5), (3, 5)], 5)(REGIONS, OBJECTS)[2]
    plain, normalized = (sorted(rows[rows.any(1)].tolist()) for rows in reversed(targets.values()))
    deviations = np.tile([0.1, 0.1, 0.2, 0.2], 9)
    np.testing.assert_allclose(np.sort(np.ravel(normalized)), np.sort(np.ravel(plain / deviations)), rtol=1e-5)


def test_a_batch_of_anchors_is_not_too_large():
    settings = "'feat_stride': 16\n'scales': [2, 4]\n'RPN_BATCHSIZE': 8\n'RPN_POSITIVE_OVERLAP': 0.2"
    shapes = [(1, 12, HEIGHT, WIDTH), (3, 5), (1, 3)]
    labels = made("AnchorTargetLayer", settings, shapes, 4)(torch.zeros(shapes[0]), OBJECTS, IMAGE)[0]
    assert [(labels == value).sum().item() for value in (1, 0)] == [4, 4]


REGIONS = torch.tensor([(0, 9.0, 12, 52, 62), (0, 55, 25, 118, 84), (0, 70, 40, 139, 89), (0, 0, 0, 20, 15)])


@pytest.mark.parametrize("classes", [9, 2])
def test_proposal_targets_equal_those_of_loops(classes):
    settings = f"'num_classes': {classes}\n'BATCH_SIZE': 40\n'BBOX_NORMALIZE_TARGETS_PRECOMPUTED': True"
    layer = made("ProposalTargetLayer", settings, [(4, 5), (3, 5)], 5)
    assert layer.top_shapes([(4, 5), (3, 5)]) == [(40, 5), (40,), *[(40, 4 * classes)] * 3]
    regions, labels, targets, inside, outside = layer(REGIONS, OBJECTS)
    everything = [*REGIONS[:, 1:].tolist(), *OBJECTS[:, :4].tolist()]
    covers = [[overlap(box, each) for each in OBJECTS[:, :4].tolist()] for box in everything]
    assert len(regions) == sum(not 0.5 > max(own) < 0.1 for own in covers) < 7
    for row, region in enumerate(regions.tolist()):
        own = covers[everything.index(region[1:])]
        best = int(np.argmax(own))
        label = OBJECTS[best, 4].item() if max(own) >= 0.5 else 0
        assert labels[row] == label
        start = 4 * min(int(label), classes - 1)
        expected, weights = np.zeros(4 * classes), np.zeros(4 * classes)
        if label:
            wanted = code(region[1:], OBJECTS[best, :4].tolist())
            expected[start : start + 4], weights[start : start + 4] = np.array(wanted) / (0.1, 0.1, 0.2, 0.2), 1
        np.testing.assert_allclose(targets[row], expected, atol=1e-5)
        assert inside[row].tolist() == outside[row].tolist() == weights.tolist()


@pytest.mark.parametrize(("size", "positives", "count"), [(8, 2, 2), (-1, 5, 7)])
def test_a_batch_of_regions_is_not_too_large(size, positives, count):
    settings = f"'num_classes': 9\n'BATCH_SIZE': {size}\n'BG_THRESH_LO': 0"
    _, labels, *_ = made("ProposalTargetLayer", settings, [(4, 5), (3, 5)], 5)(REGIONS, OBJECTS)
    assert (labels > 0).sum() == positives
    assert (labels[:positives] > 0).all()
    assert len(labels) == (positives + 2 if size > 0 else count)


def test_the_phase_determines_the_number_of_proposals():
    scores, codes = predictions(1, 9)
    counts = {
        train: made("ProposalLayer", "'feat_stride': 16", [scores.shape, codes.shape, (1, 3)], 1, train).top_shapes(
            [scores.shape, codes.shape, (1, 3)]
        )[0]
        for train in (True, False)
    }
    assert counts == {True: (2000, 5), False: (300, 5)}


@pytest.mark.parametrize(
    ("tops", "shapes"),
    [
        (["data", "im_info", "gt_boxes"], [(1, 3, -1, -1), (1, 3), (1, 5)]),
        (["data", "rois", "labels"], [(2, 3, -1, -1), (128, 5), (128,)]),
        (["data", "rois", "labels", "t", "w"], [(2, 3, -1, -1), (128, 5), (128,), (128, 84), (128, 84)]),
    ],
)
def test_data_layers_state_their_tops(tops, shapes):
    layer = made("RoIDataLayer", "'num_classes': 21", [], len(tops))
    layer.layer.top[:] = tops  # the tops' names determine whether the net proposes regions
    assert isinstance(layer, BringsData)
    assert layer.known_shapes() == shapes


def test_shapes_of_data_can_be_assumed():
    message = pb.LayerParameter(type="Python", top=["data", "rois", "labels", "targets", "weights"])
    message.python_param.param_str = "'num_classes': 2"
    message.input_param.shape.add(dim=(1, 3, 300, 400))
    message.input_param.shape.add(dim=(60, 5))
    layer = LAYERS["RoIData"](message, [])
    assert layer.top_shapes([]) == [(1, 3, 300, 400), (60, 5), (60,), (60, 8), (60, 8)]


@pytest.mark.parametrize(
    ("layer", "settings", "says"),
    [
        ("ProposalLayer", "", "feat_stride"),
        ("ProposalLayer", "'feat_stride': '16'", "feat_stride"),
        ("ProposalLayer", "'feat_stride'", "write a setting as"),
        ("ProposalLayer", "'feat_stride': __import__('os')", "write a number"),
        ("ProposalLayer", "{'feat_stride': 16", "write a number"),
        ("ProposalLayer", "{'feat_stride', 16}", "isn't a dict"),
        ("ProposalTargetLayer", "'num_classes': 1", "2 or more"),
    ],
)
def test_wrong_settings_are_refused(layer, settings, says):
    shapes = [(1, 18, 5, 6), (1, 36, 5, 6), (1, 3)][: 2 if "Target" in layer else 3]
    with pytest.raises(NetError, match=says):
        made(layer, settings, shapes, 5 if "Target" in layer else 1)


def test_data_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="one image"):
        made("ProposalLayer", "'feat_stride': 16", [(2, 18, 5, 6), (2, 36, 5, 6), (1, 3)], 1)
    with pytest.raises(ShapeError, match="scores of 18 channels and predictions of 36"):
        text = 'bottom: "s" bottom: "c" bottom: "i" top: "r"'
        layer_of("Proposal", text, (1, 18, 5, 6), (1, 18, 5, 6), (1, 3))
    layer = made("AnchorTargetLayer", "'feat_stride': 16", [(1, 18, 1, 1), (1, 5), (1, 3)], 4)
    with pytest.raises(ShapeError, match="one whole anchor"):
        layer(torch.zeros(1, 18, 1, 1), OBJECTS, IMAGE)


def test_pvanets_anchors_have_their_own_ratios() -> None:
    shapes = [(1, 84, 3, 5), (1, 5), (1, 3)]
    settings = "{'feat_stride': 16, 'ratios': [0.333, 0.5, 0.667, 1, 1.5, 2, 3], 'scales': [2, 3, 5, 9, 16, 32]}"
    assert made("AnchorTargetLayer", settings, shapes, 4).top_shapes(shapes)[0] == (1, 1, 42 * 3, 5)

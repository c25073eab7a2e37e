"""`zoo predict` and `zoo test` on Faster R-CNN's nets, compared with a plain version of its own method."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl import Net

SIDES = ("left", "top", "right", "bottom")
CLASSES = 4


def net_text(codes: int) -> str:
    """Return a small net with the inputs and outputs of py-faster-rcnn's and R-FCN's test nets."""
    anchors = "'feat_stride': 16, 'scales': [8, 16], 'ratios': [0.5, 1]"
    proposal = f"module: 'rpn.proposal_layer' layer: 'ProposalLayer' param_str: \"{{{anchors}}}\""
    filler = "weight_filler { type: 'gaussian' std: 0.02 }"

    def conv(name: str, outputs: int) -> str:
        settings = f"convolution_param {{ num_output: {outputs} kernel_size: 1 {filler} }}"
        return f"layer {{ name: '{name}' type: 'Convolution' bottom: 'map' top: '{name}' {settings} }}"

    def inner_product(name: str, outputs: int) -> str:
        settings = f"inner_product_param {{ num_output: {outputs} {filler} }}"
        return f"layer {{ name: '{name}' type: 'InnerProduct' bottom: 'pool' top: '{name}' {settings} }}"

    return f"""
name: "regions"
input: "data" input_shape {{ dim: 1 dim: 3 dim: 224 dim: 224 }}
input: "im_info" input_shape {{ dim: 1 dim: 3 }}
layer {{ name: "map" type: "Pooling" bottom: "data" top: "map"
  pooling_param {{ pool: AVE kernel_size: 16 stride: 16 }} }}
{conv("rpn_score", 8)} {conv("rpn_bbox_pred", 16)}
layer {{ name: "r" type: "Reshape" bottom: "rpn_score" top: "r"
  reshape_param {{ shape {{ dim: 0 dim: 2 dim: -1 dim: 0 }} }} }}
layer {{ name: "p" type: "Softmax" bottom: "r" top: "p" }}
layer {{ name: "q" type: "Reshape" bottom: "p" top: "q" reshape_param {{ shape {{ dim: 0 dim: 8 dim: -1 dim: 0 }} }} }}
layer {{ name: "proposal" type: "Python" bottom: "q" bottom: "rpn_bbox_pred" bottom: "im_info" top: "rois"
  python_param {{ {proposal} }} }}
layer {{ name: "pool" type: "ROIPooling" bottom: "map" bottom: "rois" top: "pool"
  roi_pooling_param {{ pooled_h: 2 pooled_w: 2 spatial_scale: 0.0625 }} }}
{inner_product("bbox_pred", codes)} {inner_product("cls_score", CLASSES)}
layer {{ name: "cls_prob" type: "Softmax" bottom: "cls_score" top: "cls_prob" }}
"""


def model(codes: int) -> Net:
    """Write the net with random weights to files. The returned net also outputs its regions."""
    Path("net.prototxt").write_text(net_text(codes))
    shown = "layer { name: 'shown' type: 'Power' bottom: 'rois' top: 'regions' }"
    Path("shown.prototxt").write_text(net_text(codes) + shown)
    net, rng = Net("shown.prototxt"), np.random.default_rng(codes)
    weights = net.get_weights()
    for name, size in (("rpn_score", 0.02), ("rpn_bbox_pred", 0.002), ("bbox_pred", 0.001), ("cls_score", 0.01)):
        weights[name][0][:] = rng.normal(0, size, weights[name][0].shape)
    net.set_weights(weights)
    net.save("net.caffemodel")
    return net


def picture(name: str, height: int, width: int) -> str:
    noise = np.random.default_rng(height).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    cv2.imwrite(name, cv2.resize(noise, (width, height)))
    return name


def plain_overlap(one: np.ndarray, other: np.ndarray) -> float:
    width = min(one[2], other[2]) - max(one[0], other[0]) + 1
    height = min(one[3], other[3]) - max(one[1], other[1]) + 1
    if width <= 0 or height <= 0:
        return 0
    both = sum((box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (one, other))
    return width * height / (both - width * height)


def plain_detections(net: Net, file: str, short: float, longest: float, threshold: float, means=None) -> list[tuple]:
    """Detect as py-faster-rcnn does. Returns (label, score, first and last pixels), the highest score first."""
    image = cv2.imread(file).astype(np.float32) - (means or (102.9801, 115.9465, 122.7717))
    scale = short / min(image.shape[:2])
    if round(scale * max(image.shape[:2])) > longest:
        scale = longest / max(image.shape[:2])
    pixels = cv2.resize(image.astype(np.float32), None, fx=scale, fy=scale, interpolation=cv2.INTER_LINEAR)
    size = np.array([[*pixels.shape[:2], scale]], np.float32)
    tops = net.forward(data=pixels.transpose(2, 0, 1)[None].copy(), im_info=size)
    rois, scores, codes = (np.asarray(tops[name], np.float64) for name in ("regions", "cls_prob", "bbox_pred"))
    found = []
    for label in range(1, CLASSES):
        own = 4 * (label if codes.shape[1] == 4 * CLASSES else 1)
        rows = []
        for roi, score, code in zip(rois[:, 1:] / scale, scores[:, label], codes[:, own : own + 4], strict=True):
            width, height = roi[2] - roi[0] + 1, roi[3] - roi[1] + 1
            x, y = roi[0] + width / 2 + code[0] * width, roi[1] + height / 2 + code[1] * height
            width, height = width * np.exp(code[2]), height * np.exp(code[3])
            box = np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2])
            most = np.array([image.shape[1], image.shape[0]] * 2) - 1
            if score >= threshold:
                rows.append((label, score, *np.clip(box, 0, most)))
        rows.sort(key=lambda row: -row[1])
        kept = []
        for row in rows:
            if all(plain_overlap(row[2:], other[2:]) <= 0.3 for other in kept):
                kept.append(row)
        found += kept
    return sorted(found, key=lambda row: -row[1])


@pytest.mark.parametrize(("codes", "height", "width"), [(16, 60, 90), (8, 70, 40), (16, 30, 120)])
def test_images_are_resized_and_boxes_found_as_in_py_faster_rcnn(zoo, codes, height, width) -> None:
    net, file = model(codes), picture("a.png", height, width)
    done = zoo(
        "predict", "net.prototxt", "--weights", "net.caffemodel", file, "--json", "--threshold", "0.3", "--batch", "2"
    )
    assert done.code == 0, done.err
    assert "reads one image at a time" in done.err
    assert "as in py-faster-rcnn" in done.err and "shorter side 600" in done.err
    expected = plain_detections(net, file, 600, 1000, 0.3)
    boxes = json.loads(done.out)["boxes"]
    assert len(expected) > 2
    assert [box["label"] for box in boxes] == [row[0] for row in expected]
    np.testing.assert_allclose([box["score"] for box in boxes], [row[1] for row in expected], rtol=1e-4)
    edges = np.array([row[2:] for row in expected])
    edges[:, 2:] += 1  # after the last pixels
    np.testing.assert_allclose([[box[side] for side in SIDES] for box in boxes], edges, atol=1e-2)


def folder(card_input: str) -> None:
    """Return a model's folder with the net and a card."""
    Path("folder").mkdir()
    Path("net.prototxt").rename("folder/deploy.prototxt")
    Path("net.caffemodel").rename("folder/net.caffemodel")
    card = f"name: small\nsummary: Small.\ntask: detection\ninput: {{{card_input}}}\ncaffemodel: net.caffemodel"
    Path("folder/README.md").write_text(f"---\n{card}\n---\n")


@pytest.mark.parametrize(
    ("card_input", "problem"),
    [
        ("size: [240, 400], mean: mean.binaryproto", "names 'mean.binaryproto' as a mean"),
        ("size: [240, 400], mean: [1, 2]", "gives 2 values as a mean"),
        ("size: [240, 400], resize: [256, 416]", "the card sets `resize`"),
    ],
)
def test_a_card_with_unsupported_settings_is_refused(zoo, card_input, problem) -> None:
    model(16)
    folder(card_input)
    done = zoo("predict", "folder", picture("a.png", 60, 90))
    assert done.code == 2 and problem in done.err


def test_sets_are_tested_in_the_same_way(zoo) -> None:
    net, file = model(16), picture("a.png", 60, 90)
    found = plain_detections(net, file, 600, 1000, 0.05)
    left, top, right, bottom = found[1][2:]
    one = [left, top, right + 1 - left, bottom + 1 - top]
    annotation = {"id": 1, "image_id": 1, "category_id": found[1][0], "bbox": one, "area": 1, "iscrowd": 0}
    categories = [{"id": label, "name": str(label)} for label in range(1, CLASSES)]
    image = {"id": 1, "file_name": file, "height": 60, "width": 90}
    Path("set.json").write_text(
        json.dumps({"images": [image], "annotations": [annotation], "categories": categories}, default=float)
    )
    done = zoo("test", "net.prototxt", "--weights", "net.caffemodel", "--data", "coco:set.json", "--json")
    assert done.code == 0, done.err
    before = sum(row[0] == found[1][0] for row in found[:1])  # detections of the same class with a higher score
    (scores,) = json.loads(done.out)["scores"]
    assert scores["scores"]["mAP VOC 2010"] == pytest.approx(1 / (1 + before))


def test_a_card_states_sizes_and_means(zoo) -> None:
    net, file = model(16), picture("a.png", 200, 300)
    folder("size: [240, 400], channels: BGR, mean: [10, 20, 30]")
    done = zoo("predict", "folder", file, "--json", "--threshold", "0.1")
    assert done.code == 0, done.err
    expected = plain_detections(net, file, 240, 400, 0.1, (10, 20, 30))
    assert len(expected) > 2
    np.testing.assert_allclose(
        [box["score"] for box in json.loads(done.out)["boxes"]], [row[1] for row in expected], rtol=1e-4
    )

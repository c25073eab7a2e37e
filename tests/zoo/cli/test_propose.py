"""`zoo propose`, and the recipe that needs it: a net that proposes regions, and one that learns from them."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.text.prototxt import text_of
from netdsl import Net
from netdsl.data.sources.annotations.proposals import read_proposals
from tests.small_faster_rcnn import small_fast_rcnn, small_rpn, small_rpn_for_tests
from tests.voc_folder import VocImage, VocObject, write_voc

IMAGES = [
    VocImage("wide", 48, 72, [VocObject("dog", (11, 6, 34, 29))]),
    VocImage("high", 64, 40, [VocObject("cat", (9, 17, 30, 40)), VocObject("dog", (1, 1, 16, 16))]),
]
DATA = "voc:voc?set=trainval"
SOLVER = """net: "{net}.prototxt" base_lr: 0.001 lr_policy: "fixed" momentum: 0.9 max_iter: 4 snapshot_prefix: "{net}"
            random_seed: 3"""


def data_layer(tops: str) -> str:
    names = "".join(f"top: '{top}' " for top in tops.split())
    settings = "{'num_classes': 3, 'scales': [48], 'max_size': 100, 'batch_size': 16, 'bg_thresh_lo': 0}"
    code = f"module: 'roi_data_layer.layer' layer: 'RoIDataLayer' param_str: \"{settings}\""
    return f"layer {{ name: 'input-data' type: 'Python' {names} python_param {{ {code} }} }}"


def write(name: str, net: pb.NetParameter) -> None:
    Path(f"{name}.prototxt").write_text(text_of(net))
    Path(f"{name}_solver.prototxt").write_text(SOLVER.format(net=name))


@pytest.fixture(autouse=True)
def files(zoo) -> None:
    write_voc(Path("voc"), IMAGES)
    Path("voc/labels.txt").write_text("background\ncat\ndog\n")
    write("rpn", small_rpn(data_layer("data im_info gt_boxes")))
    write("rpn_test", small_rpn_for_tests())
    write("fast", small_fast_rcnn(data_layer("data rois labels bbox_targets inside outside")))


def trained(zoo, net: str, data: str, *more: str) -> str:
    done = zoo("train", "--solver", f"{net}_solver.prototxt", "--data", data, *more)
    assert done.code == 0, done.err
    return f"{net}_iter_4.caffemodel"


def proposed(zoo, weights: str, output: str, *more: str):
    return zoo("propose", "rpn_test.prototxt", "--weights", weights, "--data", DATA, "-o", output, *more)


def test_one_net_learns_from_another_nets_proposals(zoo) -> None:
    weights = trained(zoo, "rpn", DATA)
    done = proposed(zoo, weights, "regions.npz", "--most", "50", "--side", "48")
    assert done.code == 0, done.err
    assert "wrote regions.npz" in done.out and "in 2 images" in done.out
    learned = trained(zoo, "fast", f"{DATA}&proposals=regions.npz", "--weights", weights)
    done = zoo("show", learned)
    assert done.code == 0 and "bbox_pred" in done.out


def test_regions_are_in_the_images_own_pixels(zoo) -> None:
    weights = trained(zoo, "rpn", DATA)
    done = proposed(zoo, weights, "x.npz", "--most", "7", "--side", "96", "--json")
    assert json.loads(done.out) == {"output": "x.npz", "images": 2, "regions": 14}
    for name, boxes in zip(("wide", "high"), read_proposals("x.npz", ["wide", "high"]), strict=True):
        image = cv2.imread(f"voc/JPEGImages/{name}.jpg").astype(np.float32) - (102.9801, 115.9465, 122.7717)
        pixels = cv2.resize(image.astype(np.float32), None, fx=96 / min(image.shape[:2]), fy=96 / min(image.shape[:2]))
        net = Net("rpn_test.prototxt", weights=weights)
        size = np.array([[*pixels.shape[:2], 96 / min(image.shape[:2])]], np.float32)
        rois = net.forward(data=pixels.transpose(2, 0, 1)[None].copy(), im_info=size)["rpn_rois"]
        np.testing.assert_allclose(boxes, np.asarray(rois)[:7, 1:] / size[0, 2], atol=1e-3)


def test_a_net_without_proposals_is_refused(zoo) -> None:
    done = zoo("propose", "fast.prototxt", "--data", DATA, "-o", "x.npz")
    assert done.code == 2
    assert "fast.prototxt: the net proposes no regions" in done.err
    assert not Path("x.npz").exists()

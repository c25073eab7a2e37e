"""Testing models on annotated pictures, and detectors for a user's own classes."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from netdsl import Net
from tests.voc_folder import VocImage, VocObject, write_voc

SIDE = 16
# One default box in the middle, which always predicts the second class.
ALWAYS_THE_MIDDLE = f"""
layer {{ name: "data" type: "Input" top: "data" input_param {{ shape {{ dim: 1 dim: 3 dim: {SIDE} dim: {SIDE} }} }} }}
layer {{ name: "whole" type: "Pooling" bottom: "data" top: "whole" pooling_param {{ pool: AVE global_pooling: true }} }}
layer {{ name: "box" type: "PriorBox" bottom: "whole" bottom: "data" top: "box"
        prior_box_param {{ min_size: 8 variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2 }} }}
layer {{ name: "loc" type: "InnerProduct" bottom: "whole" top: "loc" inner_product_param {{ num_output: 4 }} }}
layer {{ name: "conf" type: "InnerProduct" bottom: "whole" top: "conf" inner_product_param {{ num_output: 3
        bias_filler {{ type: "constant" value: 0 }} }} }}
layer {{ name: "prob" type: "Softmax" bottom: "conf" top: "prob" }}
layer {{ name: "found" type: "DetectionOutput" bottom: "loc" bottom: "prob" bottom: "box" top: "found"
        detection_output_param {{ num_classes: 3 share_location: true background_label_id: 0 code_type: CENTER_SIZE
        nms_param {{ nms_threshold: 0.5 }} keep_top_k: 10 confidence_threshold: 0.6 }} }}
"""


def write_detector() -> None:
    Path("middle.prototxt").write_text(ALWAYS_THE_MIDDLE)
    net = Net("middle.prototxt", phase="TEST")
    weights = net.get_weights()
    for name in ("loc", "conf"):
        weights[name][0][...] = 0
        weights[name][1][...] = 0
    weights["conf"][1][2] = 3
    net.set_weights(weights)
    net.save("middle.caffemodel")


def scores_of(zoo, *words: str) -> tuple[dict[str, float], str]:
    done = zoo("test", *words, "--json")
    assert done.code == 0, done.err
    plain = json.loads(done.out)
    assert plain["loss"] is None
    return plain["scores"][0], done.err


def test_detections_are_scored_by_the_objects_of_a_voc_folder(zoo) -> None:
    write_detector()
    middle, corner = (5, 5, 12, 12), (1, 1, 4, 4)  # VOC counts pixels from 1
    images = [
        VocImage("a", SIDE, SIDE, [VocObject("cat", middle), VocObject("ant", corner)]),
        VocImage("b", 2 * SIDE, 2 * SIDE, [VocObject("cat", corner)]),
        VocImage("c", SIDE, SIDE, [VocObject("cat", middle, difficult=True)]),
    ]
    write_voc(Path("voc"), images)
    scores, _ = scores_of(zoo, "middle.prototxt", "--weights", "middle.caffemodel", "--data", "voc:voc")
    (ant, cat) = scores["classes"]
    # Of two cats one is found, by the first detection. The other detection is wrong, and the one of the difficult cat
    # doesn't count.
    assert cat == {"label": 2, "name": "cat", "objects": 2} | {"scores": cat["scores"]}
    assert cat["scores"]["VOC 2007"] == pytest.approx(6 / 11)
    assert cat["scores"]["VOC 2010"] == pytest.approx(0.5)
    assert ant["scores"]["VOC 2007"] == 0
    assert scores["scores"]["mAP VOC 2007"] == pytest.approx(3 / 11)


def test_classes_are_matched_by_name(zoo) -> None:
    write_detector()
    Path("labels.txt").write_text("background\ndog\ncat\n")
    Path("middle_labels.txt").write_text("background\ndog\ncat\n")
    write_voc(
        Path("voc"), [VocImage("a", SIDE, SIDE, [VocObject("cat", (5, 5, 12, 12)), VocObject("bee", (1, 1, 3, 3))])]
    )
    scores, told = scores_of(zoo, "middle.prototxt", "--weights", "middle.caffemodel", "--data", "voc:voc")
    assert "the model doesn't have the class 'bee', so it can't find its objects" in told
    found = {each["name"]: each["scores"]["VOC 2007"] for each in scores["classes"]}
    assert found == {"bee": 0, "cat": 1}


def test_segmentations_are_scored_by_the_pixels_of_maps(zoo) -> None:
    net = """
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 3 dim: 4 dim: 6 } } }
    layer { name: "score" type: "Convolution" bottom: "data" top: "score"
            convolution_param { num_output: 2 kernel_size: 1 } }
    """
    Path("bright.prototxt").write_text(net)
    made = Net("bright.prototxt", phase="TEST")
    weights = made.get_weights()
    weights["score"][0][...] = np.array([0, 1], np.float32).reshape(2, 1, 1, 1)
    weights["score"][1][...] = [300, 0]  # brighter than 100 in each color
    made.set_weights(weights)
    made.save("bright.caffemodel")
    for part in ("Annotations", "JPEGImages", "SegmentationClass", "ImageSets/Main"):
        Path("voc", part).mkdir(parents=True)
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, 3:] = 200
    cv2.imwrite("voc/JPEGImages/a.png", pixels)
    labels = np.zeros((4, 6), np.uint8)
    labels[:, 2:] = 1
    labels[0] = 255  # unlabeled
    cv2.imwrite("voc/SegmentationClass/a.png", labels)
    size = "<size><height>4</height><width>6</width></size>"
    Path("voc/Annotations/a.xml").write_text(f"<annotation>{size}</annotation>")
    Path("voc/labels.txt").write_text("background\nthing\n")
    scores, _ = scores_of(zoo, "bright.prototxt", "--weights", "bright.caffemodel", "--data", "voc:voc")
    assert scores["task"] == "segmentation"
    # Of 3 rows, 6 dark pixels are right, 3 object pixels are predicted as background, and 9 object pixels are right.
    assert scores["scores"]["pixel accuracy"] == pytest.approx(15 / 18)
    assert scores["scores"]["mIoU"] == pytest.approx((6 / 9 + 9 / 12) / 2)


def test_a_model_that_only_classifies_is_refused(zoo, digits) -> None:
    write_voc(Path("voc"), [VocImage("a", 8, 8, [VocObject("cat", (1, 1, 4, 4))])])
    done = zoo("test", digits.net, "--weights", digits.weights, "--data", "voc:voc")
    assert done.code == 2
    assert "neither detects nor segments" in done.err


@pytest.mark.parametrize(
    ("flags", "names"), [(["--iterations", "3"], "--iterations"), (["--column", "data=x"], "--column")]
)
def test_options_for_batches_and_columns_are_refused_for_annotated_pictures(
    zoo, digits, flags: list[str], names: str
) -> None:
    write_voc(Path("voc"), [VocImage("a", 8, 8, [VocObject("cat", (1, 1, 4, 4))])])
    for data in ("voc:voc", "captions:captions.json?images=voc"):
        done = zoo("test", digits.net, "--weights", digits.weights, "--data", data, *flags)
        assert done.code == 2
        assert f"{data}: all images are tested once, on this machine; remove {names}" in done.err


def test_a_detector_of_the_catalogue_is_made_for_other_classes(zoo) -> None:
    write_voc(Path("voc"), [VocImage("a", 8, 8, [VocObject("cat", (1, 1, 4, 4)), VocObject("ant", (2, 2, 5, 5))])])
    done = zoo("import", "ssd-shapes", "--classes", "voc:voc", "-o", "mine")
    assert done.code == 0, done.err
    assert Path("mine/labels.txt").read_text() == "background\nant\ncat\n"
    assert "num_classes: 3" in Path("mine/deploy.prototxt").read_text()
    assert zoo("train", "mine", "--data", "voc:voc", "--test-data", "none", "--max-iter", "1").code == 0
    done = zoo("import", "lenet", "--classes", "voc:voc")
    assert done.code == 2
    assert "lenet: the net has its authors' classes" in done.err

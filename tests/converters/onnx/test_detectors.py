"""Deployed detection nets find the same objects in onnxruntime as in torch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from caffe_proto import caffe_pb2 as pb
from caffe_proto import from_text
from converters.onnx import export_onnx, to_onnx, verify
from converters.onnx.session import open_onnx_session
from netdsl import Net
from netdsl.errors import ConversionError
from zoo import catalogue

pytest.importorskip("onnxruntime")

SMALL = [1, 3, 160, 224]


def with_weights(message: pb.NetParameter) -> Net:
    """Fill a net with random weights that keep values at about one scale in all layers."""
    net, random = Net(message), torch.Generator().manual_seed(1)
    for blob in net.module.parameters():
        if blob.dim() > 1:
            blob.data.copy_(torch.randn(blob.shape, generator=random) * math.sqrt(2 / blob[0].numel()))
    for name, statistics in net.module.named_buffers():
        statistics.fill_(0 if name.endswith("mean") else 1)
    return net


def onnx_outputs(model: Any, **inputs: np.ndarray) -> dict[str, np.ndarray]:
    with open_onnx_session(model) as session:
        return dict(session(inputs))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "top", "least"), [("ssd-300-mobilenet", "detection_out", 50), ("faster-rcnn-vgg16", "cls_prob", 10)]
)
def test_a_whole_detection_net_computes_the_same(name: str, top: str, least: int) -> None:
    message = catalogue.entry_of(name).deploy()
    for layer in message.layer if "faster" in name else ():
        for blob, shape in zip(layer.top, layer.input_param.shape, strict=False):
            shape.dim[:] = SMALL if blob == "data" else shape.dim
    net = with_weights(message)
    model = to_onnx(net)
    report = verify(model, net)
    assert report.passed, report
    inputs = {"data": np.random.default_rng(2).standard_normal(SMALL if "faster" in name else [1, 3, 300, 300])}
    inputs |= {"im_info": np.array([[160, 224, 1.5]])} if "faster" in name else {}
    rows = onnx_outputs(model, **{blob: value.astype(np.float32) for blob, value in inputs.items()})[top]
    assert np.isfinite(rows).all() and rows.size // rows.shape[-1] >= least


R_FCN = """
layer { name: "data" type: "Input" top: "x" top: "im_info" input_param {
    shape { dim: [1, 8, 12, 15] } shape { dim: [1, 3] } } }
layer { name: "score" type: "Convolution" bottom: "x" top: "score" convolution_param { num_output: 12 kernel_size: 1 } }
layer { name: "code" type: "Convolution" bottom: "x" top: "code" convolution_param { num_output: 24 kernel_size: 1 } }
layer { name: "apart" type: "Reshape" bottom: "score" top: "apart" reshape_param { shape { dim: [0, 2, -1, 0] } } }
layer { name: "prob" type: "Softmax" bottom: "apart" top: "prob" }
layer { name: "again" type: "Reshape" bottom: "prob" top: "again" reshape_param { shape { dim: [0, 12, -1, 0] } } }
layer { name: "rois" type: "Python" bottom: "again" bottom: "code" bottom: "im_info" top: "rois" python_param {
    module: "rpn.proposal_layer" layer: "ProposalLayer" param_str: "{'feat_stride': 16, 'scales': [2, 4]}" } }
layer { name: "maps" type: "Convolution" bottom: "x" top: "maps" convolution_param { num_output: 36 kernel_size: 1 } }
layer { name: "votes" type: "PSROIPooling" bottom: "maps" bottom: "rois" top: "votes"
    psroi_pooling_param { spatial_scale: 0.0625 output_dim: 4 group_size: 3 } }
layer { name: "mean" type: "Pooling" bottom: "votes" top: "mean" pooling_param { pool: AVE kernel_size: 3 stride: 3 } }
layer { name: "cls_prob" type: "Softmax" bottom: "mean" top: "cls_prob" }
layer { name: "max" type: "ROIPooling" bottom: "x" bottom: "rois" top: "max"
    roi_pooling_param { pooled_h: 3 pooled_w: 2 spatial_scale: 0.0625 } }
"""


def test_regions_and_both_kinds_of_pooling_compute_the_same() -> None:
    net = with_weights(from_text(R_FCN, pb.NetParameter))
    model = to_onnx(net)
    report = verify(model, net)
    assert report.passed, report
    x = np.random.default_rng(3).standard_normal((1, 8, 12, 15)).astype(np.float32)
    found = onnx_outputs(model, x=x, im_info=np.array([[192, 240, 1]], np.float32))
    assert len(found["cls_prob"]) == len(found["max"]) > 10


DETECTED = {
    "corners": "code_type: CORNER",
    "centers": "code_type: CENTER_SIZE",
    "corners by size": "code_type: CORNER_SIZE",
    "variances that were learned": "code_type: CENTER_SIZE variance_encoded_in_target: true",
    "boxes of each class": "code_type: CENTER_SIZE share_location: false",
    "boxes of each class, of which the last is the background's": "share_location: false background_label_id: 3",
    "no background": "background_label_id: -1",
    "candidates": "nms_param { nms_threshold: 0.4 top_k: 9 }",
    "few detections": "keep_top_k: 7",
    "candidates, of which few stay": "nms_param { nms_threshold: 0.4 top_k: 12 } keep_top_k: 5",
    "no threshold": "nms_param { nms_threshold: 0.6 } keep_top_k: 0",
    "all of them": "nms_param { nms_threshold: 2 }",
    "scores that are high enough": "confidence_threshold: 0.5",
    "scores that never are": "confidence_threshold: 1.5",
    "a threshold that can't fall": "nms_param { nms_threshold: 0.45 eta: 0.9 }",
}
PRIORS, CLASSES = 40, 4


def kinds_of(settings: str) -> int:
    """Return the number of boxes for each prior."""
    return CLASSES if "share_location: false" in settings else 1


def detecting(settings: str) -> Net:
    return Net(
        from_text(
            f"""layer {{ name: "in" type: "Input" top: "loc" top: "conf" top: "prior" input_param {{
                    shape {{ dim: [2, {4 * PRIORS * kinds_of(settings)}] }} shape {{ dim: [2, {CLASSES * PRIORS}] }}
                    shape {{ dim: [1, 2, {4 * PRIORS}] }} }} }}
                layer {{ name: "found" type: "DetectionOutput" bottom: "loc" bottom: "conf" bottom: "prior" top: "found"
                    detection_output_param {{ num_classes: {CLASSES} {settings} }} }}""",
            pb.NetParameter,
        )
    )


@pytest.mark.parametrize("case", DETECTED)
@pytest.mark.parametrize("ties", [False, True])
def test_detection_layers_compute_the_same(case: str, ties: bool) -> None:
    net, random = detecting(DETECTED[case]), np.random.default_rng(6)
    centers, sides = random.uniform(0.2, 0.8, (PRIORS, 2)), random.uniform(0.1, 0.4, (PRIORS, 2))
    sides[:3] = 0  # boxes without an area
    boxes = np.concatenate((centers - sides / 2, centers + sides / 2), 1)
    boxes[5:9] = boxes[4]
    scores = random.uniform(0, 1, (2, CLASSES * PRIORS))
    inputs = {
        "loc": random.normal(0, 0.3, (2, 4 * PRIORS * kinds_of(DETECTED[case]))),
        "conf": np.floor(scores * 5) / 5 if ties else scores,
        "prior": np.stack((boxes.ravel(), np.tile([0.1, 0.1, 0.2, 0.2], PRIORS)))[None],
    }
    inputs = {name: value.astype(np.float32) for name, value in inputs.items()}
    expected, found = net.forward(**inputs)["found"], onnx_outputs(to_onnx(net), **inputs)["found"]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_detector_is_proved_by_the_values_that_it_selects(tmp_path: Path) -> None:
    report = export_onnx(detecting(DETECTED["few detections"]), tmp_path / "net.onnx")
    assert report is not None and report.passed and {"conf", "found"} >= report.outputs.keys() >= {"found"}
    assert [path.name for path in tmp_path.iterdir()] == ["net.onnx"]


def test_a_falling_threshold_cannot_be_exported() -> None:
    with pytest.raises(ConversionError, match="eta"):
        to_onnx(detecting("nms_param { nms_threshold: 0.7 eta: 0.9 }"))

"""YOLO's grids compared with the layers that decode them in Caffe, and with darknet's formulas."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of, recognize
from netdsl.prediction.decoders.boxes import Activation
from netdsl.prediction.decoders.yolo import AnchorUnit, Yolo
from tests.nets import layer_of


def caffe_rows(kind: str, settings: str, grids: list[np.ndarray], size: tuple[int, int]) -> np.ndarray:
    """Return label, score and box in pixels of Caffe's own layer, best first."""
    bottoms = [torch.tensor(grid)[None] for grid in grids]
    rows = layer_of(kind, settings, *(each.shape for each in bottoms)).forward(*bottoms)[0, 0].numpy()
    rows = rows[np.argsort(-rows[:, 2], kind="stable")]
    return np.concatenate([rows[:, 1:3], rows[:, 3:] * (size[::-1] * 2)], 1)


def test_yolov3_equals_the_layer():
    draw = np.random.default_rng(1)
    grids = [draw.normal(0, 1.5, (3 * 9, 3, 4)), draw.normal(0, 1.5, (3 * 9, 6, 8))]
    anchors = [10, 14, 23, 27, 37, 58, 81, 82, 135, 169, 344, 319]
    size = 96, 128
    settings = (
        "yolov3_detection_output_param { num_classes: 4 confidence_threshold: 0.4 nms_threshold: 0.45 "
        + " ".join(f"biases: {anchor}" for anchor in anchors)
        + " mask: 3 mask: 4 mask: 5 mask: 0 mask: 1 mask: 2 anchors_scale: 32 anchors_scale: 16 mask_group_num: 2 }"
    )
    expected = caffe_rows("Yolov3DetectionOutput", settings, grids, size)
    decoder = Yolo(
        anchors=(tuple(anchors[6:]), tuple(anchors[:6])), threshold=0.4, across_labels=True, blobs={"grids": ("a", "b")}
    )
    found = decoder.decode(dict(zip("ab", grids, strict=True)), size)
    assert len(expected) > 5
    np.testing.assert_allclose(
        np.column_stack([found.labels + 1, found.scores, found.boxes]), expected, rtol=1e-5, atol=1e-4
    )


def test_yolov2_equals_the_layer():
    grid = np.random.default_rng(2).normal(0, 1.5, (2 * 8, 4, 4))
    settings = (
        "yolo_detection_output_param { num_classes: 3 num_box: 2 confidence_threshold: 0.25 nms_threshold: 0.45 "
        "biases: 1 biases: 2 biases: 3 biases: 1.5 }"
    )
    expected = caffe_rows("YoloDetectionOutput", settings, [grid], (128, 128))
    decoder = Yolo(
        anchors=((1, 2, 3, 1.5),),
        unit=AnchorUnit.CELLS,
        activation=Activation.SOFTMAX,
        threshold=0.25,
        one_label=True,
        across_labels=True,
        blobs={"grids": "conv_reg"},
    )
    found = decoder.decode({"conv_reg": grid}, (128, 128))
    assert len(expected) > 3
    np.testing.assert_allclose(
        np.column_stack([found.labels + 1, found.scores, found.boxes]), expected, rtol=1e-5, atol=1e-4
    )


def test_the_scale_of_positions_reaches_beyond_a_cell():
    grid = np.zeros((6, 2, 2))
    grid[:, 1, 0] = [50, -50, 0, 0, 9, 9]  # the right end of the cell's row, and its top
    settings = {"anchors": ((8, 8),), "blobs": {"grids": "g"}}
    for scale, x, y in ((1.0, 16, 16), (1.2, 16 + 0.1 * 16, 16 - 0.1 * 16)):
        found = Yolo(**settings, xy_scale=(scale,)).decode({"g": grid}, (32, 32))
        np.testing.assert_allclose(found.boxes[0], [x - 4, y - 4, x + 4, y + 4])


@pytest.mark.parametrize(
    ("names", "anchors"),
    [(("layer82-conv", "layer94-conv", "layer106-conv"), 3), (("layer16-conv", "layer23-conv"), 2)],
)
def test_converted_nets_for_coco_are_recognized(names, anchors):
    shapes = {name: (255, 416 // stride, 416 // stride) for name, stride in zip(names, (32, 16, 8), strict=False)}
    found = recognize(shapes, (416, 416))
    assert found is not None
    assert isinstance(found.decoder, Yolo)
    assert len(found.decoder.anchors) == anchors
    assert found.decoder.blob_names == names
    assert recognize(shapes | {names[0]: (75, 13, 13)}, (416, 416)) is None


def test_wrong_anchors_are_refused():
    with pytest.raises(DecoderError, match=r"output\.anchors has 3 numbers; give a width and a height"):
        decoder_of({"decoder": "yolo", "anchors": [["1", "2", "3"]]})
    decoder = Yolo(anchors=((1, 2, 3, 4),), blobs={"grids": "g"})
    with pytest.raises(DecoderError, match="a grid has 27 channels, which isn't 2 times 5 and the number of classes"):
        decoder.decode({"g": np.zeros((27, 2, 2))}, (32, 32))
    with pytest.raises(DecoderError, match=r"must be \(channels, height, width\), but its shape is \(27,\)"):
        decoder.decode({"g": np.zeros(27)}, (32, 32))

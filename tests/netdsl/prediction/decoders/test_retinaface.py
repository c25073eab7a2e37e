"""RetinaFace's heads compared with its published formulas, anchor by anchor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of, recognize
from netdsl.prediction.decoders.retinaface import RetinaFace

SIZE = 96, 128
SCALES = {32: (32, 16), 16: (8, 4), 8: (2, 1)}
FACES = [(32, 1, 2, 3, 0.9), (16, 0, 1, 4, 0.8), (8, 1, 7, 5, 0.7)]  # stride, anchor, row, column, score


def blobs() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    outputs = {}
    for stride in SCALES:
        height, width = SIZE[0] // stride, SIZE[1] // stride
        outputs[f"face_rpn_cls_prob_reshape_stride{stride}"] = draw.uniform(0, 0.4, (4, height, width))
        outputs[f"face_rpn_bbox_pred_stride{stride}"] = draw.normal(0, 0.1, (8, height, width))
        outputs[f"face_rpn_landmark_pred_stride{stride}"] = draw.normal(0, 0.2, (20, height, width))
    for stride, anchor, row, column, score in FACES:
        outputs[f"face_rpn_cls_prob_reshape_stride{stride}"][2 + anchor, row, column] = score
    return outputs


def published(outputs, stride, anchor, row, column, _):
    """Return the box and the landmarks in numbers of pixels, where a box includes its last pixel."""
    side = 16 * SCALES[stride][anchor]
    left, top = 7.5 - 0.5 * (side - 1) + column * stride, 7.5 - 0.5 * (side - 1) + row * stride
    x, y = left + 0.5 * (side - 1), top + 0.5 * (side - 1)
    dx, dy, dw, dh = outputs[f"face_rpn_bbox_pred_stride{stride}"][4 * anchor : 4 * anchor + 4, row, column]
    width, height = math.exp(dw) * side, math.exp(dh) * side
    center = dx * side + x, dy * side + y
    box = [center[0] - 0.5 * (width - 1), center[1] - 0.5 * (height - 1)]
    box += [center[0] + 0.5 * (width - 1), center[1] + 0.5 * (height - 1)]
    box = np.clip(box, 0, [127, 95, 127, 95])
    marks = outputs[f"face_rpn_landmark_pred_stride{stride}"][10 * anchor : 10 * anchor + 10, row, column]
    return box, marks.reshape(5, 2) * side + [x, y]


def test_faces_equal_the_published_formulas():
    outputs = blobs()
    found = RetinaFace(overlap=1).decode(outputs, SIZE)
    boxes, points = zip(*(published(outputs, *face) for face in FACES), strict=True)
    np.testing.assert_allclose(found.boxes - [0, 0, 1, 1], boxes, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.points, np.array(points) + 0.5, rtol=1e-9)
    assert found.scores.tolist() == [0.9, 0.8, 0.7]


def test_landmarks_are_optional_and_scaled():
    outputs = blobs()
    plain = RetinaFace(overlap=1).decode(outputs, SIZE).points
    scaled = RetinaFace(overlap=1, landmark_scale=0.2).decode(outputs, SIZE).points
    assert plain is not None
    assert scaled is not None
    centers = plain.mean(1) - scaled.mean(1)
    assert np.abs(centers).max() > 0.1
    without = RetinaFace(blobs={"landmarks": ()})
    assert not any("landmark" in name for name in without.blob_names)
    assert without.decode(outputs, SIZE).points is None


def test_published_outputs_are_recognized():
    shapes = {name: blob.shape for name, blob in blobs().items()}
    found = recognize(shapes, SIZE)
    assert found is not None
    assert found.decoder == RetinaFace()
    assert recognize(shapes, (960, 1280)) is None
    del shapes["face_rpn_landmark_pred_stride8"]
    assert recognize(shapes, SIZE) is None


def test_heads_in_another_order_are_refused():
    names = RetinaFace.published["scores"]
    with pytest.raises(DecoderError, match=r"a blob of boxes has shape \(8, 3, 4\) instead of 8 channels of 12 x 16"):
        RetinaFace(blobs={"scores": names[::-1]}).decode(blobs(), SIZE)
    with pytest.raises(DecoderError, match="'scores' has 1 blobs instead of 3; name 3"):
        RetinaFace(blobs={"scores": names[0]}).decode(blobs(), SIZE)
    with pytest.raises(DecoderError, match=r"output\.scales has 3 lists for 1 strides"):
        decoder_of({"decoder": "retinaface", "strides": ["8"]})


def test_a_net_with_one_anchor_of_another_ratio_has_a_third_of_the_channels():
    decoder = RetinaFace(
        strides=(8,), scales=((4,),), ratios=(1.5,), blobs={"scores": "s", "boxes": "b", "landmarks": ()}, overlap=1
    )
    scores = np.zeros((2, 12, 16))
    scores[1, 5, 5] = 0.9
    found = decoder.decode({"s": scores, "b": np.zeros((4, 12, 16))}, SIZE)
    # Insightface rounds the base anchor of 16 x 16 pixels to 13 x 20 before it is scaled.
    assert (found.boxes[0, 2:] - found.boxes[0, :2]).tolist() == [52, 80]

"""FaceMask's branches compared with its published formulas, anchor by anchor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of, recognize
from netdsl.prediction.decoders.facemask import FaceMask

SIZE, COUNT = (260, 260), 5972


def blobs(scores: np.ndarray) -> dict[str, np.ndarray]:
    codes = np.random.default_rng(0).normal(0, 1, (COUNT, 4))
    return {"loc_branch_concat": codes, "cls_branch_concat": scores}


def test_boxes_equal_the_published_formulas():
    scores = np.random.default_rng(1).uniform(0, 0.4, (COUNT, 2))
    faces = [7, 4500, 5971]
    scores[faces] = [[0.9, 0.2], [0.1, 0.8], [0.6, 0.7]]
    outputs = blobs(scores)
    expected, index = {}, 0
    grids = zip((33, 17, 9, 5, 3), (0.04, 0.08, 0.16, 0.32, 0.64), (0.056, 0.11, 0.22, 0.45, 0.72), strict=True)
    for side, small, large in grids:
        for row in range(side):
            for column in range(side):
                for size, ratio in ((small, 1), (large, 1), (small, 0.62), (small, 0.42)):
                    width, height = size * math.sqrt(ratio), size / math.sqrt(ratio)
                    dx, dy, dw, dh = outputs["loc_branch_concat"][index] * [0.1, 0.1, 0.2, 0.2]
                    x, y = (column + 0.5) / side + dx * width, (row + 0.5) / side + dy * height
                    width, height = width * math.exp(dw), height * math.exp(dh)
                    expected[index] = np.array([x - width / 2, y - height / 2, x + width / 2, y + height / 2]) * 260
                    index += 1
    found = FaceMask().decode(outputs, SIZE)
    np.testing.assert_allclose(found.boxes, [expected[face] for face in faces], rtol=1e-9)
    assert found.labels.tolist() == [0, 1, 1]
    assert found.scores.tolist() == [0.9, 0.8, 0.7]
    assert found.names == ("mask", "no mask")


def test_faces_with_and_without_masks_suppress_each_other():
    scores = np.zeros((COUNT, 2))
    scores[100], scores[101] = [0.9, 0], [0, 0.8]  # two sizes at one place
    outputs = blobs(scores) | {"loc_branch_concat": np.zeros((COUNT, 4))}
    assert len(FaceMask().decode(outputs, SIZE).scores) == 1
    assert len(FaceMask(across_labels=False).decode(outputs, SIZE).scores) == 2


def test_published_outputs_are_recognized():
    shapes = {"loc_branch_concat": (COUNT, 4), "cls_branch_concat": (COUNT, 2)}
    found = recognize(shapes, SIZE)
    assert found is not None
    assert found.decoder == FaceMask()
    assert recognize(shapes | {"cls_branch_concat": (COUNT, 3)}, SIZE) is None


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"feature_maps": [["3", "3"]]}, "output.anchor_sizes has 5 lists for 1 feature_maps"),
        ({"feature_maps": [["100000", "100000"]] * 5}, "output.feature_maps is 100000"),
        ({"variances": ["0.1"]}, "output.variances has 1 numbers; give 4 numbers"),
    ],
)
def test_wrong_settings_are_named(setting, message):
    with pytest.raises(DecoderError) as problem:
        decoder_of({"decoder": "facemask", **setting})
    assert message in str(problem.value)

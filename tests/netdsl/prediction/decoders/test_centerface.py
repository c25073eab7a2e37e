"""CenterFace's maps compared with its published formulas."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import recognize
from netdsl.prediction.decoders.centerface import CenterFace

SIZE = 64, 96
FACES = [(3, 5, 0.9), (14, 20, 0.8), (0, 0, 0.7)]


def maps() -> dict[str, np.ndarray]:
    draw = np.random.default_rng(0)
    outputs = {"537": np.zeros((1, 16, 24)), "538": draw.normal(1, 0.3, (2, 16, 24))}
    outputs |= {"539": draw.normal(0, 0.2, (2, 16, 24)), "540": draw.uniform(0, 1, (10, 16, 24))}
    for row, column, score in FACES:
        outputs["537"][0, row, column] = score
    return outputs


def test_faces_equal_the_published_formulas():
    outputs = maps()
    found = CenterFace().decode(outputs, SIZE)
    for index, (row, column, score) in enumerate(FACES):
        height, width = np.exp(outputs["538"][:, row, column]) * 4
        down, right = outputs["539"][:, row, column]
        left = min(max(0, (column + right + 0.5) * 4 - width / 2), 96)
        top = min(max(0, (row + down + 0.5) * 4 - height / 2), 64)
        np.testing.assert_allclose(found.boxes[index], [left, top, min(left + width, 96), min(top + height, 64)])
        points = outputs["540"][:, row, column].reshape(5, 2)
        np.testing.assert_allclose(found.points[index], [(x * width + left, y * height + top) for y, x in points])
        assert found.scores[index] == score


def test_the_net_without_landmarks_has_three_maps():
    decoder = CenterFace(blobs={"landmarks": ()})
    assert decoder.blob_names == ("537", "538", "539")
    assert decoder.decode({name: maps()[name] for name in decoder.blob_names}, SIZE).points is None


def test_published_outputs_are_recognized():
    shapes = {name: blob.shape for name, blob in maps().items()}
    found = recognize(shapes, SIZE)
    assert found is not None
    assert found.decoder == CenterFace()
    assert recognize(shapes, (128, 96)) is None


def test_maps_of_other_sizes_are_refused():
    with pytest.raises(DecoderError, match=r"the blob of offset has shape \(2, 8, 24\) instead of \(2, 16, 24\)"):
        CenterFace().decode(maps() | {"539": np.zeros((2, 8, 24))}, SIZE)
    with pytest.raises(DecoderError, match=r"the blob of heatmap has shape \(2, 16, 24\) instead of \(1, 16, 24\)"):
        CenterFace().decode(maps() | {"537": np.zeros((2, 16, 24))}, SIZE)

"""UltraFace's heads compared with its published formulas, box by box."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of, recognize
from netdsl.prediction.decoders.boxes import Activation
from netdsl.prediction.decoders.ultraface import UltraFace

SIZE = 240, 320
COUNT = 4420  # as published for 320 x 240


def test_boxes_equal_the_published_formulas():
    draw = np.random.default_rng(0)
    codes, scores = draw.normal(0, 1, (COUNT, 4)), draw.uniform(0, 0.6, (COUNT, 2))
    faces = [5, 3000, 4410, 4419]
    scores[faces, 1] = [0.95, 0.9, 0.85, 0.8]
    expected, index = {}, 0
    for stride, sizes in zip((8, 16, 32, 64), ((10, 16, 24), (32, 48), (64, 96), (128, 192, 256)), strict=True):
        for row in range(math.ceil(240 / stride)):
            for column in range(math.ceil(320 / stride)):
                for size in sizes:
                    x, y = min((column + 0.5) * stride / 320, 1), min((row + 0.5) * stride / 240, 1)
                    width, height = min(size / 320, 1), min(size / 240, 1)
                    dx, dy, dw, dh = codes[index]
                    x, y = x + dx * 0.1 * width, y + dy * 0.1 * height
                    width, height = width * math.exp(0.2 * dw), height * math.exp(0.2 * dh)
                    expected[index] = [
                        (x - width / 2) * 320,
                        (y - height / 2) * 240,
                        (x + width / 2) * 320,
                        (y + height / 2) * 240,
                    ]
                    index += 1
    found = UltraFace(overlap=1).decode({"boxes": codes, "scores": scores}, SIZE)
    np.testing.assert_allclose(found.boxes, [expected[face] for face in faces], rtol=1e-9)
    assert found.labels.tolist() == [0] * 4
    assert found.names == ("face",)


def test_published_outputs_are_recognized_by_their_count():
    shapes = {"boxes": (COUNT, 4), "scores": (COUNT, 2)}
    found = recognize(shapes, SIZE)
    assert found is not None
    assert found.decoder == UltraFace()
    assert recognize(shapes, (480, 640)) is None
    assert recognize({"boxes": (COUNT, 4)}, SIZE) is None


@pytest.mark.parametrize(
    ("size", "count", "stride", "sides"),
    [((640, 640), 16800, 8, (16, 32)), ((240, 320), 4420, 8, (10, 16, 24))],
)
def test_three_outputs_with_the_count_of_a_published_grid_are_faces_with_landmarks(size, count, stride, sides):
    shapes = {"output0": (1, count, 4), "589": (1, count, 10), "590": (1, count, 2)}
    found = recognize(shapes, size)
    assert found is not None and "five landmarks, as RetinaFace for PyTorch" in found.reason
    blobs = {name: np.zeros(shape) for name, shape in shapes.items()}
    cell, square = 7, 1  # in the first row
    index = cell * len(sides) + square
    blobs["590"][0, index, 1] = 0.9
    blobs["589"][0, index] = np.arange(10)
    faces = found.decoder.decode(blobs, size)
    x, y, side = (cell + 0.5) * stride, 0.5 * stride, sides[square]
    np.testing.assert_allclose(faces.boxes, [[x - side / 2, y - side / 2, x + side / 2, y + side / 2]])
    expected = [[x + 0.1 * (2 * point) * side, y + 0.1 * (2 * point + 1) * side] for point in range(5)]
    np.testing.assert_allclose(faces.points, [expected])


def test_other_counts_and_other_outputs_are_not_recognized():
    shapes = {"a": (1, 16800, 4), "b": (1, 16800, 10), "c": (1, 16800, 2)}
    assert recognize(shapes, (320, 320)) is None
    assert recognize({**shapes, "d": (7,)}, (640, 640)) is None
    assert recognize({**shapes, "c": (1, 16800, 3)}, (640, 640)) is None


def test_scores_that_are_no_probabilities_are_refused_or_become_some():
    blobs = {"boxes": np.zeros((COUNT, 4)), "scores": np.zeros((COUNT, 2))}
    blobs["scores"][:] = 5, -5
    blobs["scores"][100] = -5, 5
    with pytest.raises(DecoderError, match="scores are from -5 to 5, so they aren't probabilities; set `activation"):
        UltraFace().decode(blobs, SIZE)
    assert len(UltraFace(activation=Activation.SOFTMAX).decode(blobs, SIZE).boxes) == 1


def test_squares_larger_than_the_input_are_cut_only_with_clip():
    blobs = {"boxes": np.zeros((16, 4)), "scores": np.tile([1.0, 0], (16, 1))}
    blobs["scores"][5] = 0, 1
    for clip, width in ((True, 32), (False, 48)):
        decoder = UltraFace(strides=(8,), min_boxes=((48,),), clip=clip)
        found = decoder.decode(blobs, (32, 32))
        assert found.boxes[0, 2] - found.boxes[0, 0] == pytest.approx(width)


def test_another_input_size_is_explained():
    with pytest.raises(DecoderError, match=r"the net predicts 4420 boxes, .* describe 17640"):
        UltraFace().decode({"boxes": np.zeros((COUNT, 4)), "scores": np.zeros((COUNT, 2))}, (480, 640))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"strides": ["8", "16"]}, "output.min_boxes has 4 lists for 2 strides"),
        ({"strides": ["0.001", "16", "32", "64"]}, "output.strides is 0.001"),
        ({"min_boxes": [[], [1], [1], [1]]}, "output.min_boxes has 0 numbers"),
        ({"center_variance": "0"}, "output.center_variance contains 0"),
    ],
)
def test_wrong_settings_are_named(setting, message):
    with pytest.raises(DecoderError) as problem:
        decoder_of({"decoder": "ultraface", **setting})
    assert message in str(problem.value)

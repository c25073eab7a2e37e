"""UltraFace's heads compared with its published formulas, box by box."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of, recognize
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

"""Every image of a batch gets its own answer, also from nets whose layers fix the number of images."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from tests.zoo.models import photo
from zoo.answers.answer import AnswerSettings
from zoo.answers.answerer import Answerer, AnswererRequest, answer_images

JOINING = """
input: "data" input_shape { dim: 1 dim: 3 dim: 4 dim: 4 }
layer { name: "mean" type: "Pooling" bottom: "data" top: "mean" pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
layer { name: "points" type: "Reshape" bottom: "mean" top: "points" reshape_param { shape { dim: 1 dim: -1 } } }
"""
CARD = "---\nname: joining\ninput: {size: [4, 4]}\noutput: {decoder: landmarks, unit: pixels}\n---\n"


def test_images_keep_their_answers_if_a_net_joins_the_values_of_a_batch(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(JOINING)
    (tmp_path / "net.card.md").write_text(CARD)
    photos = [str(photo(tmp_path / f"{number}.png", number, 4, 4)) for number in range(3)]
    answerer = Answerer(AnswererRequest(str(tmp_path / "net.prototxt"), batch=3))
    assert answerer.batch == 1
    settings = AnswerSettings()
    together = answer_images(answerer, photos, settings, lambda event: None, columns={}, stdin=io.BytesIO())
    answers = [found.answer.points for found in together]
    assert [points.shape for points in answers] == [(6, 2)] * 3
    assert not np.allclose(answers[0], answers[1])

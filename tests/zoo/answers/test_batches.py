"""Every image of a batch gets its own answer, also from nets whose layers fix the number of images."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from netdsl import ConvLayer, NetParams, RDDLayer
from netdsl.dsl import Reshape
from tests.zoo.models import photo, write_folder
from zoo.answers.answer import AnswerSettings
from zoo.answers.answerer import Answerer, AnswererRequest, answer_images
from zoo.cards import Card, ImageInput


def test_images_keep_their_answers_if_a_net_joins_the_values_of_a_batch(tmp_path: Path) -> None:
    params = NetParams(
        "joining",
        RDDLayer("data", shape=[1, 3, 4, 4]),
        ConvLayer("conv", ["data"], kernel=2, stride=2, num_filters=3, weight_filler={"type": "gaussian", "std": 0.1}),
        Reshape("points", ["conv"], shape={"dim": [1, -1]}),
    )
    card = Card("joining", input=ImageInput((4, 4)), output={"decoder": "landmarks", "unit": "pixels"})
    folder = write_folder(tmp_path / "joining", params, None, card)
    photos = [str(photo(tmp_path / f"{number}.png", number, 4, 4)) for number in range(3)]
    answerer = Answerer(AnswererRequest(str(folder), batch=3))
    assert answerer.batch == 1
    together = answer_images(answerer, photos, AnswerSettings(), lambda event: None, columns={}, stdin=io.BytesIO())
    answers = [found.answer.points for found in together]
    assert [points.shape for points in answers] == [(6, 2)] * 3
    assert not np.allclose(answers[0], answers[1])

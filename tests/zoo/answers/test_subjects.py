"""Photos with several subjects, which a detector finds and a net answers one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from netdsl import LinearLayer, NetParams, RDDLayer
from netdsl.errors import DataError, NetError
from tests.zoo.models import detector, quarters, write_folder
from zoo.answers.answer import AnswerSettings, Corners, ImageAnswer, Subjects, as_plain
from zoo.answers.answerer import AnswererRequest
from zoo.answers.cascade import open_answerer
from zoo.answers.drawing import picture
from zoo.answers.subjects import cut_out, part_of_photo
from zoo.answers.writing import AnswerForm, text_of
from zoo.cards import Around, Card, Cut, ImageInput

PHOTO = quarters(20, 40).transpose(2, 0, 1)


def landmarks(folder: Path, cut: Cut | None) -> Path:
    """Return a net with one point. It is in the middle of a subject's height, and as far right as the image is red."""
    params = NetParams("points", RDDLayer("data", shape=[1, 3, 2, 2]), LinearLayer("fc", ["data"], num_outputs=2))
    weight = np.zeros((2, 3, 4), np.float32)
    weight[0, 2] = 0.25 / 255
    card = Card("points", input=ImageInput((2, 2), cut=cut), output={"decoder": "landmarks"})
    return write_folder(folder, params, {"fc": [weight.reshape(2, 12), np.array([0, 0.5])]}, card)


def answer_of(net: Path, finder: Path, said: list[str] | None = None) -> tuple[ImageAnswer, str]:
    """Return the answer about the photo, and its text."""
    heard = [] if said is None else said
    request = AnswererRequest(str(net), detector=str(finder))
    answerer = open_answerer(request, lambda event: heard.append(str(getattr(event, "text", event))))
    prepared = answerer.prepare(PHOTO, "photo", keep=True)
    answer = answerer.read(answerer.run([prepared]), 0, prepared, AnswerSettings())
    result = ImageAnswer("photo", prepared.placement, answer, pixels=prepared.image)
    return result, text_of(result, AnswerForm.TEXT, answerer.answers, {})


def test_points_of_each_detected_subject_are_in_the_whole_photo(tmp_path: Path) -> None:
    said: list[str] = []
    result, text = answer_of(landmarks(tmp_path / "points", Cut()), detector(tmp_path / "quarters"), said)
    assert {part["name"]: part["points"][0] for part in as_plain(result)["subjects"]} == {
        "red": {"name": "0", "x": pytest.approx(40), "y": 5, "score": None},
        "blue": {"name": "0", "x": 0, "y": 15, "score": None},
    }
    assert "red  from 20,0 to 40,10\n      0 at 40.0,5.0\n" in text
    assert picture(result) != picture(replace(result, answer=Subjects(())))
    assert not any("cut" in sentence for sentence in said)


def test_only_boxes_of_the_cards_subject_are_cut_out_and_another_detector_is_named(tmp_path: Path) -> None:
    said: list[str] = []
    cut = Cut("blue", detector="dlib", margin=(0, -0.25, 0, 0))
    result, _ = answer_of(landmarks(tmp_path / "points", cut), detector(tmp_path / "quarters"), said)
    (part,) = as_plain(result)["subjects"]
    assert part["points"][0]["y"] == 12 + 8 / 2  # the part begins 2.5 pixels lower, in whole pixels
    assert any(
        "the boxes of quarters are cut out, but the author of points uses those of dlib" in text for text in said
    )


@pytest.mark.parametrize(
    ("cut", "expected"),
    [
        (Cut(), (10, 20, 30, 60)),
        (Cut(margin=(0.1,)), (8, 16, 32, 64)),
        (Cut(margin=(0, -0.25, 0.5, 1)), (10, 30, 40, 100)),
        (Cut(square=True), (0, 20, 40, 60)),
    ],
)
def test_a_part_has_the_margins_and_the_form_in_the_card(cut: Cut, expected: tuple[int, ...]) -> None:
    assert part_of_photo(cut, Corners(10, 20, 30, 60)) == expected


def test_pixels_outside_the_photo_are_black() -> None:
    part = cut_out(np.full((3, 4, 5), 9, np.uint8), (-1, 2, 4, 6))
    assert part.shape == (3, 4, 5)
    assert (part[:, :2, 1:] == 9).all() and part.sum() == 9 * 3 * 2 * 4
    with pytest.raises(DataError, match="has 10000 x 10000 pixels, which is too much memory"):
        cut_out(PHOTO, (-5000, -5000, 5000, 5000))


@pytest.mark.parametrize("cut", [None, Cut(around=Around.LANDMARKS)])
def test_a_net_without_a_cut_along_a_box_has_no_detector(tmp_path: Path, cut: Cut | None) -> None:
    with pytest.raises(NetError, match="doesn't state how subjects are cut out along a detector's box"):
        answer_of(landmarks(tmp_path / "points", cut), detector(tmp_path / "quarters"))


def test_a_detector_must_find_boxes_and_the_net_must_answer_about_one_subject(tmp_path: Path) -> None:
    points, boxes = landmarks(tmp_path / "points", Cut()), detector(tmp_path / "quarters")
    with pytest.raises(NetError, match="--detector: points doesn't find boxes"):
        answer_of(points, points)
    with pytest.raises(NetError, match="quarters doesn't answer about one subject"):
        answer_of(boxes, boxes)

"""Cards: the metadata at the top of a README.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from caffe_proto.errors import CaffeError
from zoo.cards import Card, Channels, ImageInput, Result, Task, card_text, has_card, parse_card, read_card
from zoo.model_folder import model_of_file, open_folder

CAFFES_OWN = """---
name: BAIR/BVLC CaffeNet Model
caffemodel: bvlc_reference_caffenet.caffemodel
caffemodel_url: http://dl.caffe.berkeleyvision.org/bvlc_reference_caffenet.caffemodel
license: unrestricted
sha1: 4c8d77deb20ea792f84eb5e6d0a11ca0a8660a46
caffe_commit: 709dc15af4a06bebda027c1eb2b3f3e3375d5077
---

This model is a replication.
"""


def test_a_readme_of_caffes_zoo_is_read_as_a_card() -> None:
    card = parse_card(CAFFES_OWN, "readme.md")
    assert card.name == "BAIR/BVLC CaffeNet Model"
    assert card.sha1 == "4c8d77deb20ea792f84eb5e6d0a11ca0a8660a46"
    assert card.text == "This model is a replication."
    assert card.task is None


def test_a_hash_that_looks_like_a_number_is_unchanged() -> None:
    digits = "1234567890123456789012345678901234567e01"
    assert parse_card(f"---\nname: 12\nsha1: {digits}\n---\n", "x").sha1 == digits


def test_a_card_survives_writing_and_reading(tmp_path: Path) -> None:
    image = ImageInput((27, 28), Channels.RGB, (32, 33), (104.0, 117.5, 123.0), 0.5)
    card = Card(
        "x: y",
        summary="A net's # summary",
        task=Task.DETECTION,
        input=image,
        parameters=12,
        results=(Result("mAP", "77.2%", "VOC 2007", "https://example.org"),),
        mirrors=("https://example.org/a", "https://example.org/b"),
        text="Words.\n\n---\n\nMore.",
    )
    (tmp_path / "README.md").write_text(card_text(card))
    assert read_card(tmp_path / "README.md") == card


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        ("{subject: face}", "one face, cut out along a detector's box"),
        ("{subject: face, detector: dlib, margin: [0.1]}", "along the box of dlib with 10% more on each side"),
        ("{margin: [0, -0.3, 0, 0.25]}", "with 30% less at the top and 25% more at the bottom"),
        ("{around: landmarks, square: true}", "one object, cut out along the box around its landmarks, made square"),
        ("{around: image}", "whole images"),
    ],
)
def test_a_card_states_the_part_of_a_photo_that_the_net_reads(cut: str, words: str) -> None:
    card = parse_card(f"---\nname: x\ninput: {{size: [4, 6], cut: {cut}}}\n---\n", "x")
    assert card.input is not None and str(card.input.cut).endswith(words)
    assert parse_card(card_text(card), "x") == card


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "---\nname: x\ninput: {size: [4, 6], cut: {margin: [1, 2]}}\n---",
            "cut.margin has 2 values; give one, or left",
        ),
        ("---\nname: x\ninput: {size: [4, 6], cut: {margin: [-0.5]}}\n---", "cut.margin must be above -0.5"),
        ("---\nname: x\ninput: {size: [4, 6], cut: {margin: [nan]}}\n---", "cut.margin must be above -0.5"),
        ("# Title", "doesn't begin with a card"),
        ("---\nname: x", "doesn't begin with a card"),
        ("---\n- x\n---", "contains no fields"),
        ("---\nsummary: x\n---", "missing required field `name`"),
        ("---\nname: x\ntask: cooking\n---", "Invalid enum value 'cooking'"),
        ("---\nname: x\ninput: {size: [1, two]}\n---", "Expected `int`"),
        ("---\nname: [x\n---", "can't be read"),
        ("---\nname: !!python/object/apply:os.system ['touch executed']\n---", "can't be read"),
        ("---\n" + "[" * 5000 + "\n---", "can't be read"),
    ],
)
def test_an_invalid_card_is_reported(text: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CaffeError, match=problem) as error:
        parse_card(text, "model/README.md")
    assert str(error.value).startswith("model/README.md: ")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "expected"), [("---\nname: x\n---\n", True), ("\N{ZERO WIDTH NO-BREAK SPACE}---\n", True), ("# x", False)]
)
def test_a_readme_that_begins_like_a_card_is_one(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "README.md").write_text(text)
    assert has_card(tmp_path / "README.md") is expected
    assert not has_card(tmp_path / "gone.md")


def test_a_readme_for_people_is_not_a_models_card(tmp_path: Path) -> None:
    (tmp_path / "deploy.prototxt").write_text("name: 'x'")
    (tmp_path / "README.md").write_text("# Our model")
    assert open_folder(tmp_path).card == Card(tmp_path.name)
    assert model_of_file(tmp_path / "deploy.prototxt") is None

"""The net of the captions page describes drawings that it hasn't seen before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pages.page import DOCS, steps_of
from tests.pages.test_pages import run_steps

RIGHT = 40  # of 45 drawings, with the right shape and color; chance gives 5


@pytest.mark.slow
def test_held_out_drawings_get_their_captions(tmp_path: Path) -> None:
    steps = steps_of(DOCS / "captions.md")
    assert run_steps(steps, tmp_path).returncode == 0
    drawn = json.loads((tmp_path / "captions_test.json").read_text())
    true = {each["image_id"]: each["caption"].lower().rstrip(".") for each in drawn["annotations"]}
    answers = [json.loads(line) for line in (tmp_path / "captions.jsonl").read_text().splitlines()]
    said = {int(Path(answer["image"]).stem): answer["captions"][0]["caption"] for answer in answers}
    assert said.keys() == true.keys()
    assert sum(said[number] == true[number] for number in true) >= RIGHT

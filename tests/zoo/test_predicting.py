"""Predictions, as notebooks show them."""

from __future__ import annotations

import numpy as np

from zoo.answers.answer import Box, Boxes, Corners, ImageAnswer, ImageSize, Placement
from zoo.predicting import Predicted


def test_a_notebook_shows_the_image_and_the_escaped_text_of_an_answer() -> None:
    size = ImageSize(8, 9)
    found = Boxes((Box(1, "<ring>", 0.9, Corners(1, 1, 6, 6)),))
    answer = ImageAnswer("a.png", Placement(size, size, size), found, pixels=np.zeros((3, 8, 9), np.float32))
    html = Predicted("a.png\n  0.9  <ring>", answer)._repr_html_()
    assert html.startswith('<figure><img src="data:image/png;base64,iVBOR') and "&lt;ring&gt;</pre>" in html


def test_a_notebook_shows_an_answer_without_an_image_as_text() -> None:
    assert Predicted("<b>")._repr_html_() == "<figure><pre>&lt;b&gt;</pre></figure>"

"""Pictures: values or residuals, which are scaled back to pixels."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import DecoderError
from netdsl.prediction.decoders import decoder_of
from netdsl.prediction.decoders.decoder import PictureKind

INPUT = np.full((3, 2, 2), 2.0)


def decoded(values: np.ndarray, **settings: object):
    blobs = {"picture": "sum", "input": "data"}
    return decoder_of({"decoder": "picture", "blobs": blobs, **settings}).decode({"sum": values, "data": INPUT}, (2, 2))


def test_the_scale_and_the_mean_of_the_input_are_undone() -> None:
    picture = decoded(np.ones((3, 4, 4)), scale="127.5", mean=["10", "20", "30"], kind="RGB")
    assert picture.values[:, 0, 0].tolist() == [137.5, 147.5, 157.5] and picture.kind is PictureKind.RGB


def test_a_residual_is_added_to_the_input_before_scaling() -> None:
    assert decoded(np.ones((3, 2, 2)), residual="true", scale="10").values[0, 0, 0] == 30


@pytest.mark.parametrize(("channels", "kind"), [(1, PictureKind.GRAY), (3, PictureKind.BGR)])
def test_the_channels_show_the_usual_kind(channels, kind) -> None:
    assert decoded(np.ones((channels, 2, 2))).kind is kind


@pytest.mark.parametrize(
    ("shape", "settings", "message"),
    [
        ((1, 4, 4), {"kind": "BGR"}, "kind: a picture of kind BGR has 3 channels, but blob 'sum' has 1"),
        ((4, 4, 4), {}, "blob 'sum': a picture has 1 or 3 channels, but the blob has 4"),
        (
            (3, 4, 4),
            {"residual": "true"},
            "residual: the net's output has shape (3, 4, 4), but its input has",
        ),
        ((3, 4, 4), {"mean": ["1", "2"]}, "mean has 2 values for 3 channels"),
        ((3, 4), {}, "blob 'sum': the blob of picture must be (channels, height, width)"),
    ],
)
def test_an_output_that_is_not_such_a_picture_is_refused(shape, settings, message) -> None:
    with pytest.raises(DecoderError) as problem:
        decoded(np.ones(shape), **settings)
    assert str(problem.value).startswith(message)

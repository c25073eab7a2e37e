"""Colorization: a and b of pixels, or the mean of colors in a file by their probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.errors import CaffeError, DecoderError
from netdsl.prediction.decoders import decoder_of
from netdsl.prediction.decoders.decoder import PictureKind

COLORS = np.array([[-90, 50], [10, 20], [60, -40.0]])


def colors(values: np.ndarray, **settings: str) -> np.ndarray:
    decoder = decoder_of({"decoder": "colorization", "blobs": {"colors": "ab"}, **settings})
    picture = decoder.decode({"ab": values}, (2, 2))
    assert picture.kind is PictureKind.CHROMA
    return picture.values


def test_two_channels_are_a_and_b() -> None:
    values = np.arange(8.0).reshape(2, 2, 2)
    assert (colors(values) == values).all()


@pytest.mark.parametrize("name", ["colors.npy", "colors.txt"])
def test_probabilities_weigh_the_colors_in_a_file(name, tmp_path) -> None:
    path = tmp_path / name
    np.save(path, COLORS) if name.endswith("npy") else np.savetxt(path, COLORS)
    weights = np.zeros((3, 2, 2))
    weights[1], weights[2, 0, 0] = 0.5, 0.5
    found = colors(weights, points=str(path))
    assert found[:, 1, 1].tolist() == [10, 20] and found[:, 0, 0].tolist() == [35, -10]


def test_scores_are_sharpened_before_the_softmax(tmp_path) -> None:
    np.save(tmp_path / "colors.npy", COLORS)
    scores = np.zeros((3, 1, 1))
    scores[0] = 1
    settings = {"points": str(tmp_path / "colors.npy"), "softmax": "true"}
    plain, sharp = colors(scores, **settings), colors(scores, **settings, sharpness="50")
    share = np.exp(1) / (np.exp(1) + 2)
    assert plain[0, 0, 0] == pytest.approx(-90 * share + 70 * (1 - share) / 2)
    assert sharp[:, 0, 0] == pytest.approx([-90, 50])


def test_a_missing_or_unsuitable_file_is_refused(tmp_path) -> None:
    values = np.ones((3, 2, 2))
    with pytest.raises(DecoderError, match="points: blob 'ab' has the scores of 3 colors; name the file"):
        colors(values)
    with pytest.raises(CaffeError, match=r"gone\.npy"):
        colors(values, points=str(tmp_path / "gone.npy"))
    np.save(tmp_path / "two.npy", COLORS[:2])
    with pytest.raises(DecoderError, match="has 2 colors, but blob 'ab' has 3 channels"):
        colors(values, points=str(tmp_path / "two.npy"))


def test_a_damaged_file_is_refused_before_memory_is_used(tmp_path) -> None:
    path = tmp_path / "colors.npy"
    np.save(path, COLORS)
    data = path.read_bytes()
    for damaged in (data.replace(b"(3, 2)", b"(9999999999999, 2)"), data[:40], data[:-8], b"1 2\n3 x", b"\xff\xfe"):
        path.write_bytes(damaged)
        with pytest.raises(DecoderError, match=r"points: .*colors.npy (can't be read|doesn't contain rows)"):
            colors(np.ones((3, 2, 2)), points=str(path))
    np.save(path, np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(DecoderError, match="can't be read"):
        colors(np.ones((3, 2, 2)), points=str(path))

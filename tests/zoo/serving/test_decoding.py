"""The processes that decode the images of clients."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.data.transforms.decode import Color, decode
from netdsl.errors import DataError
from zoo.serving.decoding import ImageDecoders

cv2 = pytest.importorskip("cv2")

SMALL, LARGE = (cv2.imencode(".png", np.full((side, side, 3), 7, np.uint8))[1].tobytes() for side in (5, 3000))


def test_images_are_decoded_apart_as_here_and_fail_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETDSL_LIMITS", "process-memory=20M")
    with ImageDecoders(1, 100) as decoders:
        with pytest.raises(DataError, match=r"^the image: can't be decoded as an image"):
            decoders.decode(b"no image", Color.COLOR, "the image")
        with pytest.raises(DataError, match=r"^the image: .*Failed to allocate"):
            decoders.decode(LARGE, Color.COLOR, "the image")
        for color in (Color.COLOR, Color.GRAY):
            assert np.array_equal(decoders.decode(SMALL, color, "the image"), decode(SMALL, color, "the image"))

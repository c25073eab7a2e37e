"""What all sets of drawn pictures with marked objects have: parts, sides, a number of pictures, and a ground."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, MarkedObject
from netdsl.data.sources.source import DataSplit
from netdsl.data.transforms.decode import opencv
from netdsl.errors import DataError

COUNTS = {DataSplit.TRAIN: 1000, DataSplit.TEST: 200}
SIDES = 32, 1024  # pixels of a picture's sides, at least and at most
_NOISE = 14.0  # standard deviation of pixels, of 255


class DrawnPictures:
    """Square pictures, each of which follows from its number, the split and the settings alone."""

    kind: str
    side: int  # of the pictures, by default
    first_pixel = 0

    def __init__(self, split: DataSplit, *, side: int | None = None, count: int | None = None) -> None:
        side = self.side if side is None else side
        if not SIDES[0] <= side <= SIDES[1]:
            raise DataError(f"{self.kind}: pictures have sides of {SIDES[0]} to {SIDES[1]:,} pixels, not {side}")
        if count is not None and count < 1:
            raise DataError(f"{self.kind}: count must be at least 1")
        self._split, self.side = split, side
        self._count = COUNTS[split] if count is None else count

    def __len__(self) -> int:
        return self._count

    def _random(self, index: int) -> np.random.Generator:
        """The random numbers of a picture."""
        return np.random.default_rng((list(DataSplit).index(self._split), index))

    def _picture(
        self, index: int, pixels: NDArray[np.float64], objects: Iterable[MarkedObject], random: np.random.Generator
    ) -> AnnotatedImage:
        """A picture with its objects, whose pixels get noise."""
        noisy = np.clip(pixels + random.normal(0, _NOISE, pixels.shape), 0, 255).astype(np.uint8)
        name = f"{self._split.value}_{index:06}"
        data = bytes(opencv().imencode(".png", noisy)[1])
        return AnnotatedImage(name, Path(f"{self.kind}:{name}"), self.side, self.side, tuple(objects), encoded=data)


def drawn_ground(random: np.random.Generator, side: int) -> NDArray[np.float64]:
    """A ground that changes from corner to corner, in grays with little colour."""
    corners = random.uniform(40, 200, (2, 2, 1)) + random.uniform(-20, 20, (2, 2, 3))
    across = np.linspace(0, 1, side)[:, None]
    rows = corners[0] * (1 - across)[:, :, None] + corners[1] * across[:, :, None]  # side, 2, 3
    ground: NDArray[np.float64] = rows[:, :1] * (1 - across)[None] + rows[:, 1:] * across[None]
    return ground

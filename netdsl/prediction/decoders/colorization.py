"""The colors of a gray picture, as in Zhang's colorization: a and b of CIE Lab, or probabilities of 313 colors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from netdsl.data.sources.files import file_errors, regular_file
from netdsl.data.sources.npy import NPY_START, array_in
from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import softmax
from netdsl.prediction.decoders.decoder import Decoder, Numbers, Outputs, Picture, PictureKind, Size

_LARGEST_FILE = 1 << 20  # bytes
_AB = 2  # channels


@dataclass(frozen=True, kw_only=True)
class ColorizationDecoder(Decoder):
    """Reads a map of colors. Two channels are a and b. Other channels are the scores of the colors in `points`.

    `points` is a file in the model's folder with a and b of each color in a row, such as `pts_in_hull.npy`, or as text.
    The color of a pixel is the mean of these colors, weighted by their probabilities.
    """

    name = "colorization"
    published: ClassVar[Mapping[str, tuple[str, ...]]] = {"colors": ()}
    files = ("points",)

    points: str = ""
    softmax: bool = False  # whether the scores become probabilities first
    sharpness: float = 1.0  # multiplies scores before the softmax; Zhang's paper uses 1 / 0.38

    def decode(self, outputs: Outputs, size: Size) -> Picture:
        """Return the picture's a and b."""
        values = self.maps(outputs, "colors", 1)[0].astype(np.float64)
        if len(values) == _AB:
            return Picture(values, PictureKind.CHROMA)
        if not self.points:
            raise DecoderError(
                f"points: blob '{self.names_of('colors')[0]}' has the scores of {len(values)} colors; name the file "
                "with a and b of each color"
            )
        if len(self.colors) != len(values):
            raise DecoderError(
                f"points: {self.points} has {len(self.colors)} colors, but blob '{self.names_of('colors')[0]}' has "
                f"{len(values)} channels; name the file of colors that belongs to the net"
            )
        weights = softmax(values * self.sharpness, 0) if self.softmax else values
        total = weights.sum(0)
        mean = np.einsum("nc,nhw->chw", self.colors, weights) / np.where(total == 0, 1, total)
        return Picture(mean, PictureKind.CHROMA)

    @cached_property
    def colors(self) -> Numbers:
        """The colors in the file, as (colors, 2)."""
        path = Path(self.points)
        with file_errors(path), regular_file(path).open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        if len(data) > _LARGEST_FILE:
            raise DecoderError(
                f"points: {path} is longer than 1 MB, so it isn't a list of colors; name a text file or an .npy "
                "file with a and b in each row"
            )
        try:
            colors = np.asarray(array_in(data), np.float64) if data.startswith(NPY_START) else _table(data)
        except ValueError as problem:
            raise DecoderError(
                f"points: {path} can't be read: {problem}; name a text file or an .npy file with a and b in each row"
            ) from None
        if colors.ndim != 2 or colors.shape[1] != _AB or not np.isfinite(colors).all():
            raise DecoderError(
                f"points: {path} doesn't contain rows of a and b; name a text file or an .npy file with two numbers "
                "in each row"
            )
        return colors


def _table(data: bytes) -> Numbers:
    """Return the numbers in the lines of a text."""
    return np.array([[float(word) for word in line.replace(b",", b" ").split()] for line in data.splitlines() if line])

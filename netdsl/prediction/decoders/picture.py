"""A picture that a net computes, as in super-resolution, denoising and style transfer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.decoder import Decoder, Outputs, Picture, PictureKind, Size

_CHANNELS = {
    PictureKind.RGB: 3,
    PictureKind.BGR: 3,
    PictureKind.GRAY: 1,
    PictureKind.LUMA: 1,
    PictureKind.CHROMA: 2,
}


@dataclass(frozen=True, kw_only=True)
class PictureDecoder(Decoder):
    """Reads a map as a picture.

    With `residual`, the net's input is added first. Then values are multiplied by `scale`, and `mean` is added, which
    is one value or one for each channel. Both undo the card's `input`, so that the picture has values from 0 to 255.
    """

    name = "picture"
    published: ClassVar[Mapping[str, tuple[str, ...]]] = {"picture": (), "input": ()}

    kind: PictureKind = PictureKind.BGR
    residual: bool = False
    scale: float = 1.0
    mean: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.mean) not in (1, _CHANNELS[self.kind]):
            raise DecoderError(
                f"mean has {len(self.mean)} values for {_CHANNELS[self.kind]} channels; give one value for each, or "
                "only one"
            )

    def decode(self, outputs: Outputs, size: Size) -> Picture:
        """Return the picture."""
        values = self.maps(outputs, "picture", 1)[0].astype(np.float64)
        if len(values) != _CHANNELS[self.kind]:
            raise DecoderError(
                f"kind: a picture of kind {self.kind.value} has {_CHANNELS[self.kind]} channels, but blob "
                f"'{self.names_of('picture')[0]}' has {len(values)}; set `kind` in the card to one with that "
                "many channels, or name another blob"
            )
        if self.residual:
            pixels = self.maps(outputs, "input", 1)[0]
            if pixels.shape != values.shape:
                raise DecoderError(
                    f"residual: the net's output has shape {values.shape}, but its input has {pixels.shape}, so they "
                    "can't be added; remove `residual`"
                )
            values = values + pixels
        return Picture(values * self.scale + np.reshape(self.mean, (-1, 1, 1)), self.kind)

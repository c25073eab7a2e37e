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
_USUAL = {1: PictureKind.GRAY, 3: PictureKind.BGR}  # by the number of channels


@dataclass(frozen=True, kw_only=True)
class PictureDecoder(Decoder):
    """Reads a map as a picture. Without a `kind`, one channel is gray and three channels are BGR.

    With `residual`, the net's input is added first. Then values are multiplied by `scale`, and `mean` is added, which
    is one value or one for each channel. Both undo the card's `input`, so that the picture has values from 0 to 255.
    """

    name = "picture"
    published: ClassVar[Mapping[str, tuple[str, ...]]] = {"picture": (), "input": ()}

    kind: PictureKind | None = None
    residual: bool = False
    scale: float = 1.0
    mean: tuple[float, ...] = (0.0,)

    def decode(self, outputs: Outputs, size: Size) -> Picture:
        """Return the picture."""
        values = self.maps(outputs, "picture", 1)[0].astype(np.float64)
        kind, blob = self.kind or _USUAL.get(len(values)), self.names_of("picture")[0]
        if kind is None:
            raise DecoderError(
                f"blob '{blob}': a picture has 1 or 3 channels, but the blob has {len(values)}; name another blob, or "
                "set `kind`"
            )
        if len(values) != _CHANNELS[kind]:
            raise DecoderError(
                f"kind: a picture of kind {kind.value} has {_CHANNELS[kind]} channels, but blob '{blob}' has "
                f"{len(values)}; set `kind` in the card to one with that many channels, or name another blob"
            )
        if len(self.mean) not in (1, len(values)):
            raise DecoderError(
                f"mean has {len(self.mean)} values for {len(values)} channels; give one value for each, or only one"
            )
        if self.residual:
            pixels = self.maps(outputs, "input", 1)[0]
            if pixels.shape != values.shape:
                raise DecoderError(
                    f"residual: the net's output has shape {values.shape}, but its input has {pixels.shape}, so they "
                    "can't be added; remove `residual`"
                )
            values = values + pixels
        return Picture(values * self.scale + np.reshape(self.mean, (-1, 1, 1)), kind)

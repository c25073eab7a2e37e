"""The landmarks of one face or object, which a net computes as a vector of coordinates: 10, 136, 212 or others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.decoder import Decoder, Outputs, PointOrder, Points, Size


class PointUnit(Enum):
    """The unit of coordinates: the width and height of the net's input, or its pixels."""

    FRACTIONS = "fractions"
    PIXELS = "pixels"


@dataclass(frozen=True, kw_only=True)
class LandmarkDecoder(Decoder):
    """Reads a vector of coordinates as points.

    Each value is multiplied by `scale`, and `offset` is added. For values from -1 to 1 around the center, both are 0.5.
    """

    name = "landmarks"
    published: ClassVar[Mapping[str, tuple[str, ...]]] = {"points": ()}

    order: PointOrder = PointOrder.XY
    unit: PointUnit = PointUnit.FRACTIONS
    scale: float = 1.0
    offset: float = 0.0
    names: tuple[str, ...] = ()  # of the points

    def decode(self, outputs: Outputs, size: Size) -> Points:
        """Return the points."""
        values = self.blob(outputs, "points").ravel()
        if not values.size or values.size % 2:
            raise DecoderError(
                f"blob '{self.names_of('points')[0]}': {values.size} values aren't pairs of x and y; name another blob"
            )
        places = values.reshape(2, -1).T if self.order is PointOrder.XXYY else values.reshape(-1, 2)
        units = size[::-1] if self.unit is PointUnit.FRACTIONS else (1, 1)
        return Points((places.astype(np.float64) * self.scale + self.offset) * units, names=self.names)

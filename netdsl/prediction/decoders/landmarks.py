"""The landmarks of one face or object, which a net computes as a vector of coordinates: 10, 136, 212 or others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.decoder import (
    LARGEST_LIST,
    AttributeGroup,
    Decoder,
    Outputs,
    PointOrder,
    Points,
    Size,
    part_of,
    read_groups,
    require_groups,
    require_range,
)


class PointUnit(Enum):
    """The unit of coordinates: the width and height of the net's input, or its pixels."""

    FRACTIONS = "fractions"
    PIXELS = "pixels"


@dataclass(frozen=True, kw_only=True)
class LandmarkDecoder(Decoder):
    """Reads a vector of coordinates, or a part of one, as points.

    The part begins at the value `first` and has `count` values, by default all others. Each value is multiplied by
    `scale`, and `offset` is added. For values from -1 to 1 around the center, both are 0.5. `groups` are attributes of
    the same object.
    """

    name = "landmarks"
    published: ClassVar[Mapping[str, tuple[str, ...]]] = {"points": ()}
    one_subject = True

    order: PointOrder = PointOrder.XY
    unit: PointUnit = PointUnit.FRACTIONS
    scale: float = 1.0
    offset: float = 0.0
    first: int = 0
    count: int = 0
    names: tuple[str, ...] = ()  # of the points
    groups: dict[str, AttributeGroup] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("first", self.first, 0, LARGEST_LIST)
        require_range("count", self.count, 0, LARGEST_LIST)
        require_groups(self.groups)

    @property
    def blob_names(self) -> tuple[str, ...]:
        """The blobs of the points and of all groups, each once."""
        return tuple(dict.fromkeys([*super().blob_names, *(group.blob for group in self.groups.values())]))

    def decode(self, outputs: Outputs, size: Size) -> Points:
        """Return the points and the attributes."""
        blob = next(iter(self.names_of("points")), "")
        values = part_of(self.blob(outputs, "points"), blob, self.first, self.count)
        if values.size % 2:
            raise DecoderError(
                f"blob '{blob}': {values.size} values aren't pairs of x and y; name the blob with "
                "the points under `blobs` in the card, or a part of it with `first` and `count`"
            )
        places = values.reshape(2, -1).T if self.order is PointOrder.XXYY else values.reshape(-1, 2)
        units = size[::-1] if self.unit is PointUnit.FRACTIONS else (1, 1)
        points = (places.astype(np.float64) * self.scale + self.offset) * units
        return Points(points, names=self.names, groups=read_groups(self.groups, outputs))

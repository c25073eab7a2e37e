"""The attributes of one object, such as the age and the gender of a face: groups of classes, and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import softmax
from netdsl.prediction.decoders.decoder import Attributes, ClassScores, Decoder, Outputs, Size, finite_blob


@dataclass(frozen=True)
class AttributeGroup:
    """An attribute: a part of a blob that contains the scores of classes, or a number.

    The part begins at the value `first` and has `count` values, by default all others. One value without names is a
    number, which is multiplied by `scale`. With `expected`, the classes are the numbers 0, 1, 2 and so on, as for ages,
    and the attribute is their mean weighted by the scores.
    """

    blob: str
    names: tuple[str, ...] = ()
    first: int = 0
    count: int = 0
    softmax: bool = False  # whether the net's values become probabilities first
    expected: bool = False
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class AttributeDecoder(Decoder):
    """Reads each attribute in `groups` from its own blob or from a part of a shared blob."""

    name = "attributes"
    published: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    groups: dict[str, AttributeGroup] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.groups:
            raise DecoderError("groups: there are no attributes; give the name of each with its `blob`")
        for attribute, group in self.groups.items():
            if group.first < 0 or group.count < 0:
                raise DecoderError(
                    f"groups.{attribute}: `first` and `count` can't be negative; count the blob's values from 0"
                )

    @property
    def blob_names(self) -> tuple[str, ...]:
        """The blobs of all groups, each once."""
        return tuple(dict.fromkeys(group.blob for group in self.groups.values()))

    def decode(self, outputs: Outputs, size: Size) -> Attributes:
        """Return the classes or the number of each attribute."""
        return Attributes({name: _attribute(name, group, outputs) for name, group in self.groups.items()})


def _attribute(name: str, group: AttributeGroup, outputs: Outputs) -> ClassScores | float:
    if group.blob not in outputs:
        raise DecoderError(f"groups.{name}: the net has no output '{group.blob}'; name one of {', '.join(outputs)}")
    values = finite_blob(outputs, group.blob).ravel()
    end = group.first + group.count if group.count else values.size
    if not group.first < end <= values.size:
        raise DecoderError(
            f"groups.{name}: blob '{group.blob}' has {values.size} values, so the values {group.first} to "
            f"{end - 1} can't be read; set `first` and `count` so that they end at {values.size} or before"
        )
    part = values[group.first : end].astype(np.float64)
    if group.softmax:
        part = softmax(part, 0)
    if group.expected:
        return float(part @ np.arange(part.size) / part.sum()) * group.scale
    if part.size == 1 and not group.names:
        return float(part[0]) * group.scale
    if group.names and len(group.names) != part.size:
        raise DecoderError(
            f"groups.{name}: there are {part.size} scores for {len(group.names)} names; write a name for each score"
        )
    return ClassScores(part, group.names)

"""The attributes of one object, such as the age and the gender of a face: groups of classes, and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.decoder import (
    AttributeGroup,
    Attributes,
    Decoder,
    Outputs,
    Size,
    read_groups,
    require_groups,
)


@dataclass(frozen=True, kw_only=True)
class AttributeDecoder(Decoder):
    """Reads each attribute in `groups` from its own blob or from a part of a shared blob."""

    name = "attributes"
    published: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    one_subject = True

    groups: dict[str, AttributeGroup] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.groups:
            raise DecoderError("groups: there are no attributes; give the name of each with its `blob`")
        require_groups(self.groups)

    @property
    def blob_names(self) -> tuple[str, ...]:
        """The blobs of all groups, each once."""
        return tuple(dict.fromkeys(group.blob for group in self.groups.values()))

    def decode(self, outputs: Outputs, size: Size) -> Attributes:
        """Return the classes or the number of each attribute."""
        return Attributes(read_groups(self.groups, outputs))

"""What an ONNX model says about itself besides its graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

PRODUCER = "netdsl"


@dataclass(frozen=True)
class Metadata:
    """Texts for the model's `metadata_props`; what is empty is left out."""

    preprocessing: str = ""  # how an image becomes the input
    labels: Sequence[str] = ()  # the names of the classes, in their order
    licence: str = ""
    source_sha256: str = ""  # of the file that the weights came from

    def properties(self) -> dict[str, str]:
        """The properties by name."""
        found = {
            "producer": PRODUCER,
            "preprocessing": self.preprocessing,
            "labels": "\n".join(self.labels),
            "licence": self.licence,
            "source_sha256": self.source_sha256,
        }
        return {name: value for name, value in found.items() if value}

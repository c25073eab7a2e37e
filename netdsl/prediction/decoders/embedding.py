"""An embedding: a vector, such as a face descriptor, whose distance to other vectors measures similarity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.prediction.decoders.decoder import Decoder, Embedding, Outputs, Size


@dataclass(frozen=True, kw_only=True)
class EmbeddingDecoder(Decoder):
    """Reads all values of a blob as one vector. With `normalize`, its Euclidean length becomes 1."""

    name = "embedding"
    published: ClassVar[Mapping[str, tuple[str, ...]]] = {"embedding": ()}
    one_subject = True

    normalize: bool = False

    def decode(self, outputs: Outputs, size: Size) -> Embedding:
        """Return the vector. A vector of zeros can't be normalized and stays."""
        vector = self.blob(outputs, "embedding").ravel()
        length = float(np.linalg.norm(vector.astype(np.float64)))
        return Embedding(vector / length if self.normalize and length else vector)

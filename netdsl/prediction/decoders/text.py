"""A text that a net reads from an image, such as a license plate: scores of symbols at each place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import softmax
from netdsl.prediction.decoders.decoder import Decoder, Numbers, Outputs, Size, Text


@dataclass(frozen=True, kw_only=True)
class TextDecoder(Decoder):
    """Reads the likeliest symbol of each place.

    `names` are the symbols in the order of the net's classes, by default those in labels.txt. The scores are one map
    with an axis for the symbols, or one blob for each place. By CTC's rule, equal symbols at adjacent places are one,
    and the symbol number `blank` separates symbols and isn't part of the text. A negative number counts from the end.
    With `indices`, the blob contains the numbers of symbols, and a negative number ends the text.
    """

    name = "text"
    published: ClassVar[Mapping[str, tuple[str, ...]]] = {"scores": ()}

    names: tuple[str, ...] = ()
    ctc: bool = True
    blank: int = -1
    softmax: bool = False  # whether the scores become probabilities first
    indices: bool = False

    def decode(self, outputs: Outputs, size: Size) -> Text:
        """Return the text."""
        if not self.names:
            raise DecoderError("names: there are no symbols; list them, or write one on each line of labels.txt")
        blobs = self.blobs_of(outputs, "scores")
        if not blobs:
            raise DecoderError("blobs: 'scores' has 0 blobs; name one under `blobs` in the card")
        if self.indices:
            return self._text_of_indices(np.concatenate([blob.ravel() for blob in blobs]))
        places = self._places(blobs)
        scores = softmax(places, 1) if self.softmax else places
        best = scores.argmax(1)
        kept = list(range(len(best)))
        if self.ctc:
            blank = self.blank % len(self.names)
            kept = [place for place in kept if best[place] != blank and (not place or best[place] != best[place - 1])]
        return Text(
            tuple(self.names[best[place]] for place in kept), tuple(float(scores[place].max()) for place in kept)
        )

    def _places(self, blobs: list[Numbers]) -> Numbers:
        """Return the scores as (places, symbols)."""
        count = len(self.names)
        squeezed = [blob.squeeze().astype(np.float64) for blob in blobs]
        if len(squeezed) > 1 and all(scores.shape == (count,) for scores in squeezed):
            return np.stack(squeezed)
        fitting = [scores for scores in (squeezed[0], squeezed[0].T) if scores.ndim == 2 and scores.shape[1] == count]
        if len(squeezed) != 1 or not fitting:
            shapes = ", ".join(str(blob.shape) for blob in blobs)
            raise DecoderError(
                f"names: there are {count} symbols, but the scores have shapes {shapes}; write a name for each "
                "score, and one for the blank"
            )
        return fitting[0]

    def _text_of_indices(self, indices: Numbers) -> Text:
        end = np.flatnonzero(indices < 0)
        numbers = indices[: end[0] if end.size else None].astype(np.int64).tolist()
        if any(number >= len(self.names) for number in numbers):
            raise DecoderError(
                f"names: there are {len(self.names)} symbols, but the net's output contains {max(numbers)}; "
                "write the missing symbols at the end of the names"
            )
        return Text(tuple(self.names[number] for number in numbers))

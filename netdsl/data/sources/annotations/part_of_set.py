"""A part of a set of images with marked objects, to train or to test on."""

from __future__ import annotations

from collections.abc import Sequence

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, AnnotatedSet
from netdsl.data.sources.source import DataSplit
from netdsl.errors import DataError

_EVERY = 10  # by the same rule as for sources


class PartOfSet:
    """Every tenth image of a set, or all others."""

    def __init__(self, annotated: AnnotatedSet, part: DataSplit) -> None:
        self._set = annotated
        is_test = part is DataSplit.TEST
        self._indices = [index for index in range(len(annotated)) if (index % _EVERY == 0) is is_test]
        if not self._indices:
            raise DataError(f"of {len(annotated)} images, none is in the part {part.value}")

    @property
    def classes(self) -> Sequence[str]:
        """The names of the set's classes."""
        return self._set.classes

    @property
    def first_pixel(self) -> int:
        """The coordinate of the first pixel in the set's own files."""
        return self._set.first_pixel

    def __len__(self) -> int:
        return len(self._indices)

    def image(self, index: int) -> AnnotatedImage:
        """One image."""
        return self._set.image(self._indices[index])

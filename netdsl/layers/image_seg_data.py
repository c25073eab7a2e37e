"""ImageSegData: DeepLab's images from files, with a label for each pixel."""

from __future__ import annotations

from collections.abc import Sequence

from netdsl.layer import Shape
from netdsl.layers._data import LabeledImages


class ImageSegData(LabeledImages):
    """Reads images and label maps of the same size.

    A third top contains the size of each image before cropping and padding.
    """

    origin = "DeepLab"
    tops = (2, 3)

    def item_shapes(self) -> Sequence[Shape | None]:
        return [*super().item_shapes(), (1, 1, 2)]

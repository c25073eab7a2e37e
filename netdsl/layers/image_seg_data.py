"""ImageSegData: DeepLab's images from files, with a label for every pixel and maybe how big they were."""

from __future__ import annotations

from netdsl.layer import Shape
from netdsl.layers._data import LabelledImages


class ImageSegData(LabelledImages):
    """An image, a map of its size, and maybe its height and width before it was cropped or padded."""

    origin = "DeepLab"
    tops = (2, 3)

    def item_shapes(self) -> list[Shape]:
        return [*super().item_shapes(), (1, 1, 2)]

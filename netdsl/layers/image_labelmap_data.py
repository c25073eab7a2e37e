"""ImageLabelmapData: HED's images from files, with a label for every pixel."""

from __future__ import annotations

from netdsl.layers._data import ImagesWithMaps


class ImageLabelmapData(ImagesWithMaps):
    """An image and a map of its size."""

    origin = "HED"

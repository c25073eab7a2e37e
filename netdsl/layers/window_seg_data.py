"""WindowSegData: DeconvNet's parts of images from files, with a label for every pixel."""

from __future__ import annotations

from netdsl.layers._data import ImagesWithMaps


class WindowSegData(ImagesWithMaps):
    """A part of an image, and a map of its size."""

    origin = "deconvnet"
    tops = (2, 2)

"""WindowSegData: DeconvNet's parts of images from files, with a label for every pixel."""

from __future__ import annotations

from netdsl.layers._data import LabelledImages


class WindowSegData(LabelledImages):
    """A part of an image, and a map of its size. A line of the list ends with the part's corners, x1 y1 x2 y2."""

    origin = "deconvnet"
    tops = (2, 2)
    windows = True

"""WindowSegData: DeconvNet's parts of images from files, with a label for each pixel."""

from __future__ import annotations

from netdsl.layers._data import LabeledImages


class WindowSegData(LabeledImages):
    """Reads parts of images, and label maps of the same size.

    Each line of the list ends with a part's corners x1 y1 x2 y2.
    """

    origin = "deconvnet"
    tops = (2, 2)
    windows = True

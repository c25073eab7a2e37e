"""A view of a source whose images are all gray, or all blue, green, red."""

from __future__ import annotations

from typing import Any

import numpy as np

from netdsl.data.sources.class_names import classes_of
from netdsl.data.sources.source import Item, Source, StoredColors
from netdsl.data.sources.view import SourceView
from netdsl.data.transforms.channels import in_color
from netdsl.data.transforms.decode import Color


class ColorView(SourceView):
    """All items of a source, whose first array has the channels of a colour if it is an image."""

    def __init__(self, source: Source, color: Color) -> None:
        super().__init__(source, np.arange(len(source)), classes_of(source))
        self._color = color
        self._rgb = isinstance(source, StoredColors) and source.stored_rgb

    def item(self, fetched: Any) -> Item:
        """The arrays of an item that was fetched."""
        image, *others = super().item(fetched)
        return in_color(image, self._color, rgb=self._rgb) if image.ndim == 3 else image, *others

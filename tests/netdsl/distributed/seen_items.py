"""A Python layer that records which items a worker learns from."""

from __future__ import annotations

import os
import zlib
from typing import Any


class SeenItems:
    """Appends a line per batch to the file that `param_str` names: each item's label, and a sum of its image's
    bytes."""

    param_str: str

    def __init__(self, layer: Any) -> None: ...

    def setup(self, bottom: list[Any], top: list[Any]) -> None: ...

    def reshape(self, bottom: list[Any], top: list[Any]) -> None: ...

    def forward(self, bottom: list[Any], top: list[Any]) -> None:
        images, labels = bottom[0].data, bottom[1].data.reshape(-1)
        items = [f"{int(label)}:{zlib.crc32(image.tobytes())}" for image, label in zip(images, labels, strict=True)]
        # shared by all workers, which append whole lines
        file = os.open(self.param_str, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, f"{' '.join(items)}\n".encode())
        os.close(file)

    def backward(self, top: list[Any], propagate_down: list[bool], bottom: list[Any]) -> None: ...

"""Decodes the images of clients in separate processes with limits, `netdsl.apart`."""

from __future__ import annotations

from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np

from netdsl.apart import SeparateProcess
from netdsl.closing import ClosedAtEnd
from netdsl.data.transforms.decode import Color, decode
from netdsl.data.types import Array


@dataclass(frozen=True)
class DecodedImage:
    """The pixels of an image, as bytes in the order channels, height, width."""

    shape: tuple[int, ...]
    pixels: bytes


def decode_image(data: bytes, color: Color, where: str) -> DecodedImage:
    """Decode an image. This function runs in the separate process."""
    image = decode(data, color, where)
    return DecodedImage(image.shape, image.tobytes())


class ImageDecoders(ClosedAtEnd):
    """Processes that decode images. An image that ends its process, or exceeds its limits, is refused alone.

    Each thread that decodes waits for a free process. `seconds` is the limit for one image, the server's `--timeout`.
    """

    def __init__(self, count: int, seconds: float) -> None:
        self._processes = [SeparateProcess(__name__, seconds, "--timeout") for _ in range(count)]
        self._free = SimpleQueue[SeparateProcess]()
        for process in self._processes:
            self._free.put(process)

    def start(self) -> None:
        """Start a process, so that the first image needn't wait for it."""
        self._processes[0].start()

    def decode(self, data: bytes, color: Color, where: str) -> Array:
        """Return an image as channels, height, width."""
        process = self._free.get()
        try:
            image = process.call(where, decode_image, data, color, where)
        finally:
            self._free.put(process)
        return np.frombuffer(bytearray(image.pixels), np.uint8).reshape(image.shape)

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.close()

"""An image with its objects, ready to be written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from netdsl.data.sources.annotations.annotated_image import AnnotatedImage, Edges, MarkedObject, RunLengths
from netdsl.data.sources.annotations.masks import Mask, PixelMap, class_map, object_map, object_masks
from netdsl.data.transforms.decode import Color, Interpolation, decode, resize
from netdsl.data.types import Array
from netdsl.errors import DataError


@dataclass(frozen=True)
class AnnotatedExample:
    """An image to be written: its objects in the set's own pixels, and its bytes, which may have another size.

    `first_pixel` is the coordinate of the first pixel in the files that the objects are from.
    """

    position: int
    image: AnnotatedImage
    data: bytes
    ending: str
    channels: int
    height: int
    width: int
    first_pixel: int
    encoded_anew: bool

    @property
    def file_name(self) -> str:
        """The name of the image's file without folders."""
        return f"{self.image.name.rpartition('/')[2]}.{self.ending}"

    @property
    def stem(self) -> str:
        """The name of the image without folders and ending."""
        return self.image.name.rpartition("/")[2]

    def objects(self) -> list[MarkedObject]:
        """The objects in the pixels of the image as it is written, without what only masks can tell."""
        down, across = self.height / self.image.height, self.width / self.image.width
        return [
            replace(
                marked,
                edges=Edges(*(edge * (down if place % 2 else across) for place, edge in enumerate(marked.edges))),
                outlines=tuple(tuple((x * across, y * down) for x, y in outline) for outline in marked.outlines),
                joints=tuple(joint._replace(x=joint.x * across, y=joint.y * down) for joint in marked.joints),
                runs=None,
                area=None if marked.area is None else marked.area * down * across,
            )
            for marked in self.image.objects
        ]

    def runs(self) -> list[RunLengths | None]:
        """The pixels of each object in the image as it is written."""
        return [None if mask is None else RunLengths.of(self._resized_mask(mask)) for mask in object_masks(self.image)]

    def class_map(self) -> PixelMap | None:
        """The class of each pixel of the image as it is written, if pixels are known."""
        return self._resized(class_map(self.image))

    def object_map(self) -> PixelMap | None:
        """The number of the object that each pixel of the image as it is written belongs to, if pixels are known."""
        return self._resized(object_map(self.image))

    def _resized_mask(self, mask: Mask) -> Mask:
        resized = self._resized(mask.astype(np.uint8))
        assert resized is not None
        return resized.astype(bool)

    def _resized(self, pixels: PixelMap | None) -> PixelMap | None:
        if pixels is None or pixels.shape == (self.height, self.width):
            return pixels
        resized: PixelMap = resize(pixels[None], self.height, self.width, Interpolation.NEAREST)[0]
        return resized


def pixels_of(image: AnnotatedImage, data: bytes, color: Color) -> Array:
    """The pixels of an image's bytes, which must be as many as its annotations are about."""
    pixels = decode(data, color, str(image.path))
    if pixels.shape[1:] != (image.height, image.width):
        raise DataError(
            f"{image.path}: has {pixels.shape[1]} x {pixels.shape[2]} pixels, and its annotations are about "
            f"{image.height} x {image.width}; correct them"
        )
    return pixels


PutAnnotated = Callable[[AnnotatedExample], None]  # adds an image to a set that is being written
Classes = Sequence[str]  # of which the first is the background

"""SSD's transform of an image with boxes. Both are expanded, cropped, resized and mirrored alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.transforms.boxes import (
    COLUMNS,
    EDGES,
    WHOLE,
    Box,
    Boxes,
    Canvas,
    Emission,
    Expansion,
    PixelWindow,
    WindowDraw,
    project,
)
from netdsl.data.transforms.color_distortion import ColorDistortion
from netdsl.data.transforms.crops import refuse_for
from netdsl.data.transforms.decode import opencv, resize
from netdsl.data.transforms.image_settings import crop_of
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.resizing import ImageResizing, as_bytes
from netdsl.data.transforms.transform import FOR_BOXES, CropPlacement, Transform
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_FOREGROUND = 100  # in Caffe, a larger value of a map with one class is foreground
_ALL = 255
_BATCHES_OF_ONE_SIZE = 10  # in Caffe (MobileNet-YOLO), another size is drawn after this many batches
_SUM_OF_SHARES = 0.01  # the allowed difference of the sum from 1


class ClassMaps:
    """Converts a map with a value for each pixel to the net's map, and resizes it.

    `channels` contains the values that each channel represents. Without it, there is one channel, in which values above
    100 are foreground. The size is `size`, or the image's size divided by `divisor`.
    """

    def __init__(
        self, channels: Sequence[Sequence[int]] | None, *, divisor: int = 1, size: tuple[int, int] | None = None
    ) -> None:
        self._channels, self._divisor, self._size = channels, divisor, size

    def __call__(self, values: Array, height: int, width: int) -> Pixels:
        """Return the map for an image of this final size. `values` are those of the visible part, with one channel."""
        size = self._size or (max(1, height // self._divisor), max(1, width // self._divisor))
        if self._channels is None:
            shares: Pixels = resize(values, *size)
            return np.where(shares > _FOREGROUND, np.float32(1), np.float32(0))
        return np.concatenate([resize(_chosen(values, wanted), *size) for wanted in self._channels]) / np.float32(_ALL)


def _chosen(values: Array, wanted: Sequence[int]) -> Array:
    table = np.zeros(_ALL + 1, np.uint8)
    table[list(wanted)] = _ALL
    return np.asarray(opencv().LUT(values[0], table))[None]


class AnnotatedTransform:
    """The transform in `transform_param` for an image, the rows of its objects, and its class map if it has one.

    An item can have a label in place of rows. As in Caffe, colors are distorted, the image is placed on a larger
    canvas, a window of the canvas is drawn and resized, and a part of it is cropped and mirrored. In tests, the crop is
    centered. All other changes are drawn in every phase. Unlike in Caffe, only the pixels in the window are distorted,
    which gives the same result.
    """

    def __init__(
        self,
        p: pb.TransformationParameter,
        draw_window: WindowDraw | None = None,
        class_maps: ClassMaps | None = None,
        *,
        train: bool,
        seed: int = 0,
    ) -> None:
        if p.HasField("random_aspect_ratio_param"):
            raise DataError(
                "random_aspect_ratio_param doesn't work for images with boxes; describe crops with batch_sampler in "
                "annotated_data_param instead"
            )
        refuse_for("images with boxes", p)
        self._draw_window, self._class_maps, self._seed = draw_window, class_maps, seed
        self._distortion = ColorDistortion(p.distort_param) if p.HasField("distort_param") else None
        self._expansion, self._emission = Expansion(p), Emission(p)
        self._resizings, self._shares = [ImageResizing(each) for each in p.resize_param], _shares(p)
        self._transform = Transform(_after_resizing(p), train=train)
        if class_maps and (crop_of(p) or any(each.resize_mode != pb.ResizeParameter.WARP for each in p.resize_param)):
            raise DataError(
                "class maps only work with resize_mode WARP and without a crop; set resize_mode: WARP in "
                "resize_param, and remove crop_size"
            )

    def __call__(self, item: Sequence[Array], random: Random, batch: int) -> tuple[Array, ...]:
        """Return the arrays of an item for a batch of this number.

        All random numbers come from `random`, except those for the size.
        """
        image, annotation, *maps = item
        if any(values.shape[1:] != image.shape[1:] for values in maps):
            raise DataError(
                f"an image of {_in_words(image)} has a class map of {_in_words(maps[0])}; resize the map to the "
                "image's size"
            )
        rows: Boxes = annotation if annotation.ndim else np.empty((0, COLUMNS), np.float32)
        canvas, area, rows = self._drawn(rows, image.shape[1], image.shape[2], random)
        shown = self._shown(as_bytes(image), canvas, area, random)
        resizing = self._resizing(batch)
        resized = resizing(shown, random) if resizing else shown
        place = self._transform.place(resized.shape[1], resized.shape[2], random)
        rows = self._placed(rows, resizing, area, place, resized.shape)
        tops = [self._class_map(values, canvas, area, place) for values in maps]
        return self._transform.taken(resized, place), rows if annotation.ndim else annotation, *tops

    def _drawn(self, rows: Boxes, height: int, width: int, random: Random) -> tuple[Canvas, PixelWindow, Boxes]:
        """Return a canvas for an image of this size, a window of it in pixels, and the rows of the objects that are
        visible."""
        canvas = self._expansion(height, width, random)
        if (canvas.height, canvas.width) != (height, width):
            rows = self._seen(rows, canvas.edges(height, width))
        window = self._draw_window(rows[:, EDGES], random) if self._draw_window else None
        if window is None:
            return canvas, canvas.pixels(WHOLE), rows
        window = window.clip(0, 1)
        return canvas, canvas.pixels(window), self._seen(rows, window)

    def _resizing(self, batch: int) -> ImageResizing | None:
        """Return the resizing for the images of a batch.

        If there are several resizings, one of them is drawn at random and used for some batches in a row.
        """
        if len(self._resizings) < 2:
            return self._resizings[0] if self._resizings else None
        random = np.random.default_rng((self._seed, batch // _BATCHES_OF_ONE_SIZE))
        return self._resizings[int(np.searchsorted(self._shares, random.random() * self._shares[-1], side="right"))]

    def _seen(self, rows: Boxes, window: Box, boxes: Boxes | None = None) -> Boxes:
        """Return the rows of the objects that are sufficiently visible in a window. Their edges are relative to the
        window.

        `boxes` are the objects' edges before the window is applied, if they differ from those in the rows.
        """
        edges = rows[:, EDGES] if boxes is None else boxes
        parts, inside = project(edges, window)
        seen = inside & self._emission(edges, window)
        kept: Boxes = rows[seen]
        kept[:, EDGES] = parts[seen]
        return kept

    def _shown(self, image: Array, canvas: Canvas, area: PixelWindow, random: Random) -> Array:
        """Return the visible part of the canvas. The image's colors are distorted, and those around it aren't."""
        part = canvas.part(image.transpose(1, 2, 0), area)
        if self._distortion is not None and part.size:
            part = self._distortion(part, random)
        return canvas.filled(part, area, self._expansion.fill(len(image))).transpose(2, 0, 1)

    def _placed(
        self,
        rows: Boxes,
        resizing: ImageResizing | None,
        area: PixelWindow,
        place: CropPlacement,
        resized: Sequence[int],
    ) -> Boxes:
        """Return the rows of the objects that are visible in the cropped part of the resized window."""
        boxes = rows[:, EDGES]
        if resizing:
            boxes = resizing.boxes(boxes, area.height, area.width)
        crop = place.edges(resized[1], resized[2])
        rows = self._seen(rows, crop, boxes)
        if place.mirrored:
            rows[:, 2], rows[:, 4] = 1 - rows[:, 4], 1 - rows[:, 2]
        if resizing:
            rows[:, EDGES] = resizing.in_other_units(rows[:, EDGES], area.height, area.width, crop)
        return rows

    def _class_map(self, values: Array, canvas: Canvas, area: PixelWindow, place: CropPlacement) -> Array:
        """Return the map of the visible part. Outside the image it is background."""
        assert self._class_maps is not None
        part = canvas.part(values.transpose(1, 2, 0), area)
        shown = canvas.filled(part, area, np.zeros(1, np.uint8)).transpose(2, 0, 1)
        top = self._class_maps(shown, place.height, place.width)
        return top[..., ::-1] if place.mirrored else top


def _shares(p: pb.TransformationParameter) -> list[float]:
    """Return the cumulative probabilities of several sizes. As in Caffe, the probability of a single size is
    ignored."""
    shares = [each.prob for each in p.resize_param] if len(p.resize_param) > 1 else []
    if shares and not (min(shares) >= 0 and abs(sum(shares) - 1) <= _SUM_OF_SHARES):
        raise DataError(
            f"the probabilities of {len(shares)} resize_params add up to {sum(shares):g}; make them add up to 1"
        )
    return list(np.cumsum(shares))


def _after_resizing(p: pb.TransformationParameter) -> pb.TransformationParameter:
    """Return the settings that apply to an image after it was resized."""
    return copy_of(p, without=(*FOR_BOXES, "resize_param"))


def _in_words(image: Array) -> str:
    return f"{image.shape[1]} x {image.shape[2]}"

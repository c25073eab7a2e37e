"""MobileNet-YOLO's transform of an image with lanes, which become points and a map."""

from __future__ import annotations

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.transforms.boxes import WHOLE, Box, Canvas, WindowDraw
from netdsl.data.transforms.color_distortion import ColorDistortion
from netdsl.data.transforms.crops import refuse_for
from netdsl.data.transforms.decode import opencv
from netdsl.data.transforms.image_settings import crop_of
from netdsl.data.transforms.mean import Pixels
from netdsl.data.transforms.resizing import ImageResizing, as_bytes
from netdsl.data.transforms.transform import FOR_BOXES, Transform
from netdsl.data.types import Array, Random
from netdsl.errors import DataError

_THICKNESS = 2  # of a lane in the map, in pixels
_NO_LANE = -1


class LaneTransform:
    """The transform in `transform_param` for an image and the points of its lanes. It returns the image, rows of
    points, and a map.

    A window of the image is drawn, resized and mirrored, together with its lanes. Rows are (x, y, lane), with x and y
    relative to the window. The lane is -1 for unused rows and for points outside the window. The map contains lines
    between neighboring points. Its size is fixed, or `divisor` times smaller than the image.
    """

    def __init__(
        self,
        p: pb.TransformationParameter,
        draw_window: WindowDraw | None,
        *,
        divisor: int,
        map_size: tuple[int, int] | None,
        train: bool,
    ) -> None:
        _check_settings(p)
        self._draw_window, self._divisor, self._map_size = draw_window, divisor, map_size
        self._distortion = ColorDistortion(p.distort_param) if p.HasField("distort_param") else None
        self._resizing = ImageResizing(p.resize_param[0]) if p.resize_param else None
        rest = copy_of(p, without=(*FOR_BOXES, "resize_param"))
        self._transform = Transform(rest, train=train)

    def __call__(self, item: tuple[Array, ...], random: Random, batch: int) -> tuple[Array, ...]:
        """Return the image, its points and its map. All random numbers come from `random`."""
        image, points = item
        canvas = Canvas(image.shape[1], image.shape[2])
        window = self._draw_window(np.empty((0, 4), np.float32), random) if self._draw_window else None
        window = WHOLE if window is None else window
        pixels = canvas.part(as_bytes(image).transpose(1, 2, 0), canvas.pixels(window))
        if self._distortion:
            pixels = self._distortion(pixels, random)
        shown = pixels.transpose(2, 0, 1)
        resized = self._resizing(shown, random) if self._resizing else shown
        place = self._transform.place(resized.shape[1], resized.shape[2], random)
        size = self._map_size or (resized.shape[1] // self._divisor, resized.shape[2] // self._divisor)
        lanes = _seen(points, window, mirrored=place.mirrored)
        return self._transform.taken(resized, place), _lane_rows(lanes), _map(lanes, size)


def _check_settings(p: pb.TransformationParameter) -> None:
    """Raise a `DataError` for settings that would move pixels without moving lanes."""
    refuse_for("images with lanes", p)
    if len(p.resize_param) > 1 or any(each.resize_mode != pb.ResizeParameter.WARP for each in p.resize_param):
        raise DataError(
            "images with lanes can have only one resize_param, with resize_mode WARP; remove the others, and "
            "set resize_mode: WARP"
        )
    if crop_of(p) or p.HasField("expand_param") or p.HasField("random_aspect_ratio_param"):
        raise DataError(
            "crops, expand_param and random_aspect_ratio_param don't work for images with lanes; remove them "
            "from transform_param"
        )


def _seen(points: Array, window: Box, *, mirrored: bool) -> Pixels:
    """Return the points of each lane relative to a window. Points outside it are NaN."""
    corner, size = window[:2], window[2:] - window[:2]
    seen: Pixels = (points.astype(np.float32) - corner) / size
    with np.errstate(invalid="ignore"):
        inside = ((seen >= 0) & (seen <= 1)).all(-1)
    if mirrored:
        seen[..., 0] = 1 - seen[..., 0]
    seen[~inside] = np.nan
    return seen


def _lane_rows(lanes: Pixels) -> Pixels:
    numbers = np.broadcast_to(np.arange(len(lanes), dtype=np.float32)[:, None, None], (*lanes.shape[:2], 1))
    missing = np.isnan(lanes[..., :1])
    rows: Pixels = np.concatenate([np.where(missing, 0, lanes), np.where(missing, _NO_LANE, numbers)], axis=-1)
    return rows.astype(np.float32)


def _map(lanes: Pixels, size: tuple[int, int]) -> Pixels:
    """Return a map of lines with value 1 on a background of 0."""
    canvas = np.zeros(size, np.uint8)
    for lane in lanes:
        places = (lane[~np.isnan(lane[:, 0])] * size[::-1]).astype(np.int32).reshape(-1, 1, 2)
        if len(places) > 1:
            opencv().polylines(canvas, [places], isClosed=False, color=1, thickness=_THICKNESS)
    return canvas[None].astype(np.float32)

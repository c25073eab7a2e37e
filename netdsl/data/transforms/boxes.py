"""Boxes of objects, their changes when SSD's settings expand and sample images, and their forms for nets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.mean import Pixels
from netdsl.data.types import Array, Random
from netdsl.errors import DataError, ShapeError

Boxes = NDArray[Any]  # rows of a left, a top, a right and a bottom edge
Box = Boxes  # one row of that form

WHOLE: Box = np.array([0, 0, 1, 1], np.float32)
_MOST_PIXELS = 1 << 28  # of the part that is cut out of a canvas
_ALMOST_ONE = 1.01  # in Caffe, a smaller ratio expands nothing
_MOST_TRIALS = 100_000  # for an image
# Shares of images that stay whole, and of these together with those that have half of the jitter.
_JITTER_SHARES = (0.2, 0.4)
Columns = NDArray[Any]  # a number for each trial
COLUMNS = 7  # in an object's row: its class, its number, four edges, and whether it is difficult
EDGES, DIFFICULT = slice(2, 6), 6
_MOST_OBJECTS = 300  # in an image for YOLO


def areas(boxes: Boxes) -> Boxes:
    """Return the areas of boxes. A box that ends before it begins has area 0."""
    sides: Boxes = boxes[..., 2:] - boxes[..., :2]
    return np.where((sides < 0).any(-1), np.float32(0), sides.prod(-1))


def common_areas(some: Boxes, others: Boxes) -> Boxes:
    """Return the area that each of some boxes (rows) shares with each of the others (columns)."""
    first = np.maximum(some[:, None, :2], others[None, :, :2])
    last = np.minimum(some[:, None, 2:], others[None, :, 2:])
    common: Boxes = (last - first).clip(0).prod(-1)
    return common


def jaccard_overlaps(some: Boxes, others: Boxes) -> Boxes:
    """Return the intersection over union of each of some boxes (rows) with each of the others (columns)."""
    common = common_areas(some, others)
    return _ratio(common, areas(some)[:, None] + areas(others)[None] - common)


def coverages(some: Boxes, others: Boxes) -> Boxes:
    """Return the share of each of some boxes (rows) that is inside each of the others (columns)."""
    return _ratio(common_areas(some, others), areas(some)[:, None])


def project(boxes: Boxes, window: Box) -> tuple[Boxes, NDArray[Any]]:
    """Return boxes relative to a window of the image, clipped to it, and a mask of the boxes with an area there."""
    origin, size = np.tile(window[:2], 2), np.tile(window[2:] - window[:2], 2)
    meets = ((boxes[:, :2] < window[2:]) & (boxes[:, 2:] > window[:2])).all(-1)
    projected = ((boxes - origin) / size).clip(0, 1)
    return projected, meets & (areas(projected) > 0)


def _ratio(part: Boxes, whole: Boxes) -> Boxes:
    """Return a share, or 0 where the whole has no area."""
    return np.divide(part, whole, out=np.zeros_like(part), where=part > 0)


class PixelWindow(NamedTuple):
    """A window of a canvas in pixels."""

    top: int
    left: int
    height: int
    width: int


class Canvas(NamedTuple):
    """The size of a canvas, and the place of an image on it, in pixels. The whole canvas is never filled."""

    height: int
    width: int
    top: int = 0
    left: int = 0

    def edges(self, height: int, width: int) -> Box:
        """Return the canvas's edges relative to an image of this size."""
        corners = [-self.left, -self.top, self.width - self.left, self.height - self.top]
        return np.array(corners, np.float32) / np.array([width, height] * 2, np.float32)

    def pixels(self, window: Box) -> PixelWindow:
        """Return the pixels of a window, whose edges are relative to the canvas.

        As in Caffe, they are whole pixels, and at least one.
        """
        left, top, right, bottom = window * np.array([self.width, self.height] * 2, np.float32)
        height, width = max(1, int(bottom - top)), max(1, int(right - left))
        if height * width > _MOST_PIXELS:
            raise DataError(
                f"expand_param creates an image of {height} x {width}, which is too large; lower "
                "max_expand_ratio, or use smaller images"
            )
        return PixelWindow(min(int(top), self.height - height), min(int(left), self.width - width), height, width)

    def part(self, image: Array, window: PixelWindow) -> Array:
        """Return the part of an image that is inside a window. Axes are height, width, channels."""
        top, left = window.top - self.top, window.left - self.left
        return image[max(0, top) : max(0, top + window.height), max(0, left) : max(0, left + window.width)]

    def filled(self, part: Array, window: PixelWindow, fill: Array) -> Array:
        """Return a whole window, with this part of the image in its place and `fill` around it."""
        if part.shape[:2] == (window.height, window.width):
            return part
        channels = part.shape[2]
        pixels = np.empty((window.height, window.width, channels), part.dtype)
        # By rows, which is fast.
        pixels.reshape(window.height, -1)[...] = np.tile(np.broadcast_to(fill, channels), window.width)
        top, left = max(0, self.top - window.top), max(0, self.left - window.left)
        pixels[top : top + part.shape[0], left : left + part.shape[1]] = part
        return pixels


class Expansion:
    """Draws canvases. Around the image, a canvas is filled with the mean, or is black without a mean."""

    def __init__(self, p: pb.TransformationParameter) -> None:
        self._param = p.expand_param if p.HasField("expand_param") else None
        if self._param is not None and not self._param.max_expand_ratio > 1:
            raise DataError(
                f"expand_param's max_expand_ratio is {self._param.max_expand_ratio:g}; set it to more than 1"
            )
        if self._param is not None and p.mean_file:
            raise DataError(
                "expand_param creates images of many sizes, for which a mean_file has no mean; set mean_value "
                "for each channel instead"
            )
        self._mean = np.rint(np.array(p.mean_value, np.float32)).clip(0, 255).astype(np.uint8)

    def __call__(self, height: int, width: int, random: Random) -> Canvas:
        """Return a canvas for an image of this size. It has the same size, or is larger with the same proportions."""
        param = self._param
        if param is None or random.random() >= param.prob or param.max_expand_ratio < _ALMOST_ONE:
            return Canvas(height, width)
        ratio = np.float32(random.uniform(1, param.max_expand_ratio))
        high, wide = int(np.float32(height) * ratio), int(np.float32(width) * ratio)
        top, left = (int(random.uniform(0, free)) for free in (high - height, wide - width))
        return Canvas(high, wide, top, left)

    def fill(self, channels: int) -> Array:
        """Return the values around an image with this many channels."""
        if len(self._mean) not in (0, 1, channels):
            raise DataError(
                f"transform_param has {len(self._mean)} mean_values for {channels} channels; give one for each"
            )
        return self._mean if len(self._mean) else np.zeros(1, np.uint8)


class WindowDraw(Protocol):
    """A way to draw a window from an image with objects. The window's edges are relative to the image."""

    def __call__(self, objects: Boxes, random: Random) -> Box | None:
        """Return a window, or `None` for the whole image."""
        ...


class BatchSamplers:
    """SSD's samplers. Each draws windows until enough of them meet its constraint, and one of all these windows is
    chosen.

    All trials of all samplers are computed together.
    """

    def __init__(self, samplers: Sequence[pb.BatchSampler]) -> None:
        samplers = [each for each in samplers if each.use_original_image]
        for each in samplers:
            _check_sampler(each.sampler)
        counts = [each.max_trials for each in samplers]
        if sum(counts) > _MOST_TRIALS:
            raise DataError(
                f"the batch_samplers' max_trials add up to {sum(counts):,}, more than {_MOST_TRIALS:,}; lower "
                "max_trials"
            )
        self._ends = np.cumsum(counts).tolist()
        self._wanted = [each.max_sample if each.HasField("max_sample") else each.max_trials for each in samplers]
        self._constraints = [_Constraint(each.sample_constraint) for each in samplers]
        limits = [
            (s.min_scale, s.max_scale, s.min_aspect_ratio, s.max_aspect_ratio) for s in (e.sampler for e in samplers)
        ]
        self._limits = np.repeat(np.array(limits, np.float32).reshape(-1, 4), counts, axis=0)

    def __call__(self, objects: Boxes, random: Random) -> Box | None:
        """Return a window, or `None` if no trial met its constraint."""
        windows = self.windows(objects, random)
        return windows[random.integers(len(windows))] if len(windows) else None

    def windows(self, objects: Boxes, random: Random) -> Boxes:
        """Return the windows that meet the samplers' constraints, at most as many for each sampler as it needs."""
        trials = self._trials(random)
        overlaps = _Overlaps(trials, objects)
        chosen, start = list[int](), 0
        for end, wanted, constraint in zip(self._ends, self._wanted, self._constraints, strict=True):
            successes = np.flatnonzero(constraint.met(overlaps, slice(start, end)))[:wanted]
            chosen += (start + successes).tolist()
            start = end
        return trials[chosen]

    def _trials(self, random: Random) -> Boxes:
        """Return a window for each trial. As in Caffe, a window that would extend beyond the image gets a more square
        shape."""
        draws = random.random((len(self._limits), 4), np.float32)
        least_scale, most_scale, least_aspect, most_aspect = self._limits.T
        scale = least_scale + draws[:, 0] * (most_scale - least_scale)
        aspect = least_aspect + draws[:, 1] * (most_aspect - least_aspect)
        aspect = aspect.clip(scale**2, 1 / scale**2)
        sides = np.stack([scale * np.sqrt(aspect), scale / np.sqrt(aspect)], axis=1)
        corners = draws[:, 2:] * (1 - sides).clip(0)
        return np.concatenate([corners, corners + sides], axis=1)


class Jitter:
    """Draws MobileNet-YOLO's windows, which are shorter than the image on each axis by a share of up to `most`.

    A fifth of the images stay whole, and another fifth have at most half of this share. If proportions are kept, both
    axes are shortened by the same share.
    """

    def __init__(self, most: float, *, keeps_proportions: bool) -> None:
        if not 0 <= most < 1:
            raise DataError(f"yolo_data_jitter is {most:g}; set it to 0 or more, but less than 1")
        self._most, self._keeps_proportions = most, keeps_proportions

    def __call__(self, objects: Boxes, random: Random) -> Box | None:
        """Return a window, or `None` for the whole image."""
        share, whole_share = random.random(), _JITTER_SHARES
        if share < whole_share[0]:
            return None
        jitter = self._most / 2 if share < whole_share[1] else self._most
        width, height = random.uniform(1 - jitter, 1, 2)
        sides = np.array([width, width if self._keeps_proportions else height])
        corner = random.random(2) * (1 - sides)
        return np.concatenate([corner, corner + sides]).astype(np.float32)


class _Overlaps:
    """The overlaps of windows and objects. Each kind is computed when a constraint first needs it."""

    def __init__(self, windows: Boxes, objects: Boxes) -> None:
        self._windows, self._objects = windows, objects
        self._known: dict[str, Boxes] = {}

    def of(self, kind: str) -> Boxes:
        """Return a number for each window and each object."""
        if kind not in self._known:
            self._known[kind] = self._computed(kind)
        return self._known[kind]

    def _computed(self, kind: str) -> Boxes:
        if kind == "jaccard_overlap":
            return jaccard_overlaps(self._windows, self._objects)
        if kind == "sample_coverage":
            return coverages(self._windows, self._objects)
        return coverages(self._objects, self._windows).T


class _Constraint:
    """The range of a number that a window and at least one object must have.

    As in Caffe, which doesn't document it, only the first of several kinds of number counts: an object that passes it
    makes the window a success, whether it passes the others or not.
    """

    def __init__(self, p: pb.SampleConstraint) -> None:
        kinds = ("jaccard_overlap", "sample_coverage", "object_coverage")
        self._kind = next((kind for kind in kinds if p.HasField(f"min_{kind}") or p.HasField(f"max_{kind}")), None)
        if self._kind is not None:
            self._least = _limit(p, f"min_{self._kind}", -np.inf)
            self._most = _limit(p, f"max_{self._kind}", np.inf)

    def met(self, overlaps: _Overlaps, trials: slice) -> Columns:
        """Return which of some trials meet the constraint."""
        if self._kind is None:
            return np.ones(trials.stop - trials.start, np.bool_)
        numbers = overlaps.of(self._kind)[trials]
        met: Columns = np.logical_or.reduce((numbers >= self._least) & (numbers <= self._most), axis=1)
        return met


def _limit(p: pb.SampleConstraint, name: str, default: float) -> np.float32:
    return np.float32(getattr(p, name) if p.HasField(name) else default)


def _check_sampler(sampler: pb.Sampler) -> None:
    if not 0 < sampler.min_scale <= sampler.max_scale <= 1:
        raise DataError(
            f"a sampler's scales are from {sampler.min_scale:g} to {sampler.max_scale:g}; use values above 0, "
            "at most 1, and in ascending order"
        )
    if not 0 < sampler.min_aspect_ratio <= sampler.max_aspect_ratio < np.inf:
        raise DataError(
            f"a sampler's aspect ratios are from {sampler.min_aspect_ratio:g} to {sampler.max_aspect_ratio:g}; "
            "use values above 0, in ascending order"
        )


class Emission:
    """The rule that decides which objects stay when a window is cut out of their image.

    An object stays if its center is in the window or, by another rule, if a share of it above `emit_overlap` is.
    Without a rule, all objects stay.
    """

    def __init__(self, p: pb.TransformationParameter) -> None:
        self._rule = p.emit_constraint if p.HasField("emit_constraint") else None

    def __call__(self, boxes: Boxes, window: Box) -> NDArray[Any]:
        """Return a mask of the boxes that stay."""
        if self._rule is None:
            return np.ones(len(boxes), np.bool_)
        if self._rule.emit_type == pb.EmitConstraint.MIN_OVERLAP:
            return coverages(boxes, window[None])[:, 0] > np.float32(self._rule.emit_overlap)
        centers = (boxes[:, :2] + boxes[:, 2:]) / 2
        inside = (centers >= window[:2]) & (centers <= window[2:])
        return inside[:, 0] & inside[:, 1]


def batch_rows(items: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return the tops of a batch of images with rows.

    The rows of all images follow each other, and each begins with the image's number. Without objects there is one row
    of -1.
    """
    arrays = list(zip(*items, strict=True))
    rows = [np.insert(rows, 0, number, axis=1) for number, rows in enumerate(arrays[1])]
    top = np.concatenate(rows) if any(map(len, rows)) else np.full((1, rows[0].shape[1]), -1, np.float32)
    return _stacked(arrays[0]), top[None, None], *map(_stacked, arrays[2:])


def centered_rows(rows: Array, *, difficult: bool) -> Pixels:
    """Return MobileNet-YOLO's rows: a class counted from 0, a center, a width and a height. Unused rows are zeros.

    Difficult objects are left out unless `difficult` is set. Only the first 300 objects count.
    """
    boxes = rows[(rows[:, DIFFICULT] == 0) | difficult][:_MOST_OBJECTS]
    first, last = boxes[:, 2:4], boxes[:, 4:6]
    top = np.zeros((1, _MOST_OBJECTS, 5), np.float32)
    top[0, : len(boxes)] = np.concatenate([boxes[:, :1] - 1, (first + last) / 2, last - first], axis=1)
    return top


def _stacked(images: Sequence[Array]) -> Array:
    try:
        return np.stack(images)
    except ValueError:
        raise ShapeError(
            "images in a batch have different sizes; resize them with resize_param, or use a batch_size of 1"
        ) from None

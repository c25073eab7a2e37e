"""Windows that are drawn from an image to train on: SSD's batch samplers, and MobileNet-YOLO's jitter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from netdsl.data.transforms.boxes import Box, Boxes, coverages, jaccard_overlaps
from netdsl.data.types import Random
from netdsl.errors import DataError

_MOST_TRIALS = 100_000  # for an image
_JITTER_SHARES = (0.2, 0.4)  # of images that stay whole, and of these and those with half of the jitter

Columns = NDArray[Any]  # a number for each trial


class WindowDraw(Protocol):
    """A way to draw a window, whose edges are parts of the image, from an image with objects."""

    def __call__(self, objects: Boxes, random: Random) -> Box | None:
        """A window; None for the whole image."""
        ...


class BatchSamplers:
    """SSD's samplers: each makes windows until enough of them meet its constraint, and one of all these is drawn.

    All trials of all samplers are made at once.
    """

    def __init__(self, samplers: Sequence[pb.BatchSampler]) -> None:
        samplers = [each for each in samplers if each.use_original_image]
        for each in samplers:
            _check(each.sampler)
        counts = [each.max_trials for each in samplers]
        if sum(counts) > _MOST_TRIALS:
            raise DataError(f"the batch_samplers' max_trials are {sum(counts):,}, more than {_MOST_TRIALS:,}")
        self._ends = np.cumsum(counts).tolist()
        self._wanted = [each.max_sample if each.HasField("max_sample") else each.max_trials for each in samplers]
        self._constraints = [_Constraint(each.sample_constraint) for each in samplers]
        limits = [
            (s.min_scale, s.max_scale, s.min_aspect_ratio, s.max_aspect_ratio) for s in (e.sampler for e in samplers)
        ]
        self._limits = np.repeat(np.array(limits, np.float32).reshape(-1, 4), counts, axis=0)

    def __call__(self, objects: Boxes, random: Random) -> Box | None:
        """A window; None if no trial was a success."""
        windows = self.windows(objects, random)
        return windows[random.integers(len(windows))] if len(windows) else None

    def windows(self, objects: Boxes, random: Random) -> Boxes:
        """The windows that meet the samplers' constraints, no more than each of them wants."""
        trials = self._trials(random)
        overlaps = _Overlaps(trials, objects)
        chosen, start = list[int](), 0
        for end, wanted, constraint in zip(self._ends, self._wanted, self._constraints, strict=True):
            successes = np.flatnonzero(constraint.met(overlaps, slice(start, end)))[:wanted]
            chosen += (start + successes).tolist()
            start = end
        return trials[chosen]

    def _trials(self, random: Random) -> Boxes:
        """A window for each trial. Caffe's rule: one that would be longer than the image is made less oblong."""
        draws = random.random((len(self._limits), 4), np.float32)
        least_scale, most_scale, least_aspect, most_aspect = self._limits.T
        scale = least_scale + draws[:, 0] * (most_scale - least_scale)
        aspect = least_aspect + draws[:, 1] * (most_aspect - least_aspect)
        aspect = aspect.clip(scale**2, 1 / scale**2)
        sides = np.stack([scale * np.sqrt(aspect), scale / np.sqrt(aspect)], axis=1)
        corners = draws[:, 2:] * (1 - sides).clip(0)
        return np.concatenate([corners, corners + sides], axis=1)


class Jitter:
    """MobileNet-YOLO's windows, which lack a part of each side, up to `most`.

    A fifth of the images stay whole, and another fifth lacks half as much. Where proportions are kept, both sides lack
    the same part.
    """

    def __init__(self, most: float, *, keeps_proportions: bool) -> None:
        if not 0 <= most < 1:
            raise DataError(f"yolo_data_jitter {most:g} must be from 0 to below 1")
        self._most, self._keeps_proportions = most, keeps_proportions

    def __call__(self, objects: Boxes, random: Random) -> Box | None:
        """A window; None for the whole image."""
        share, whole_share = random.random(), _JITTER_SHARES
        if share < whole_share[0]:
            return None
        jitter = self._most / 2 if share < whole_share[1] else self._most
        width, height = random.uniform(1 - jitter, 1, 2)
        sides = np.array([width, width if self._keeps_proportions else height])
        corner = random.random(2) * (1 - sides)
        return np.concatenate([corner, corner + sides]).astype(np.float32)


class _Overlaps:
    """How windows and objects overlap, each kind computed when a constraint first asks for it."""

    def __init__(self, windows: Boxes, objects: Boxes) -> None:
        self._windows, self._objects = windows, objects
        self._known: dict[str, Boxes] = {}

    def of(self, kind: str) -> Boxes:
        """A number for each window and each object."""
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
    """What a window must have in common with some object: a number from a least to a most.

    Caffe's rule, which it doesn't document: of several kinds of number only the first counts, since an object that
    passes it makes the window a success whether it passes the others or not.
    """

    def __init__(self, p: pb.SampleConstraint) -> None:
        kinds = ("jaccard_overlap", "sample_coverage", "object_coverage")
        self._kind = next((kind for kind in kinds if p.HasField(f"min_{kind}") or p.HasField(f"max_{kind}")), None)
        if self._kind is not None:
            self._least = _limit(p, f"min_{self._kind}", -np.inf)
            self._most = _limit(p, f"max_{self._kind}", np.inf)

    def met(self, overlaps: _Overlaps, trials: slice) -> Columns:
        """Which of some trials meet it."""
        if self._kind is None:
            return np.ones(trials.stop - trials.start, np.bool_)
        numbers = overlaps.of(self._kind)[trials]
        met: Columns = np.logical_or.reduce((numbers >= self._least) & (numbers <= self._most), axis=1)
        return met


def _limit(p: pb.SampleConstraint, name: str, default: float) -> np.float32:
    return np.float32(getattr(p, name) if p.HasField(name) else default)


def _check(sampler: pb.Sampler) -> None:
    if not 0 < sampler.min_scale <= sampler.max_scale <= 1:
        raise DataError(
            f"a sampler's scales are from {sampler.min_scale:g} to {sampler.max_scale:g}; they must rise, above 0 and "
            "up to 1"
        )
    if not 0 < sampler.min_aspect_ratio <= sampler.max_aspect_ratio < np.inf:
        raise DataError(
            f"a sampler's aspect ratios are from {sampler.min_aspect_ratio:g} to {sampler.max_aspect_ratio:g}; they "
            "must rise, above 0"
        )

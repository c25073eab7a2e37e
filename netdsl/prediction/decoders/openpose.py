"""OpenPose: heat maps of body parts and the fields between them, combined into people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from netdsl.data.transforms.pose_skeleton import COCO, MPI, Skeleton
from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import Numbers
from netdsl.prediction.decoders.decoder import (
    Decoder,
    Outputs,
    People,
    PublishedInput,
    Recognized,
    Shapes,
    Size,
    require_range,
)

_STRIDE = 8
_LARGEST_MAPS = 1 << 27  # maximum number of values of all maps at the input's size
_MOST_PEAKS = 127  # maximum number of peaks of a part, because more are noise
_AROUND = 3  # a peak's position is averaged over this many pixels in each direction
_FEWEST_SAMPLES, _MOST_SAMPLES = 5, 25  # number of points between two peaks
_CLOSE = 150  # the input's mean side divided by the distance at which peaks are connected without a field
_CUBIC = -0.75  # the coefficient of OpenCV's bicubic interpolation


class _Body(NamedTuple):
    """A body: its parts, its limbs as pairs of parts, and the channel of each limb's field.

    A person needs parts among the first `counted`, because feet are often found where there are none.
    """

    parts: tuple[str, ...]
    limbs: tuple[tuple[int, int], ...]
    fields: tuple[int, ...]
    threshold: float  # minimum height of a peak
    alignment: float  # minimum projection of a field on a limb
    drawn: int  # number of limbs that are drawn, which are the first ones
    counted: int

    @property
    def channels(self) -> int:
        """The number of maps: parts, background, and two for each limb."""
        return len(self.parts) + 1 + 2 * len(self.limbs)


_ARMS = ("right shoulder", "right elbow", "right wrist", "left shoulder", "left elbow", "left wrist")
_LEGS = ("right hip", "right knee", "right ankle", "left hip", "left knee", "left ankle")
_HEAD = ("right eye", "left eye", "right ear", "left ear")
_FEET = ("left big toe", "left small toe", "left heel", "right big toe", "right small toe", "right heel")
_COCO_LIMBS = (  # in the order in which they connect people
    *((1, 2), (1, 5), (2, 3), (3, 4), (5, 6), (6, 7), (1, 8), (8, 9), (9, 10), (1, 11), (11, 12), (12, 13)),
    *((1, 0), (0, 14), (14, 16), (0, 15), (15, 17), (2, 16), (5, 17)),
)


def _fields(trained: Skeleton, limbs: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    """Return the channel of each limb's field, in a net that was trained with the limbs of this skeleton."""
    return tuple(2 * trained.limbs.index(limb) for limb in limbs)


_BODIES = {
    "body_25": _Body(
        ("nose", "neck", *_ARMS, "mid hip", *_LEGS, *_HEAD, *_FEET),
        (
            *((1, 8), (1, 2), (1, 5), (2, 3), (3, 4), (5, 6), (6, 7), (8, 9), (9, 10), (10, 11), (8, 12), (12, 13)),
            *((13, 14), (1, 0), (0, 15), (15, 17), (0, 16), (16, 18), (14, 19), (19, 20), (14, 21), (11, 22)),
            *((22, 23), (11, 24), (2, 17), (5, 18)),
        ),
        (0, 14, 22, 16, 18, 24, 26, 6, 2, 4, 8, 10, 12, 30, 32, 36, 34, 38, 40, 42, 44, 46, 48, 50, 20, 28),
        threshold=0.05,
        alignment=0.05,
        drawn=24,
        counted=19,
    ),
    "coco_18": _Body(
        ("nose", "neck", *_ARMS, *_LEGS, *_HEAD),
        _COCO_LIMBS,
        _fields(COCO, _COCO_LIMBS),
        threshold=0.05,
        alignment=0.05,
        drawn=17,
        counted=18,
    ),
    "mpi_15": _Body(
        ("head", "neck", *_ARMS, *_LEGS, "chest"),
        MPI.limbs,
        _fields(MPI, MPI.limbs),
        threshold=0.6,
        alignment=0.01,
        drawn=14,
        counted=15,
    ),
}


class SkeletonName(Enum):
    """The bodies of the published nets."""

    BODY_25 = "body_25"
    COCO_18 = "coco_18"
    MPI_15 = "mpi_15"


class _Connection(NamedTuple):
    """Two peaks that a field connects. `priority` decides which connections come first."""

    priority: float
    score: float
    limb: int
    first: int
    second: int


@dataclass(frozen=True, kw_only=True)
class OpenPose(Decoder):
    """Decodes people from heat maps of parts and from fields of limbs.

    The maps are one blob with the heat maps, the background and the fields, or the two roles `heatmaps`, which includes
    the background, and `fields`. A part is a peak of at least `threshold`, which by default is the one published for
    the skeleton. A limb connects two peaks if at least `aligned` of the points between them have a field in the limb's
    direction. A person has at least `fewest_parts` parts and, for each of them, a mean score of `person_threshold`.
    """

    name = "openpose"
    published: ClassVar = {"maps": ("net_output",), "heatmaps": (), "fields": ()}

    skeleton: SkeletonName = SkeletonName.BODY_25
    threshold: float | None = None
    aligned: float = 0.95
    fewest_parts: int = 3
    person_threshold: float = 0.4

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold is not None:
            require_range("threshold", self.threshold, 0, 1)
        require_range("aligned", self.aligned, 0, 1)
        require_range("fewest_parts", self.fewest_parts, 1, len(self._body.parts))
        require_range("person_threshold", self.person_threshold, 0, 10)

    @property
    def _body(self) -> _Body:
        return _BODIES[self.skeleton.value]

    def names_of(self, role: str) -> tuple[str, ...]:
        """Return the names of a role's blobs. If heat maps and fields are named, no blob contains both."""
        return () if role == "maps" and "heatmaps" in self.blobs else super().names_of(role)

    def decode(self, outputs: Outputs, size: Size) -> People:
        """Return the people in an image."""
        maps = self._maps(outputs)
        if maps[:, 0, 0].size * size[0] * size[1] > _LARGEST_MAPS:
            raise DecoderError(
                f"the net's input of {size[0]} x {size[1]} is too large to find people in; lower height and "
                "width of the net's input"
            )
        parts = len(self._body.parts)
        peaks = [_peaks(_enlarged(heat, size), self._least_peak) for heat in maps[:parts]]
        connections = self._connections(peaks, maps[parts + 1 :], size)
        people, totals = self._people(peaks, connections)
        points = np.full((len(people), parts, 2), np.nan)
        scores = np.zeros((len(people), parts))
        for index, person in enumerate(people):
            for part, peak in person.items():
                points[index, part], scores[index, part] = peaks[part][peak, :2], peaks[part][peak, 2]
        best = np.argsort(-np.asarray(totals), kind="stable") if totals else np.empty(0, np.int64)
        limbs = self._body.limbs[: self._body.drawn]
        return People(points[best], scores[best], np.asarray(totals)[best], self._body.parts, limbs)

    @classmethod
    def recognize(cls, shapes: Shapes, size: Size) -> Recognized | None:
        """Return a decoder if the only output has the published name and the number of maps of a skeleton."""
        for skeleton in SkeletonName:
            maps = _BODIES[skeleton.value].channels
            if dict(shapes) == {"net_output": (maps, size[0] // _STRIDE, size[1] // _STRIDE)}:
                reason = f"the output 'net_output' has the {maps} maps of OpenPose's skeleton {skeleton.value}"
                images = PublishedInput(rgb=False, mean=(128,), scale=1 / 256)
                return Recognized(cls(skeleton=skeleton), reason, images)
        return None

    @property
    def _least_peak(self) -> float:
        return self._body.threshold if self.threshold is None else self.threshold

    def _maps(self, outputs: Outputs) -> Numbers:
        """Return the heat maps, the background and the fields as one array."""
        blobs = [blob for role in self.published for blob in self.maps(outputs, role)]
        if len({blob.shape[1:] for blob in blobs}) != 1:
            raise DecoderError(
                "blobs: the heat maps and the fields have different sizes; name blobs of one size under `blobs` in "
                "the card"
            )
        maps = np.concatenate(blobs)
        if len(maps) != self._body.channels:
            raise DecoderError(
                f"blobs: there are {len(maps)} maps, but the skeleton {self.skeleton.value} has "
                f"{self._body.channels}; set `skeleton` in the card to the one with as many maps"
            )
        return maps

    def _connections(self, peaks: Sequence[Numbers], fields: Numbers, size: Size) -> list[_Connection]:
        """Return the possible limbs, the best first."""
        found = list[_Connection]()
        for limb, ((first, second), channel) in enumerate(zip(self._body.limbs, self._body.fields, strict=True)):
            one, other = peaks[first], peaks[second]
            if not len(one) or not len(other):
                continue
            scores = self._limb_scores(one, other, _enlarged_all(fields[channel : channel + 2], size))
            for a, b in np.argwhere(scores > 0).tolist():
                score = float(scores[a, b])
                priority = score + 0.1 * float(one[a, 2] + other[b, 2])
                found.append(_Connection(priority, score, limb, a, b))
        return sorted(found, reverse=True)

    def _limb_scores(self, one: Numbers, other: Numbers, field: Numbers) -> Numbers:
        """Return the score of a limb between each pair of peaks, or 0 for pairs that aren't connected."""
        height, width = field.shape[1:]
        apart = other[None, :, :2] - one[:, None, :2]
        length = np.sqrt(np.square(apart).sum(-1))
        steps = np.floor(np.sqrt(5 * np.abs(apart).max(-1)) + 0.5).clip(_FEWEST_SAMPLES, _MOST_SAMPLES)
        step = np.arange(_MOST_SAMPLES)
        inside = step < steps[..., None]
        at = one[:, None, None, :2] + apart[:, :, None] * (step[:, None] / steps[..., None, None])
        column, row = (np.clip(at[..., axis].astype(np.int64), 0, end - 1) for axis, end in ((0, width), (1, height)))
        direction = apart / np.maximum(length, 1e-6)[..., None]
        along = (field[:, row, column] * np.moveaxis(direction, -1, 0)[..., None]).sum(0)
        passes = (along > self._body.alignment) & inside
        count = passes.sum(-1)
        mean = np.where(passes, along, 0).sum(-1) / np.maximum(count, 1)
        near = np.where(length < np.sqrt(height * width) / _CLOSE, self._least_peak + 1e-6, 0)
        scores = np.where(count / steps > self.aligned, mean, near)
        return np.asarray(np.where(length > 1e-6, scores, 0))

    def _people(
        self, peaks: Sequence[Numbers], connections: Sequence[_Connection]
    ) -> tuple[list[dict[int, int]], list[float]]:
        """Return the peak of each part of each person, and the mean score of each person's parts and limbs."""
        people = list[dict[int, int]]()
        totals = list[float]()
        owners = dict[tuple[int, int], int]()  # the person of each part and peak
        for _, score, limb, first, second in connections:
            ends = [(part, peak) for part, peak in zip(self._body.limbs[limb], (first, second), strict=True)]
            own = [owners.get(end) for end in ends]
            if own == [None, None]:
                owners |= dict.fromkeys(ends, len(people))
                people.append(dict(ends))
                totals.append(score + sum(float(peaks[part][peak, 2]) for part, peak in ends))
            elif own[0] is None or own[1] is None:
                (part, peak), person = (ends[0], own[1]) if own[0] is None else (ends[1], own[0])
                assert person is not None
                if part not in people[person]:
                    people[person][part] = peak
                    owners[part, peak] = person
                    totals[person] += score + float(peaks[part][peak, 2])
            elif own[0] == own[1]:
                totals[own[0]] += score
            elif not people[own[0]].keys() & people[own[1]].keys():
                kept, joined = sorted((own[0], own[1]))
                owners |= dict.fromkeys(people[joined].items(), kept)
                people[kept] |= people[joined]
                totals[kept] += totals[joined] + score
                people[joined] = {}
        return self._whole_people(people, totals)

    def _whole_people(
        self, people: Sequence[dict[int, int]], totals: Sequence[float]
    ) -> tuple[list[dict[int, int]], list[float]]:
        """Return the people with enough parts and high enough scores. Feet don't count as parts."""
        whole, means = list[dict[int, int]](), list[float]()
        for person, total in zip(people, totals, strict=True):
            counted = sum(part < self._body.counted for part in person)
            only_leg = counted < len(person) and counted <= 4  # one leg is often found as both legs
            if counted >= self.fewest_parts and not only_leg and total / counted >= self.person_threshold:
                whole.append(person)
                means.append(total / counted)
        return whole, means


def _peaks(heat: Numbers, threshold: float) -> Numbers:
    """Return x, y and score of the peaks of a map, in reading order. Pixels at the border are never peaks.

    A peak's position is the mean of the positions around it, weighted by their scores. Only the best peaks remain if
    there are too many.
    """
    middle = heat[1:-1, 1:-1]
    height, width = middle.shape
    peak = middle > threshold
    for top in range(3):
        for left in range(3):
            if (top, left) != (1, 1):
                near = heat[top : top + height, left : left + width]
                peak &= middle > near if (top, left) < (1, 1) else middle >= near  # the first of equal pixels
    row, column = np.nonzero(peak)
    row, column = row + 1, column + 1
    if len(row) > _MOST_PEAKS:
        best = np.sort(np.argsort(-heat[row, column], kind="stable")[:_MOST_PEAKS])
        row, column = row[best], column[best]
    down, right = np.mgrid[-_AROUND : _AROUND + 1, -_AROUND : _AROUND + 1].reshape(2, -1)
    padded = np.pad(np.maximum(heat, 0), _AROUND)
    weights = padded[row[:, None] + down + _AROUND, column[:, None] + right + _AROUND]
    total = weights.sum(1)
    x = ((column[:, None] + right) * weights).sum(1) / total + 0.5
    y = ((row[:, None] + down) * weights).sum(1) / total + 0.5
    return np.stack([x, y, heat[row, column]], 1)


def _enlarged(values: Numbers, size: Size) -> Numbers:
    """Return a map at another size by bicubic interpolation, as OpenCV computes it."""
    down, right = (_cubic_weights(own, whole) for own, whole in zip(values.shape, size, strict=True))
    return np.asarray(down @ values.astype(np.float32) @ right.T)


def _enlarged_all(values: Numbers, size: Size) -> Numbers:
    return np.stack([_enlarged(each, size) for each in values])


def _cubic_weights(own: int, whole: int) -> NDArray[np.float32]:
    """Return the weights (whole, own) that interpolate `whole` values from `own` ones. The border is repeated."""
    place = (np.arange(whole) + 0.5) * own / whole - 0.5
    first = np.floor(place).astype(np.int64)
    weights = np.zeros((whole, own), np.float32)
    for tap in range(-1, 3):
        distance = np.abs(place - (first + tap))
        near = ((_CUBIC + 2) * distance - (_CUBIC + 3)) * distance**2 + 1
        far = ((_CUBIC * distance - 5 * _CUBIC) * distance + 8 * _CUBIC) * distance - 4 * _CUBIC
        np.add.at(weights, (np.arange(whole), np.clip(first + tap, 0, own - 1)), np.where(distance <= 1, near, far))
    return weights

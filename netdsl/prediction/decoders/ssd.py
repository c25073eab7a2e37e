"""SSD: locations and scores relative to priors, for nets that end before the layer that decodes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import Activation, BoxCode, Numbers, corners, decoded_boxes, grid_centers
from netdsl.prediction.decoders.decoder import (
    LARGEST_MAP,
    LARGEST_SIZE,
    DetectionDecoder,
    Detections,
    Outputs,
    Recognized,
    Shapes,
    Size,
    require_count,
    require_range,
    require_sizes,
)

_VARIANCES = (0.1, 0.1, 0.2, 0.2)


class PriorMap(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The priors of one feature map. The settings are those of Caffe-SSD's prototxt.

    `size` is the height and width of the map. `step` is the distance of its cells in pixels, by default the input's
    size divided by the map's.
    """

    size: tuple[int, int]
    min_size: tuple[float, ...]
    max_size: tuple[float, ...] = ()
    aspect_ratio: tuple[float, ...] = ()
    flip: bool = True
    clip: bool = False
    step: float = 0
    offset: float = 0.5

    def __post_init__(self) -> None:
        require_sizes("priors.min_size", self.min_size)
        if self.max_size:
            require_sizes("priors.max_size", self.max_size, len(self.min_size))
        if self.aspect_ratio:
            require_sizes("priors.aspect_ratio", self.aspect_ratio)
        for length in self.size:
            require_range("priors.size", length, 1, LARGEST_MAP)
        require_range("priors.step", self.step, 0, LARGEST_SIZE)
        require_range("priors.offset", self.offset, 0, 1)

    @property
    def count(self) -> int:
        """The number of priors."""
        return self.size[0] * self.size[1] * len(self._sides())

    def _sides(self) -> Numbers:
        """Return the width and height of the priors at each position.

        Caffe's rule: sizes are cut to whole numbers, and ratios that occur twice count once.
        """
        ratios = [1.0]
        for ratio in self.aspect_ratio:
            if all(abs(ratio - other) >= 1e-6 for other in ratios):
                ratios += [ratio, 1 / ratio] if self.flip else [ratio]
        roots = np.sqrt(ratios[1:])
        sides = list[tuple[float, float]]()
        for index, least in enumerate(self.min_size):
            side = int(least)
            sides.append((side, side))
            if self.max_size:
                sides.append((np.sqrt(side * int(self.max_size[index])),) * 2)
            sides += [(side * root, side / root) for root in roots]
        return np.asarray(sides)

    def boxes(self, size: Size) -> Numbers:
        """Return the priors as fractions of the net's input, whose height and width are given."""
        height, width = self.size
        step = (self.step, self.step) if self.step else (size[1] / width, size[0] / height)
        centers = (grid_centers(height, width, self.offset) * step)[:, None]
        sides = np.broadcast_to(self._sides(), (len(centers), *self._sides().shape))
        boxes = corners(centers, sides).reshape(-1, 4) / (size[::-1] * 2)
        return np.asarray(np.clip(boxes, 0, 1) if self.clip else boxes)


@dataclass(frozen=True, kw_only=True)
class Ssd(DetectionDecoder):
    """Decodes SSD's locations and scores. The priors are a blob of the net, or `priors` describes them.

    `activation` is for nets whose scores aren't probabilities. `variances` replaces the variances in the blob of
    priors. With `feature_maps`, locations and scores have a blob (channels, height, width) for each feature map, as
    convolutions compute them. Labels include the background. Its number is `background`, or -1 if the net doesn't
    predict it.
    """

    name = "ssd"
    published: ClassVar = {
        "locations": ("mbox_loc",),
        "scores": ("mbox_conf_flatten",),
        "priors": ("mbox_priorbox",),
    }

    code: BoxCode = BoxCode.CENTER_SIZE
    activation: Activation = Activation.NONE
    background: int = 0
    variances: tuple[float, ...] = ()
    priors: tuple[PriorMap, ...] = ()
    feature_maps: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.variances:
            require_sizes("variances", self.variances, 4)
        require_range("background", self.background, -1, LARGEST_SIZE)

    @property
    def blob_names(self) -> tuple[str, ...]:
        """The names of all blobs that `decode` reads. The blob of priors isn't read if the settings describe them."""
        roles = [role for role in self.published if not (self.priors and role == "priors")]
        return tuple(dict.fromkeys(name for role in roles for name in self.names_of(role)))

    def decode(self, outputs: Outputs, size: Size) -> Detections:
        """Return the detections in an image."""
        codes = self._flat(outputs, "locations").reshape(-1, 4)
        if self.priors:
            require_count("priors", len(codes), sum(each.count for each in self.priors))
        boxes, variances = self.described_priors(size) if self.priors else self._priors_blob(outputs)
        variances = np.asarray(self.variances) if self.variances else variances
        require_count("the blob of priors", len(codes), len(boxes))
        scores = self._flat(outputs, "scores")
        if scores.size % len(codes):
            raise DecoderError(
                f"blobs: scores has {scores.size} values, which isn't a multiple of {len(codes)} boxes; name "
                "the blobs of one head as scores, locations and priors"
            )
        probabilities = self.activation.apply(scores.reshape(len(codes), -1), 1)
        decoded = decoded_boxes(self.code, codes, boxes, variances) * (size[::-1] * 2)
        background = self.background if 0 <= self.background < probabilities.shape[1] else None
        return self.best_of_classes(decoded, probabilities, background)

    @classmethod
    def recognize(cls, shapes: Shapes, size: Size) -> Recognized | None:
        """Return a decoder for the heads of Caffe-SSD's nets, whose blobs have the published names."""
        locations, scores, priors = (math.prod(shapes.get(names[0], (0,))) for names in cls.published.values())
        if not locations or locations % 4 or 2 * locations != priors or scores % (locations // 4) or not scores:
            return None
        return Recognized(cls(), "the net's outputs have the names and sizes of SSD's locations, scores and priors")

    def _flat(self, outputs: Outputs, role: str) -> Numbers:
        """Return the values of locations or scores in the order of the priors."""
        if not self.feature_maps:
            return self.rows(outputs, role, 4 if role == "locations" else 1).ravel()
        return np.concatenate([blob.transpose(1, 2, 0).ravel() for blob in self.maps(outputs, role)])

    def described_priors(self, size: Size) -> tuple[Numbers, Numbers]:
        """Return the boxes of the priors that the settings describe, as fractions of the input, and the variances."""
        return np.concatenate([each.boxes(size) for each in self.priors]), np.asarray(_VARIANCES)

    def _priors_blob(self, outputs: Outputs) -> tuple[Numbers, Numbers]:
        """Return the boxes and the variances in the blobs of priors. A blob contains boxes and then variances."""
        halves = list[Numbers]()
        for blob in self.blobs_of(outputs, "priors"):
            if not blob.size or blob.size % 8:
                raise DecoderError(
                    f"blobs: a blob of priors has {blob.size} values, which isn't a multiple of 8; name the top "
                    "of PriorBox, or of the Concat of all PriorBox layers"
                )
            halves.append(blob.reshape(2, -1, 4))
        if not halves:
            raise DecoderError(
                "blobs: 'priors' names no blob; name one, or describe the priors with the setting priors"
            )
        boxes, variances = np.concatenate(halves, 1)
        return boxes, variances

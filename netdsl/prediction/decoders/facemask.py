"""FaceMask: AIZOOTech's detector of faces with and without masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from netdsl.errors import DecoderError
from netdsl.prediction.decoders.boxes import BoxCode, Numbers, boxes_on_grid, decoded_boxes
from netdsl.prediction.decoders.decoder import (
    LARGEST_MAP,
    DetectionDecoder,
    Detections,
    Outputs,
    PublishedInput,
    Recognized,
    Shapes,
    Size,
    require_count,
    require_range,
    require_sizes,
)


@dataclass(frozen=True, kw_only=True)
class FaceMask(DetectionDecoder):
    """Decodes boxes relative to anchors on several feature maps.

    `feature_maps` contains the height and width of each map. `anchor_sizes` and `anchor_ratios` describe the anchors of
    each cell, as fractions of the input: one for each size with the first ratio, then one for each other ratio with the
    first size. The scores are probabilities of classes without a background.
    """

    name = "facemask"
    published: ClassVar = {"boxes": ("loc_branch_concat",), "scores": ("cls_branch_concat",)}

    overlap: float = 0.4
    names: tuple[str, ...] = ("mask", "no mask")
    one_label: bool = True
    across_labels: bool = True
    feature_maps: tuple[tuple[int, int], ...] = ((33, 33), (17, 17), (9, 9), (5, 5), (3, 3))
    anchor_sizes: tuple[tuple[float, ...], ...] = (
        (0.04, 0.056),
        (0.08, 0.11),
        (0.16, 0.22),
        (0.32, 0.45),
        (0.64, 0.72),
    )
    anchor_ratios: tuple[tuple[float, ...], ...] = ((1, 0.62, 0.42),) * 5
    variances: tuple[float, ...] = (0.1, 0.1, 0.2, 0.2)

    def __post_init__(self) -> None:
        super().__post_init__()
        for setting, lists in (("anchor_sizes", self.anchor_sizes), ("anchor_ratios", self.anchor_ratios)):
            if len(lists) != len(self.feature_maps):
                raise DecoderError(
                    f"{setting} has {len(lists)} lists for {len(self.feature_maps)} feature_maps; give one for each map"
                )
            for values in lists:
                require_sizes(setting, values)
        for length in (length for each in self.feature_maps for length in each):
            require_range("feature_maps", length, 1, LARGEST_MAP)
        require_sizes("variances", self.variances, 4)

    @property
    def count(self) -> int:
        """The number of anchors."""
        parts = zip(self.feature_maps, self.anchor_sizes, self.anchor_ratios, strict=True)
        return sum(height * width * (len(sizes) + len(ratios) - 1) for (height, width), sizes, ratios in parts)

    def decode(self, outputs: Outputs, size: Size) -> Detections:
        """Return the faces in an image."""
        codes = self.rows(outputs, "boxes", 4)
        require_count("feature_maps and the anchors", len(codes), self.count)
        scores = self.rows(outputs, "scores", len(codes)).reshape(len(codes), -1)
        boxes = decoded_boxes(BoxCode.CENTER_SIZE, codes, self.anchors(), np.asarray(self.variances))
        return self.best_of_classes(boxes * (size[::-1] * 2), scores)

    @classmethod
    def recognize(cls, shapes: Shapes, size: Size) -> Recognized | None:
        """Return a decoder if the outputs have the published names and the published number of boxes."""
        decoder = cls()
        published = {"loc_branch_concat": (decoder.count, 4), "cls_branch_concat": (decoder.count, 2)}
        if dict(shapes) != published:
            return None
        reason = f"the outputs have the names of FaceMask's branches and its {decoder.count} anchors"
        return Recognized(decoder, reason, PublishedInput(rgb=True, scale=1 / 255))

    def anchors(self) -> Numbers:
        """Return the anchors as fractions of the input."""
        parts = list[Numbers]()
        for (height, width), sizes, ratios in zip(
            self.feature_maps, self.anchor_sizes, self.anchor_ratios, strict=True
        ):
            pairs = [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]
            sides = np.array([(size * np.sqrt(ratio), size / np.sqrt(ratio)) for size, ratio in pairs])
            parts.append(boxes_on_grid(height, width, (1 / height, 1 / width), sides))
        return np.concatenate(parts)

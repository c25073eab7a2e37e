"""What the top of a layer means to whoever asks a net about an image: detections, regions, indices of classes."""

from __future__ import annotations

from typing import ClassVar

from netdsl.layer.core import Layer


class MakesDetections(Layer):
    """A layer whose top has a row for each detection: image, label, score, left, top, right, bottom.

    Boxes are in parts of the image's width and height. A row with a negative label is there for an image without any.
    """

    def label_count(self) -> int:
        """How many labels there are, the background among them."""
        raise NotImplementedError

    def background(self) -> int | None:
        """The label of what is nothing; None if all labels are classes."""
        return 0


class MakesRegions(Layer):
    """A layer whose first top has a row for each region that may be an object: image, left, top, right, bottom.

    Boxes are in pixels of the net's input, whose last pixels belong to them.
    """

    def keep_regions(self, most: int) -> None:
        """Make at most so many regions of an image from now on, of all that there are."""
        raise NotImplementedError


class MakesIndices(Layer):
    """A layer whose top may have the indices of classes in place of their scores."""

    index_axis: ClassVar[int] = 1  # the axis of scores that became one of indices

    def makes_indices(self) -> bool:
        """Whether the top has indices of that axis alone."""
        raise NotImplementedError

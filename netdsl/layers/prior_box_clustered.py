"""PriorBoxClustered: boxes of given widths and heights at each position of a feature map."""

from __future__ import annotations

from collections.abc import Iterator

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layers.prior_box import PriorBox


class PriorBoxClustered(PriorBox):
    """Outputs boxes as PriorBox does. Each has a `width` and a `height`, which were found by clustering marked objects.

    Without `height`, boxes are squares.
    """

    origin = "OpenVINO training toolbox"

    def sides_of(self, p: pb.PriorBoxParameter) -> Iterator[tuple[float, float, float]]:
        """Yield the width and height of each box, which aren't inset."""
        heights = p.height or p.width
        if not p.width or len(heights) != len(p.width) or min(*p.width, *heights) <= 0:
            raise NetError(
                f"there are {len(p.width)} width and {len(p.height)} height; give one of each for each box, above 0"
            )
        yield from ((width, height, 0.0) for width, height in zip(p.width, heights, strict=True))

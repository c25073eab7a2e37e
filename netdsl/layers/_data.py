"""What layers share that read data: tops from outside, whose shapes the settings say as far as they can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Count, Layer, Shape

TYPICAL = 224  # the height and width of an image that nothing says the size of

Size = tuple[int, int]


class DataLayer(Layer):
    """A layer without bottoms. A type says how many items a batch has, and with `item_shapes` what one looks like.

    The shape of a top is the one in `input_param`, if somebody put one there for it: a shape of four axes is the
    whole blob's, a shorter one is one item's. Otherwise it is what crop, new size or resizing make of an image, and
    where nothing says a size an image is taken to be 3 x 224 x 224.
    """

    bottoms = (0, 0)
    tops: ClassVar[Count] = (2, 2)
    external = True

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.assumed = [tuple(shape.dim) for shape in layer.input_param.shape]
        if len(self.assumed) > len(layer.top):
            raise NetError(f"{len(self.assumed)} shapes are assumed for {len(layer.top)} tops")
        if self.batch_size() < 1:
            raise NetError("needs a batch_size")

    def batch_size(self) -> int:
        """How many items its settings ask for."""
        raise NotImplementedError

    def item_shapes(self) -> list[Shape]:
        """The shapes of one item's tops: an image and a number."""
        return [self.image(), ()]

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """The items', with the batch in front."""
        whole = [shape for shape in self.assumed if len(shape) == 4]
        batch = whole[0][0] if whole else self.batch_size()
        shapes = self.item_shapes()[: len(self.layer.top)]
        shapes[: len(self.assumed)] = [given or own for given, own in zip(self.assumed, shapes, strict=False)]
        return [shape if len(shape) == 4 else (batch, *shape) for shape in shapes]

    def image(self, *sizes: Size, channels: int = 3) -> Shape:
        """Channels, height and width of the first top: assumed, or what the first of these sizes that is set makes."""
        if self.assumed and self.assumed[0]:
            return self.assumed[0][-3:]
        p = self.layer.transform_param
        crops = (p.crop_size, p.crop_size), (p.crop_h, p.crop_w), (p.crop_height, p.crop_width)
        resized = [(each.height, each.width) for each in p.resize_param[:1]]
        height, width = next((size for size in (*crops, *sizes, *resized) if all(size)), (TYPICAL, TYPICAL))
        return (1 if p.force_gray else 3 if p.force_color else channels, height, width)


def both_or_none(height: int, width: int, what: str) -> Size:
    """A size of which Caffe wants both numbers or neither."""
    if bool(height) != bool(width):
        raise NetError(f"{what}_height and {what}_width go together: give both or neither")
    return height, width

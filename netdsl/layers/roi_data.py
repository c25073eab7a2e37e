"""RoIData: Fast R-CNN's Python layer that reads images with their regions or objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from caffe_proto import caffe_pb2 as pb
from netdsl.layer import Shape
from netdsl.layer.samples import BlobKind
from netdsl.layer.user_code import ReplacesUserCode
from netdsl.layers._data import DataLayer
from netdsl.layers._rpn import layer_settings


class RoIData(DataLayer, ReplacesUserCode):
    """Images, their sizes and objects for a net that proposes regions; otherwise images, regions, labels, box targets.

    No file says how large the images are, so the shapes are those that py-faster-rcnn begins with: 600 x 1000, one
    image and an object for a net with proposals, two images and 128 regions for one without.
    """

    origin = "Faster R-CNN"
    tops = (3, 6)
    any_size = True
    python_names = ("roi_data_layer.layer.RoIDataLayer",)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        self.classes = layer_settings(layer, "num_classes")["num_classes"]

    @property
    def proposes(self) -> bool:
        """Whether the net makes its own regions."""
        return len(self.layer.top) == 3 and self.layer.top[1] != "rois"

    def batch_size(self) -> int:
        return 1 if self.proposes else 2

    def top_kind(self, place: int) -> BlobKind:
        kinds = (BlobKind.IMAGE_SIZE, BlobKind.LABELLED_BOX) if self.proposes else (BlobKind.REGION, BlobKind.LABEL)
        return kinds[place - 1] if 0 < place < 3 else BlobKind.NUMBER

    def item_shapes(self) -> list[Shape]:
        return [self.image((600, 1000)), (3,), (5,)] if self.proposes else [self.image((600, 1000))]

    def top_shapes(self, bottoms: Sequence[Shape]) -> list[Shape]:
        """Regions aren't items of the batch: there are as many as are assumed, or 128."""
        shapes, assumed = super().top_shapes(bottoms), self.assumed[1:]
        if self.proposes:
            return shapes
        count = assumed[0][0] if assumed and assumed[0] else 128
        defaults: list[Shape] = [(count, 5), (count,), *[(count, 4 * self.classes)] * 3]
        each = [shape or default for shape, default in zip_longest(assumed, defaults, fillvalue=())]
        return [shapes[0], *each][: len(self.layer.top)]

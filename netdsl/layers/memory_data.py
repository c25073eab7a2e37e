"""MemoryData: images and labels that the program passes in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Intake
from netdsl.data.transforms.decode import GRAY
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import DataOrigin
from netdsl.layers._data import DataLayer


class MemoryData(DataLayer):
    """Receives images of a given size, and labels, from the program."""

    config = pb.MemoryDataParameter
    images_alone = True
    data_origin = DataOrigin.ARRAYS

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if not all(self._shape()):
            raise NetError(
                "batch_size, channels, height or width is missing; set all of them to 1 or more in memory_data_param"
            )

    def _shape(self) -> Shape:
        p = self.layer.memory_data_param
        return p.channels, p.height, p.width

    def batch_size(self) -> int:
        return self.layer.memory_data_param.batch_size

    def item_shapes(self) -> Sequence[Shape | None]:
        return [self._shape(), ()]

    def is_gray(self) -> bool:
        return self.layer.memory_data_param.channels == GRAY

    def intake(self) -> Intake:
        """Return an intake with the shapes from the settings."""
        return replace(super().intake(), shapes=tuple(self.item_shapes()[: len(self.layer.top)]))

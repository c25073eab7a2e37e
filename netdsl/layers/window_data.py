"""WindowData: windows cut from images, with the class of what is in them."""

from __future__ import annotations

from collections.abc import Sequence

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.windows import WindowSource
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layers._data import DataLayer, check_source


class WindowData(DataLayer):
    """An image of crop_size, and a number."""

    config = pb.WindowDataParameter

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if not layer.transform_param.crop_size:
            raise NetError("needs a crop_size in transform_param, to which windows are brought")

    def batch_size(self) -> int:
        return self.layer.window_data_param.batch_size

    def reading(self, seed: int) -> Reading:
        p = self.layer.window_data_param
        check_source(p)
        return Reading(WindowSource(p, self.layer.transform_param, seed=seed), p.batch_size, name=p.source)

"""HDF5Output: data and labels into an HDF5 file."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.errors import NetError
from netdsl.layer import Layer, Shape


class HDF5Output(Layer):
    """Two bottoms with one row for each item, and no top."""

    config = pb.HDF5OutputParameter
    bottoms = (2, 2)
    tops = (0, 0)
    no_gradient = (0, 1)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if not layer.hdf5_output_param.file_name:
            raise NetError("needs a file_name")

    def forward(self, data: Tensor, label: Tensor) -> tuple[Tensor, ...]:
        return ()

"""HDF5Output: data and labels into an HDF5 file."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.writing.hdf5 import Hdf5Rows
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.deploying import WritesFile
from netdsl.layer.running import not_compiled

_AXES = 4  # of Caffe's old blobs, which the file has whatever the bottoms have


class HDF5Output(WritesFile):
    """The data sets `data` and `label`, with the rows of all batches that ran. Caffe ends at the second batch."""

    config = pb.HDF5OutputParameter
    bottoms = (2, 2)
    no_gradient = (0, 1)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if not layer.hdf5_output_param.file_name:
            raise NetError("needs a file_name")
        if bottoms[0][:1] != bottoms[1][:1] or max(map(len, bottoms)) > _AXES:
            raise NetError(f"takes data and labels of one row each, of {_AXES} axes at most, not {list(bottoms)}")
        self._rows = Hdf5Rows(layer.hdf5_output_param.file_name)

    @not_compiled
    def forward(self, data: Tensor, label: Tensor) -> tuple[Tensor, ...]:
        if not data.is_meta:
            pairs = (("data", data), ("label", label))
            self._rows.add({name: _old(tensor).detach().cpu().numpy() for name, tensor in pairs})
        return ()


def _old(tensor: Tensor) -> Tensor:
    return tensor.reshape(*tensor.shape, *[1] * (_AXES - tensor.dim()))

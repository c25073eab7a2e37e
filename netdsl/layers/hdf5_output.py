"""HDF5Output: data and labels written to an HDF5 file."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from caffe_proto import caffe_pb2 as pb
from netdsl.data.writing.hdf5 import Hdf5Rows
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.deploying import WritesFile
from netdsl.layer.running import not_compiled

_AXES = 4  # the number of axes in Caffe's old blobs, which the file always has


class HDF5Output(WritesFile):
    """Writes the data sets `data` and `label` with the rows of all batches. Caffe fails at the second batch."""

    config = pb.HDF5OutputParameter
    bottoms = (2, 2)
    no_gradient = (0, 1)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if not layer.hdf5_output_param.file_name:
            raise NetError("file_name is missing; set it to the path of the file to write")
        if bottoms[0][:1] != bottoms[1][:1] or max(map(len, bottoms)) > _AXES:
            raise NetError(
                f"data and labels must have the same batch size and at most {_AXES} axes, but their shapes are "
                f"{list(bottoms)}; connect blobs of one batch, and join their last axes with a Flatten layer"
            )
        self._rows = Hdf5Rows(layer.hdf5_output_param.file_name)

    @not_compiled
    def forward(self, data: Tensor, label: Tensor) -> tuple[Tensor, ...]:
        if not data.is_meta:
            pairs = (("data", data), ("label", label))
            self._rows.add({name: _old(tensor).detach().cpu().numpy() for name, tensor in pairs})
        return ()


def _old(tensor: Tensor) -> Tensor:
    return tensor.reshape(*tensor.shape, *[1] * (_AXES - tensor.dim()))

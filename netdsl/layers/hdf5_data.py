"""HDF5Data: arrays from HDF5 files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.hdf5 import Hdf5Source
from netdsl.data.types import Array
from netdsl.data.writing.hdf5 import Hdf5Rows
from netdsl.data.writing.sample_files import write_list
from netdsl.errors import NetError
from netdsl.layer import Shape
from netdsl.layer.data import HasSampleFiles
from netdsl.layers._data import DataLayer, check_source


class HDF5Data(DataLayer, HasSampleFiles):
    """Reads each top from the data set of the same name in HDF5 files. Only the files contain the shapes."""

    config = pb.HDF5DataParameter
    tops = (1, None)

    def __init__(self, layer: pb.LayerParameter, bottoms: Sequence[Shape]) -> None:
        super().__init__(layer, bottoms)
        if layer.HasField("transform_param"):
            raise NetError("transform_param has no effect on HDF5 data; remove it and transform the data in the files")

    def batch_size(self) -> int:
        return self.layer.hdf5_data_param.batch_size

    def item_shapes(self) -> Sequence[Shape | None]:
        """Return unknown shapes, because only the files contain them."""
        return [None] * len(self.layer.top)

    def reading(self, seed: int) -> Reading:
        p = self.layer.hdf5_data_param
        check_source(p)
        source = Hdf5Source(p.source, list(self.layer.top))
        return Reading(source, p.batch_size, shuffle=p.shuffle, groups=source.rows, name=p.source)

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made, path = copy_of(self.layer), folder / "rows.h5"
        Hdf5Rows(path).add(dict(zip(self.layer.top, values, strict=True)))
        made.hdf5_data_param.source = write_list(folder, [path])
        return made

"""Data: images and labels from an LMDB or a LevelDB."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.layers._data import DataLayer


class Data(DataLayer):
    """An image, and a number if there is a second top."""

    config = pb.DataParameter
    tops = (1, 2)

    def batch_size(self) -> int:
        return self.layer.data_param.batch_size

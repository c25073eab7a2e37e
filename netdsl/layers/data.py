"""Data: images and labels from an LMDB or a LevelDB."""

from __future__ import annotations

from caffe_proto import caffe_pb2 as pb
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.open_source import has_kind_prefix, open_source
from netdsl.data.sources.source import Source
from netdsl.data.transforms.decode import Color
from netdsl.errors import NetError
from netdsl.layers._data import DatumData, check_database, open_database, passed_over


class Data(DatumData):
    """An image, and a number if there is a second top."""

    config = pb.DataParameter
    tops = (1, 2)

    def settings(self) -> pb.DataParameter:
        return self.layer.data_param

    def unknown_source(self) -> str | None:
        source = self.layer.data_param.source
        return source if source and has_kind_prefix(source) else None

    def reading(self, seed: int) -> Reading:
        p = self.layer.data_param
        check_database(p)
        start = passed_over(p.rand_skip, seed)
        return Reading(self._source(), p.batch_size, (self.transform(),), p.shuffle, start, name=p.source)

    def _source(self) -> Source:
        """The database, or what a name such as `mnist:FOLDER:train` stands for, which Caffe doesn't know."""
        p = self.layer.data_param
        if not p.source:
            raise NetError("names no source of its data; set data_param's source")
        if has_kind_prefix(p.source):
            return open_source(p.source, color=Color.of(self.layer.transform_param))
        return open_database(p, self.layer.transform_param)

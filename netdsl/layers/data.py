"""Data: images and labels from an LMDB or LevelDB database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from caffe_proto import caffe_pb2 as pb
from caffe_proto.copies import copy_of
from netdsl.data.batches.reading import Reading
from netdsl.data.sources.open_source import has_kind_prefix, open_source
from netdsl.data.sources.source import Source
from netdsl.data.types import Array
from netdsl.data.writing.databases import lmdb_writer
from netdsl.data.writing.example import Example
from netdsl.data.writing.sample_files import as_pixels, write_mean_file
from netdsl.errors import NetError
from netdsl.layer.data import HasSampleFiles
from netdsl.layer.samples import BlobKind
from netdsl.layers._data import (
    DatumData,
    channels_in_database,
    check_database,
    database_color,
    decodes_gray,
    open_database,
    passed_over,
)


class Data(DatumData, HasSampleFiles):
    """Reads images from a database, and labels if there is a second top."""

    config = pb.DataParameter
    tops = (1, 2)

    def settings(self) -> pb.DataParameter:
        return self.layer.data_param

    def unknown_source(self) -> str | None:
        source = self.layer.data_param.source
        return source if source and has_kind_prefix(source) else None

    def is_gray(self) -> bool:
        return decodes_gray(self.layer)

    def channels(self) -> int:
        return channels_in_database(self.layer)

    def reading(self, seed: int) -> Reading:
        p = self.layer.data_param
        check_database(p)
        start = passed_over(p.rand_skip, seed)
        return Reading(self._source(), p.batch_size, (self.transform(),), p.shuffle, start, name=p.source)

    def _source(self) -> Source:
        """Return the database, or the data that a name such as `mnist:FOLDER:train` stands for.

        Caffe doesn't support such names.
        """
        p = self.layer.data_param
        if not p.source:
            raise NetError("no source is named; set source in data_param")
        if has_kind_prefix(p.source):
            return open_source(p.source, color=database_color(p, self.layer.transform_param))
        return open_database(p, self.layer.transform_param)

    def stored(self, values: Array, kind: BlobKind) -> Array:
        """Return images as bytes.

        Other values in the form of an image, such as boxes or label maps, are returned unchanged.
        """
        return as_pixels(values) if kind is BlobKind.NUMBER and values.ndim > 1 else values

    def write_samples(self, folder: Path, values: Sequence[Array]) -> pb.LayerParameter:
        made, path = copy_of(self.layer), folder / "items"
        images, labels = values[0], values[1] if len(values) > 1 else np.zeros(len(values[0]), np.float32)
        with lmdb_writer(path) as put:
            for index, (image, label) in enumerate(zip(images, labels, strict=True)):
                put(Example(index, "", (image, np.rint(label.astype(np.float32)))))
        write_mean_file(made, images.shape[1:], folder)
        made.data_param.source, made.data_param.backend = str(path), pb.DataParameter.LMDB
        made.data_param.ClearField("rand_skip")
        return made

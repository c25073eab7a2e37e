"""The mean of all images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.files import read
from netdsl.data.sources.arrays import ArraySource
from netdsl.data.writing.mean_image import mean_image, write_mean
from netdsl.errors import DataError

PIXELS = np.random.default_rng(0).integers(0, 256, (7, 2, 4, 3), np.uint8)


@pytest.mark.parametrize("images", [PIXELS, PIXELS / np.float32(3) - 20])
def test_the_mean_is_of_every_value(images: np.ndarray) -> None:
    calls: list[None] = []
    mean = mean_image(ArraySource([(images, np.zeros(7))]), done=lambda: calls.append(None))
    expected = [[[images[:, c, h, w].sum(dtype=float) / 7 for w in range(3)] for h in range(4)] for c in range(2)]
    assert (mean.dtype, len(calls)) == (np.float32, 7)
    np.testing.assert_array_equal(mean, np.array(expected, np.float32))


def test_the_file_has_four_dimensions_as_caffe_writes_it(tmp_path: Path) -> None:
    mean = PIXELS[0] / np.float32(7)
    write_mean(mean, tmp_path / "m.binaryproto")
    expected = pb.BlobProto(num=1, channels=2, height=4, width=3).SerializeToString()
    values = mean.astype("<f4").tobytes()
    # field 5 with a length-delimited value: 5 << 3 | 2
    assert (tmp_path / "m.binaryproto").read_bytes() == expected + bytes([42, len(values)]) + values
    file = read(tmp_path / "m.binaryproto")
    assert isinstance(file.message, pb.BlobProto)
    np.testing.assert_array_equal(file.blobs.array(file.message)[0], mean)


@pytest.mark.parametrize("second", [PIXELS[:, :, :2], PIXELS[:, 0]])
def test_images_must_have_one_size(second: np.ndarray) -> None:
    source = ArraySource([(PIXELS, np.zeros(7)), (second, np.zeros(7))])
    with pytest.raises(DataError, match=r"item 7 has shape \(.*, but the first item has \(2, 4, 3\); resize them"):
        mean_image(source)


def test_vectors_have_no_mean_image() -> None:
    with pytest.raises(DataError, match=r"item 0 has shape \(3,\)"):
        mean_image(ArraySource([(PIXELS[:, 0, 0], np.zeros(7))]))

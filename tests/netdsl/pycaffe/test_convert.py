"""Arrays in messages."""

from __future__ import annotations

import numpy as np
import pytest

from netdsl.pycaffe import io
from netdsl.pycaffe.proto import caffe_pb2

VALUES = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_a_blob_has_values_and_gradients() -> None:
    blob = io.array_to_blobproto(VALUES, diff=2 * VALUES)
    np.testing.assert_array_equal(io.blobproto_to_array(blob), VALUES)
    np.testing.assert_array_equal(io.blobproto_to_array(blob, return_diff=True), 2 * VALUES)
    assert list(blob.shape.dim) == [2, 3, 4]


def test_old_blobs_have_four_dimensions_and_doubles_count() -> None:
    blob = caffe_pb2.BlobProto(num=1, channels=2, height=3, width=4, data=range(24))
    assert io.blobproto_to_array(blob).shape == (1, 2, 3, 4)
    double = caffe_pb2.BlobProto(double_data=[0.1, 0.2])
    double.shape.dim.append(2)
    assert io.blobproto_to_array(double).tolist() == [0.1, 0.2]


def test_a_blob_without_a_shape_is_one_number() -> None:
    assert io.blobproto_to_array(caffe_pb2.BlobProto(data=[123])) == 123
    with pytest.raises(ValueError, match="24 values"):
        io.blobproto_to_array(caffe_pb2.BlobProto(data=range(24)))


def test_several_arrays_go_into_one_string() -> None:
    arrays = [VALUES, VALUES[0], VALUES[0, 0]]
    back = io.blobprotovector_str_to_arraylist(io.arraylist_to_blobprotovector_str(arrays))
    for mine, theirs in zip(arrays, back, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_an_image_goes_into_a_datum_and_back(dtype) -> None:
    datum = io.array_to_datum(VALUES.astype(dtype), label=7)
    assert (datum.channels, datum.height, datum.width, datum.label) == (2, 3, 4, 7)
    assert bool(datum.data) == (dtype == np.uint8)
    back = io.datum_to_array(caffe_pb2.Datum.FromString(datum.SerializeToString()))
    np.testing.assert_array_equal(back, VALUES)
    back[0, 0, 0] = 5
    assert not io.array_to_datum(VALUES).HasField("label")


def test_what_is_no_image_is_refused() -> None:
    with pytest.raises(ValueError, match="3 axes"):
        io.array_to_datum(VALUES[0])
    with pytest.raises(ValueError, match="encoded"):
        io.datum_to_array(caffe_pb2.Datum(encoded=True, data=b"JPEG"))

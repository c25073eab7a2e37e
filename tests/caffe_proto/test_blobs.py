"""Blobs: their shapes, their values in every form that Caffe has used, and values that don't fit."""

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import Blob, Blobs, release_pages, shape_of
from caffe_proto.errors import BlobError, CaffeError
from caffe_proto.files import CaffeFile, read_net, write


def proto_of(*dims: int, **fields) -> pb.BlobProto:
    return pb.BlobProto(shape=pb.BlobShape(dim=dims), **fields)


def stored(array: np.ndarray, *dims: int, number: int | None = None, **fields) -> tuple[pb.BlobProto, Blobs]:
    blobs = Blobs()
    return proto_of(*dims, stored=blobs.add(Blob.of(array, number)), **fields), blobs


@pytest.mark.parametrize(
    ("proto", "shape"),
    [
        (proto_of(2, 3), (2, 3)),
        (proto_of(), ()),
        (pb.BlobProto(), ()),
        (pb.BlobProto(num=2, channels=3, height=4, width=5), (2, 3, 4, 5)),
        # as in Caffe, one of the four legacy fields is enough for all four to count
        (pb.BlobProto(width=5), (0, 0, 0, 5)),
        (proto_of(2, 3, num=1, channels=1, height=2, width=3), (2, 3)),
    ],
)
def test_the_shape_is_read_from_new_and_old_fields(proto: pb.BlobProto, shape: tuple[int, ...]) -> None:
    assert shape_of(proto) == shape


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.arange(6, dtype=np.float32).reshape(2, 3), np.float32),
        (np.arange(6, dtype=np.float64).reshape(3, 2), np.float64),
        (np.arange(6, dtype=np.float16).reshape(2, 3), np.float32),
        (np.arange(6).reshape(2, 3), np.float32),
        (np.arange(6, dtype=">f4").reshape(2, 3), np.float32),
        (np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(2, 0, 1), np.float32),
        (np.arange(6, dtype=np.float32)[::-2], np.float32),
        (np.float32(7), np.float32),
        (np.empty((0, 3), np.float32), np.float32),
    ],
)
def test_values_are_returned_in_the_shape_in_which_they_were_stored(array: np.ndarray, dtype: type) -> None:
    blobs, proto = Blobs(), pb.BlobProto(num=9, data=[1, 2])
    blobs.put(proto, np.asarray(array))
    out = blobs.array(proto)
    assert (out.dtype, out.shape) == (dtype, np.shape(array))
    np.testing.assert_array_equal(out, array)
    assert not proto.HasField("num")
    assert not proto.data


def test_bits_of_values_survive() -> None:
    values = np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32)
    blobs, proto = Blobs(), pb.BlobProto()
    blobs.put(proto, values)
    assert blobs.array(proto).tobytes() == values.tobytes()


def test_values_of_the_right_type_are_not_copied() -> None:
    values = np.arange(6, dtype=np.float32)
    proto, blobs = stored(values, 2, 3)
    assert np.shares_memory(blobs.array(proto), values)


@pytest.mark.parametrize(
    ("field", "values", "dtype"), [("data", [1.5, 2.5], np.float32), ("double_data", [1.5, 2.5], np.float64)]
)
def test_values_written_in_a_prototxt_are_read(field: str, values: list[float], dtype: type) -> None:
    proto = proto_of(2, **{field: values})
    Blobs().check(proto, "blob")
    out = Blobs().array(proto)
    assert out.dtype == dtype
    np.testing.assert_array_equal(out, values)


def test_gradients_are_distinguished_from_values() -> None:
    data, diff = np.arange(4, dtype=np.float32), np.arange(4, 8, dtype=np.float32)
    blobs = Blobs()
    proto = proto_of(2, 2, stored=blobs.add(Blob(Blob.of(data, 5).parts + Blob.of(diff, 6).parts)))
    blobs.check(proto, "blob")
    np.testing.assert_array_equal(blobs.array(proto).ravel(), data)
    gradient = blobs.gradient(proto)
    assert gradient is not None
    np.testing.assert_array_equal(gradient, diff.reshape(2, 2))
    only_data, blobs = stored(data, 4)
    assert blobs.gradient(only_data) is None


def test_doubles_win_over_floats_as_in_caffe() -> None:
    floats, doubles = np.arange(4, dtype=np.float32), np.arange(4, dtype=np.float64) / 3
    blobs = Blobs()
    proto = proto_of(4, stored=blobs.add(Blob(Blob.of(floats).parts + Blob.of(doubles).parts)))
    blobs.check(proto, "blob")
    np.testing.assert_array_equal(blobs.array(proto), doubles)


@pytest.mark.parametrize(("kind", "dtype"), [(pb.FLOAT16, np.float16), (pb.FLOAT, np.float32), (pb.DOUBLE, np.float64)])
def test_raw_values_of_nvidia_are_read_by_their_type(kind: int, dtype: type) -> None:
    values = np.array([1.5, -2, 0.25, 8], dtype)
    proto, blobs = stored(values.view(np.uint8), 2, 2, number=12, raw_data_type=kind)
    blobs.check(proto, "blob")
    assert blobs.array(proto).dtype == dtype
    np.testing.assert_array_equal(blobs.array(proto).ravel(), values)
    gradient, blobs = stored(values.view(np.uint8), 2, 2, number=13, raw_diff_type=kind)
    np.testing.assert_array_equal(blobs.gradient(gradient), values.reshape(2, 2))


@pytest.mark.parametrize(
    ("size", "kind", "what"),
    [
        (3, pb.FLOAT16, "3 raw bytes can't be values of type FLOAT16"),
        (8, pb.INT, "8 raw bytes can't be values of type INT"),
        (6, pb.FLOAT16, r"the shape \[2\] needs 2 values, but there are 3"),
    ],
)
def test_raw_values_that_do_not_fit_their_type_are_refused(size: int, kind: int, what: str) -> None:
    proto, blobs = stored(np.zeros(size, np.uint8), 2, number=12, raw_data_type=kind)
    with pytest.raises(BlobError, match=f"^layer 'a', blob 0: {what}"):
        blobs.check(proto, "layer 'a', blob 0")


@pytest.mark.parametrize(
    ("dims", "count", "what"),
    [
        ([2, 3], 5, r"the shape \[2, 3\] needs 6 values, but there are 5"),
        ([], 5, r"the shape \[\] needs 1 values, but there are 5"),
        ([0, 3], 5, r"the shape \[0, 3\] needs 0 values, but there are 5"),
        ([-1, -5], 5, r"\[-1, -5\] is not a shape"),
        ([2**60], 5, ".* is not a shape"),
        ([2**33, 2**33], 5, ".* is not a shape"),
        ([2**32, 2**32], 0, ".* is not a shape"),  # in 64 bits this product is 0
        ([0, 2**40, 2**40], 0, ".* is not a shape"),  # no values, but too big for an array
        ([1] * 33, 1, "the shape has 33 dimensions, but Caffe allows 32 at most"),
        ([2**62] * 200_000, 1, "the shape has 200,000 dimensions"),
    ],
)
def test_an_impossible_shape_is_refused_at_once(dims: list[int], count: int, what: str) -> None:
    proto, blobs = stored(np.zeros(count, np.float32), *dims)
    start = time.process_time()
    with pytest.raises(BlobError, match=f"^layer 'a', blob 0: {what}") as caught:
        blobs.check(proto, "layer 'a', blob 0")
    assert time.process_time() - start < 0.5
    assert len(str(caught.value)) < 500


def test_caffes_maximum_number_of_dimensions_is_allowed() -> None:
    proto, blobs = stored(np.zeros(1, np.float32), *[1] * 32)
    blobs.check(proto, "blob")
    assert blobs.array(proto).ndim == 32


def test_a_shape_without_values_is_refused_unless_it_needs_none() -> None:
    with pytest.raises(BlobError, match=r"the shape \[2, 3\] needs 6 values, but there are none"):
        Blobs().check(proto_of(2, 3), "blob")
    Blobs().check(pb.BlobProto(), "blob")  # shared with another layer
    assert Blobs().array(pb.BlobProto()).shape == (0,)
    Blobs().check(proto_of(0, 3), "blob")
    assert Blobs().array(proto_of(0, 3)).shape == (0, 3)


def test_gradients_must_fit_the_shape_too() -> None:
    blobs = Blobs()
    parts = Blob.of(np.zeros(4), 5).parts + Blob.of(np.zeros(3), 6).parts
    with pytest.raises(BlobError, match=r"the shape \[4\] needs 4 gradients, but there are 3"):
        blobs.check(proto_of(4, stored=blobs.add(Blob(parts))), "blob")


def test_a_reference_to_missing_values_raises_our_error() -> None:
    with pytest.raises(CaffeError, match="the values can't be found"):
        Blobs().check(proto_of(1, stored=3), "blob")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what a process has of files")
def test_memory_of_mapped_values_can_be_released(tmp_path: Path) -> None:
    written = CaffeFile(pb.NetParameter(name="large"))
    written.blobs.put(written.message.layer.add(name="ip").blobs.add(), np.arange(1 << 23, dtype=np.float32))
    write(written, tmp_path / "large.caffemodel")
    file = read_net(tmp_path / "large.caffemodel")
    array = file.blobs.array(file.message.layer[0].blobs[0])
    total, before = array.sum(), mapped_bytes()
    release_pages(array)
    assert before - mapped_bytes() > 0.9 * array.nbytes
    assert array.sum() == total
    release_pages(np.ones(3))  # an array that isn't mapped from a file


def mapped_bytes() -> int:
    """Return the number of bytes of mapped files that this process has in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("RssFile:"))

"""Conversions between arrays and Caffe's messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caffe_proto import caffe_pb2 as pb
from caffe_proto.blobs import shape_of
from netdsl.errors import ShapeError

Array = NDArray[Any]


class ArrayError(ShapeError, ValueError):
    """The shape of an array doesn't fit; it is a ValueError too, as in pycaffe."""


def blobproto_to_array(blob: pb.BlobProto, return_diff: bool = False) -> Array:
    """The values or the gradients of a blob in its shape. A blob without a shape is one number."""
    double, single = (blob.double_diff, blob.diff) if return_diff else (blob.double_data, blob.data)
    values, shape = np.array(double or single, np.float64), shape_of(blob)
    try:
        return values.reshape(shape)
    except ValueError:
        raise ArrayError(f"a blob of shape {list(shape)} can't hold its {values.size:,} values") from None


def array_to_blobproto(arr: Array, diff: Array | None = None) -> pb.BlobProto:
    """Make a blob of values and, if given, gradients."""
    blob = pb.BlobProto()
    blob.shape.dim.extend(arr.shape)
    blob.data.extend(arr.astype(np.float64).ravel())
    if diff is not None:
        blob.diff.extend(diff.astype(np.float64).ravel())
    return blob


def arraylist_to_blobprotovector_str(arraylist: Iterable[Array]) -> bytes:
    """Encode arrays as a BlobProtoVector."""
    return pb.BlobProtoVector(blobs=[array_to_blobproto(array) for array in arraylist]).SerializeToString()


def blobprotovector_str_to_arraylist(str: bytes) -> list[Array]:  # noqa: A002 - pycaffe's name
    """Decode the arrays of an encoded BlobProtoVector."""
    return [blobproto_to_array(blob) for blob in pb.BlobProtoVector.FromString(str).blobs]


def array_to_datum(arr: Array, label: int | None = None) -> pb.Datum:
    """Make a datum of an image of channels x height x width, as bytes if its type is uint8, else as floats."""
    if arr.ndim != 3:
        raise ArrayError(f"a datum holds an array of 3 axes (channels, height, width), not {arr.ndim}")
    channels, height, width = arr.shape
    datum = pb.Datum(channels=channels, height=height, width=width)
    if arr.dtype == np.uint8:
        datum.data = arr.tobytes()
    else:
        datum.float_data.extend(arr.astype(np.float64).ravel())
    if label is not None:
        datum.label = label
    return datum


def datum_to_array(datum: pb.Datum) -> Array:
    """The image in a datum, without its label."""
    if datum.encoded:
        raise ArrayError("the datum holds an encoded image, such as a JPEG; decode its data with an image library")
    shape = (datum.channels, datum.height, datum.width)
    if datum.data:
        return np.frombuffer(datum.data, np.uint8).reshape(shape).copy()
    return np.array(datum.float_data, np.float64).reshape(shape)

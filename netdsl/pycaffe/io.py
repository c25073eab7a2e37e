"""pycaffe's `io`: images, transformers, and conversions between arrays and messages."""

from __future__ import annotations

from netdsl.pycaffe.convert import (
    array_to_blobproto,
    array_to_datum,
    arraylist_to_blobprotovector_str,
    blobproto_to_array,
    blobprotovector_str_to_arraylist,
    datum_to_array,
)
from netdsl.pycaffe.images import load_image, oversample, resize_image
from netdsl.pycaffe.proto import caffe_pb2  # scripts write caffe.io.caffe_pb2.Datum()
from netdsl.pycaffe.transformer import Transformer

__all__ = [
    "Transformer",
    "array_to_blobproto",
    "array_to_datum",
    "arraylist_to_blobprotovector_str",
    "blobproto_to_array",
    "blobprotovector_str_to_arraylist",
    "caffe_pb2",
    "datum_to_array",
    "load_image",
    "oversample",
    "resize_image",
]

"""The package of Caffe's messages, as in pycaffe: `from netdsl.pycaffe.proto import caffe_pb2`."""

from __future__ import annotations

from netdsl.pycaffe.proto import caffe_pb2

__all__ = ["caffe_pb2"]

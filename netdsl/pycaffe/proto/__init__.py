"""Where scripts expect Caffe's messages: `from netdsl.pycaffe.proto import caffe_pb2`."""

from __future__ import annotations

from netdsl.pycaffe.proto import caffe_pb2

__all__ = ["caffe_pb2"]

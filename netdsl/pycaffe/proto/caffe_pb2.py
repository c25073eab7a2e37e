"""Caffe's messages under the name that scripts know: those of `caffe_proto.caffe_pb2`."""

from caffe_proto.caffe_pb2 import *

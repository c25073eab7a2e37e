"""Caffe's messages under pycaffe's module name: those of `caffe_proto.caffe_pb2`."""

from caffe_proto.caffe_pb2 import *

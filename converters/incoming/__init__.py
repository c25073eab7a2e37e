"""Operators of other frameworks written as Caffe layers, shared by all imports."""

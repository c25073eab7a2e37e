"""Writes the operators of other frameworks as Caffe layers. All imports share this package."""

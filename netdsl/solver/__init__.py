"""Caffe's solvers: how a net's weights change, when it is tested, and what is saved on the way."""

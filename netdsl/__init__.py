"""Nets: described in Python or imported from Caffe, compiled into torch modules."""

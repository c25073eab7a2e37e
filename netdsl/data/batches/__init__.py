"""Batches of items in Caffe's order, loaded by threads before they are needed."""

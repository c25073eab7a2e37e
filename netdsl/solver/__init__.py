"""Caffe's solvers: update rules, learning rates, the training loop, and snapshots."""

"""Weights: collections apart from a net, matching by layer names, and files of all formats."""

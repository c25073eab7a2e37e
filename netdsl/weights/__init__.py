"""Weights: apart from a net, matched with its layers by name, in files of every format."""

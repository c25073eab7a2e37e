"""Transforms of images between their files and a batch."""

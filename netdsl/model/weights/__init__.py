"""Weights: separate collections, matching by layer names, and files of all formats."""

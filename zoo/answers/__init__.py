"""Answers of models about images: images in, classes, boxes or segments out, as text, JSON, CSV and pictures."""

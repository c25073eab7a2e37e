"""Answers of models about images: classes, boxes or segments, as text, JSON, CSV and pictures."""

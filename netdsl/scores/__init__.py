"""Scores over whole test sets: how well boxes are detected and pixels classified, by class and overall."""

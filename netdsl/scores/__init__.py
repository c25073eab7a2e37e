"""Scores of whole test sets: how well boxes are found and how well pixels are classified, by class and in all."""

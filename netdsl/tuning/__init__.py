"""Prepares nets for fine-tuning: they get new heads and new data."""

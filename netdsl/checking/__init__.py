"""Checks of a net without its weights and data."""

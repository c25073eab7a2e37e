"""Checks nets without their weights and data."""

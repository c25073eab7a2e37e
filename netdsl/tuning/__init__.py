"""Nets that are tuned: they get new heads, for other data than they were made for."""

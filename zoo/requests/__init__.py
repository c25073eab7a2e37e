"""Requests: what can be asked of the zoo, with fields, defaults, ranges and help. They need no torch."""

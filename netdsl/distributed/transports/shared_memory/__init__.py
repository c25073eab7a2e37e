"""A transport for workers on one machine."""

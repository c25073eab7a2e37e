"""Scripts for one process that several ranks run together, each with its part of every batch."""

"""Runs a script for one process as several ranks, each with its part of every batch."""

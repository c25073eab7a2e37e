"""Prepares a net to run: its graph, built layers, torch module and data."""

"""Trains and tests a net with its data, solver and scores."""

"""A net with its data, solver and scores: what users train and test."""

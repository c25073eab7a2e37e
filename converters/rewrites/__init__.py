"""Rewrites of deployed models: nets that compute the same in another way."""

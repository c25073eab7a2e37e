"""Checks of an installation: which packages are installed, whether they work, and what to do if they don't."""

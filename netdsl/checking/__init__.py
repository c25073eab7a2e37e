"""Whether a net would work, found out without its weights and data."""

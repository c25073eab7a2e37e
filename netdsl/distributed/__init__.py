"""Training with several workers: strategies say what they exchange and when, backends how it gets there."""

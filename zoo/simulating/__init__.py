"""The simulator's experiments: the papers' figures drawn again, and how a run would go on a given network."""

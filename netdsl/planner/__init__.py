"""Plans a training: its costs, its memory, and the best way to run it."""

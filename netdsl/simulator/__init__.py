"""The simulator, which runs many workers in one process, each with its own clock."""

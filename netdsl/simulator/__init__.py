"""The simulator: a run of many workers in one process, each with a clock of its own."""

"""Many workers in one process, each with a clock of its own."""

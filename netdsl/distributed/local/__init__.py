"""Workers that are processes on this machine: they exchange through shared memory, and one process watches them."""

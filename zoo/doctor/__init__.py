"""What is installed on a machine, what of it works, and what to do where something doesn't."""

"""The zoo: nets that have names, and the command line."""

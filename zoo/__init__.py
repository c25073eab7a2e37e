"""The zoo: the command line, and the models that it knows."""

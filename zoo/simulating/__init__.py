"""Experiments with the simulator: the papers' figures reproduced, and estimates of a run on a given network."""

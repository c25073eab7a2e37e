"""The report of a training: a self-contained page about everything that is known of it."""

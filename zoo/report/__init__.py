"""The report of a training: a self-contained page with all known facts about it."""

"""The report of a training: one page with all that is known of it, which needs nothing else to be shown."""

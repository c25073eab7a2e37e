"""Planning of a training: what it costs, what memory it takes, and how it is best run."""

"""A transport for workers that reach only the driver, which adds up and passes on what they send."""

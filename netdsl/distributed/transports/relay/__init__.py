"""A transport for workers that can reach only the driver, which adds up and passes on their buffers."""

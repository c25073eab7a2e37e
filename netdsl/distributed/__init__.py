"""Training with several workers. Strategies decide what workers exchange and when, and transports move the buffers."""

"""Who watches workers: their heartbeats over the control channel, and what happens when one is lost."""

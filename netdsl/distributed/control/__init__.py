"""The control connection between workers and their supervisor: its messages, both ends, and the heartbeats."""

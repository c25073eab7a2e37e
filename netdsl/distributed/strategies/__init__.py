"""What workers exchange, and when."""

"""What `zoo plan` shows of a planning."""

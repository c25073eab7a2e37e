"""What starts workers, or finds those that something else has started."""

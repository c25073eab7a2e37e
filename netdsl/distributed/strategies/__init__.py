"""The strategies, which decide what workers exchange, and when."""

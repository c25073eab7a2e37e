"""Targets: programs that run exported models. Each is described by a file NAME.toml and has its own environment."""

"""Parses prototxt with its comments, checks it against the schema, and writes it in one layout."""

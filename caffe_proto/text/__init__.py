"""Prototxt: read with its comments, checked against the schema, written in one layout."""

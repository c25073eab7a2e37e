"""Prototxt: parsed with its comments, checked against the schema, written in one layout."""

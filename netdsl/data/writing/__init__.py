"""Writes items to files: databases, tables, mean images, contact sheets."""

"""Items written to files: databases, tables, mean images, contact sheets."""

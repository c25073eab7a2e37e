"""Items on their way into files: databases, tables, mean images, contact sheets."""

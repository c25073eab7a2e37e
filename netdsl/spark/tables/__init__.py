"""DataFrames, RDDs and Parquet as tables."""

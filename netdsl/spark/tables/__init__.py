"""Tables of Spark: DataFrames, RDDs and Parquet."""

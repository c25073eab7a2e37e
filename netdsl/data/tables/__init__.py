"""Reads rows of Arrow and Parquet tables in the same way for training and for predictions."""

"""Rows of tables of Arrow and Parquet, read in one way for training and for predicting."""

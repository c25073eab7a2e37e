"""Predictions and scores of a net on the rows of tables, in this process or in Spark tasks."""

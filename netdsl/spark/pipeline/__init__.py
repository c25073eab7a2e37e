"""Nets as estimators and transformers of pyspark.ml."""

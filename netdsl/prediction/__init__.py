"""What a net with weights makes of the rows of tables; it knows nothing of Spark, which takes it to its tasks."""

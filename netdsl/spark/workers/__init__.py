"""Workers that are tasks of one long barrier job of Apache Spark."""

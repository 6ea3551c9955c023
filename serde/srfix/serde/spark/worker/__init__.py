"""Code that runs in Spark's Python workers. No pyspark here."""

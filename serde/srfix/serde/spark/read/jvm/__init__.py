"""The jvm engine: the instructions for Spark's own Avro. No pyspark here."""

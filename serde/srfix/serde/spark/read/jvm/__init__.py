"""The jvm engine: what Spark's own Avro is told. No pyspark here."""

"""What needs pyspark to be imported. Loaded by the functions of `srfix.serde.spark` when they are called."""

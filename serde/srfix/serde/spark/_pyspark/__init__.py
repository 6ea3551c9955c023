"""The modules that import pyspark. The functions of `srfix.serde.spark` load them when they are called."""

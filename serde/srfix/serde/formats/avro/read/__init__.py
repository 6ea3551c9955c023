"""Avro bodies → rows."""

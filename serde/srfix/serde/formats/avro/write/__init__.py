"""Rows → Avro bodies."""

"""Serves the rows of stores over HTTP: partitions kept by srfix itself, filled from Kafka, and the members that hold them."""

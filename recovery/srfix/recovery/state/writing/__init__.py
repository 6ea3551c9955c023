"""Writes state directories that a named version of Kafka Streams opens and goes on from."""

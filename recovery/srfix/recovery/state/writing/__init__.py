"""Writes state directories that a given version of Kafka Streams can open and continue from."""

"""Whether a reader can read the live ids of a topic, without any Kafka Streams application."""

"""A read-only look at a Kafka cluster: topics, groups, offsets, records."""

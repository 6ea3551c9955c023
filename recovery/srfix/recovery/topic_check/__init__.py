"""Are the live ids of a topic readable by a reader, without any Kafka Streams application?"""

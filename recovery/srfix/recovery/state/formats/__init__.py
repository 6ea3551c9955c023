"""How Kafka Streams lays keys and values out in its stores and changelogs, byte for byte, both ways.

Pure: bytes in, what they say out, and back. Bytes of another form raise a `FormatError`. Integers are big-endian. The classes
named are those of Apache Kafka 4.3.0; what differs by version is said.
"""

"""How Kafka Streams lays keys and values out in its stores and changelogs, byte for byte, in both directions. Pure
functions: from bytes to values, and back. Bytes of another form raise a `FormatError`. Integers are big-endian. The
named classes are those of Apache Kafka 4.3.0; differences between versions are noted.
"""

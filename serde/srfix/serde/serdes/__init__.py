"""The common code of the serializers and deserializers of all formats, framed and schemaless."""

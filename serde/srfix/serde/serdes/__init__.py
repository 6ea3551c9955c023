"""What serializers and deserializers of all formats share, framed and schemaless."""

"""PROTOBUF, with a registry, and its bodies without one (PROTOBUF_NOSR)."""

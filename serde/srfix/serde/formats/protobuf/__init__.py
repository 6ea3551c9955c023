"""PROTOBUF: Protobuf with a registry; and in `nosr`, messages under the columns' own schema without a registry."""

"""Message indexes: behind a header's GUID (`HeaderSchemaIdSerializer`), and of a message that is chosen by its name."""

from __future__ import annotations

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import (
    ById,
    ProtobufDeserializer,
    ProtobufSerializer,
    RegistryClient,
    SchemaError,
    SerdeContext,
    UsageError,
)
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Framing


def test_they_are_written_and_read_there() -> None:
    with FixtureRegistry(emulate="8.2") as server, RegistryClient(server.url) as client:
        serialize = ProtobufSerializer(client, "ID INT", schema_id_framing=Framing.HEADER_GUID)
        for _ in range(2):
            ctx = SerdeContext("t", Role.VALUE, [])
            assert serialize({"ID": 7}, ctx) == b"\x08\x07"
            (value,) = dict(ctx.headers or ()).values()
            assert isinstance(value, bytes)
            assert (len(value), value[17:]) == (18, b"\0")
            assert ProtobufDeserializer(ById(client), columns="ID INT")(b"\x08\x07", ctx) == {"ID": 7}


def test_a_message_of_an_existing_schema_is_chosen_by_its_name() -> None:
    """`ProtobufSerdeFactory.SchemaAndId`: VALUE_SCHEMA_FULL_NAME."""
    text = 'syntax = "proto3"; package p; message A { int32 ID = 1; message N { string ID = 1; } } message B { int32 X = 1; }'
    with FixtureRegistry() as server, RegistryClient(server.url) as client:
        server.seed("t-value", text, schema_type="PROTOBUF")
        serialize = ProtobufSerializer(client, "ID STRING", schema_id=1, full_name="p.A.N")
        payload = serialize({"ID": "x"}, "t")
        assert payload == b"\0\0\0\0\1" + b"\x04\0\0" + b"\x0a\x01x"
        assert ProtobufDeserializer(client, columns="ID STRING")(payload, "t") == {"ID": "x"}
        assert (
            ProtobufSerializer(client, schema_id=1, full_name="p.B")({"X": 1}, "t")
            == b"\0\0\0\0\1" + b"\2\2" + b"\x08\1"
        )
        with pytest.raises(
            SchemaError, match=r"The schema has no message p\.C\. Name one that it has \(p\.A, p\.A\.N, p\.B\)"
        ):
            ProtobufSerializer(client, "ID STRING", schema_id=1, full_name="p.C")({"ID": "x"}, "t")
        with pytest.raises(UsageError, match="a header can only name the schema's first message"):
            ProtobufSerializer(client, "ID INT", schema_id=1, full_name="p.A", schema_id_framing=Framing.HEADER_GUID)

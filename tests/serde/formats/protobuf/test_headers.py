"""Message indexes of the header framing stand behind the GUID (`HeaderSchemaIdSerializer`)."""

from __future__ import annotations

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import ById, ProtobufDeserializer, ProtobufSerializer, RegistryClient, SerdeContext
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

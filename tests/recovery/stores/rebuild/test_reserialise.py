"""Values rewritten under another schema; what no column holds is refused, never lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from google.protobuf.message_factory import GetMessageClass

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.stores.rebuild.change import Reserialiser
from srfix.serde import ColumnError, RegistryClient, Subject, UsageError
from srfix.serde.formats.protobuf.descriptors import compiled
from srfix.serde.wire import frame_id

SOURCE, PHANTOM = "users-value", Subject("app-store-changelog-value")
WRITER = """syntax = "proto3";
message Other {}
message User {
  int64 userId = 1;
  oneof contact { string mail = 2; int32 phone = 3; }
  repeated int32 marks = 4;
}
"""
READER = """syntax = "proto3";
message ConnectDefault1 {
  int64 USERID = 7;
  oneof contact { string MAIL = 2; int32 PHONE = 3; }
  repeated int32 MARKS = 4;
}
"""


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


def test_a_row_is_written_under_the_schema_of_the_subject(registry: FixtureRegistry) -> None:
    written = registry.seed(SOURCE, WRITER, schema_type="PROTOBUF")
    wanted = registry.seed(PHANTOM, READER, schema_type="PROTOBUF")
    user = GetMessageClass(compiled(WRITER).message((1,)))(userId=5, phone=0, marks=[1, 2])
    reserialise = Reserialiser(RegistryClient(registry.url), PHANTOM)
    payload = reserialise(frame_id(written, b"\x02\x02" + user.SerializeToString()))
    row = GetMessageClass(compiled(READER).message())(USERID=5, PHONE=0, MARKS=[1, 2])
    assert payload == frame_id(wanted, b"\x00" + row.SerializeToString())
    assert reserialise(payload) is payload


def test_a_schema_with_a_field_that_no_column_holds_is_refused(registry: FixtureRegistry) -> None:
    entry = '{"type": "object", "properties": {"key": {"type": "number"}, "value": {"type": "integer"}}}'
    entries = f'{{"type": "array", "connect.type": "map", "items": {entry}}}'
    schema = f'{{"type": "object", "properties": {{"id": {{"type": "integer"}}, "next": {entries}}}}}'
    registry.seed(PHANTOM, schema, schema_type="JSON")
    with pytest.raises(UsageError, match=r"no column type can hold its fields \S*next"):
        Reserialiser(RegistryClient(registry.url), PHANTOM)


def test_a_recursive_schema_is_refused(registry: FixtureRegistry) -> None:
    recursive = 'syntax = "proto3"; message Node { int32 id = 1; Node next = 2; }'
    registry.seed(PHANTOM, recursive, schema_type="PROTOBUF")
    with pytest.raises(ColumnError, match="is it recursive"):
        Reserialiser(RegistryClient(registry.url), PHANTOM)

"""Payload → row."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import (
    AvroDeserializer,
    JsonDeserializer,
    JsonSchemaDeserializer,
    KafkaDeserializer,
    SchemaDeserializer,
    WindowedDeserializer,
)
from srfix.serde.errors import (
    ColumnError,
    DecodeError,
    IncompatibleTypeError,
    MalformedHeaderError,
    PayloadTooShortError,
    ResolveError,
    SchemaError,
    SrfixError,
    SubjectVersionError,
    TrailingBytesError,
    TruncatedBodyError,
    UnknownMagicByteError,
    UsageError,
)
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import ById, UnderOneSubject
from srfix.serde.resolve.resolved import ResolvedSchema
from srfix.serde.schemas.models import Schema, SchemaReference
from srfix.serde.subjects.names import Role
from srfix.serde.windowed import Window, WindowedKey, WindowKind
from srfix.serde.wire import frame_guid, frame_id
from tests.serde.avro_schemas import record
from tests.serde.fakes import MemoryRegistry

TEXT = json.dumps(record(id="int", Name="string"))
VALUE = SerdeContext("orders")
KEY = SerdeContext("orders", Role.KEY)
BODY = b"\x0e\x06tea"
GOOD = frame_id(1, BODY)
ROW = {"id": 7, "Name": "tea"}


@pytest.fixture
def registry() -> MemoryRegistry:
    registry = MemoryRegistry()
    registry.seed("orders-value", TEXT)
    return registry


class TestCall:
    def test_a_tombstone_is_none_and_asks_nobody(self, registry: MemoryRegistry) -> None:
        assert AvroDeserializer(ById(registry))(None, VALUE) is None
        assert registry.calls == []

    def test_a_row_is_read_again_and_again_and_the_registry_asked_once(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(ById(registry))
        traced = SerdeContext("orders", headers=[("trace", b"1")])
        assert [read(GOOD, ctx) for ctx in (VALUE, traced, VALUE, traced)] == [ROW] * 4
        assert registry.count("schema_by_id") == 1

    def test_columns_shape_the_row(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(ById(registry), columns=parse_columns("NAME STRING, EXTRA INT"))
        assert [read(GOOD, VALUE) for _ in range(2)] == [{"NAME": "tea", "EXTRA": None}] * 2

    def test_each_topic_and_role_is_put_to_the_policy(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(UnderOneSubject(registry))
        assert read(GOOD, VALUE) == ROW
        with pytest.raises(SubjectVersionError, match=r"'payments-value'"):
            read(GOOD, SerdeContext("payments"))
        with pytest.raises(SubjectVersionError, match=r"'orders-key'"):
            read(GOOD, SerdeContext("orders", Role.KEY))

    @pytest.mark.parametrize(
        ("payload", "kind"),
        [(b"", PayloadTooShortError), (b"\x00\x00", PayloadTooShortError), (b'{"id": 1}', UnknownMagicByteError)],
    )
    def test_what_is_not_framed_says_where(
        self, registry: MemoryRegistry, payload: bytes, kind: type[SrfixError]
    ) -> None:
        with pytest.raises(kind, match=r"^A value of topic 'orders': The payload "):
            AvroDeserializer(ById(registry))(payload, VALUE)
        malformed = SerdeContext("orders", Role.KEY, {"__key_schema_id": b"x"})
        with pytest.raises(MalformedHeaderError, match="A key of topic 'orders': The record header __key_schema_id"):
            AvroDeserializer(ById(registry))(payload, malformed)

    @pytest.mark.parametrize("warm", [True, False])
    @pytest.mark.parametrize(("payload", "kind"), [(GOOD + b"x", TrailingBytesError), (GOOD[:-1], TruncatedBodyError)])
    def test_a_bad_body_names_topic_role_and_schema_id(
        self, registry: MemoryRegistry, payload: bytes, kind: type[SrfixError], warm: bool
    ) -> None:
        read = AvroDeserializer(ById(registry))
        if warm:
            read(GOOD, VALUE)
        with pytest.raises(kind, match=r"^A value of topic 'orders', schema id 1: ") as caught:
            read(payload, VALUE)
        assert vars(caught.value) == {"topic": "orders", "role": Role.VALUE, "schema_id": 1}

    def test_a_type_that_does_not_fit_keeps_its_attributes(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(ById(registry), columns=parse_columns("NAME INT"))
        with pytest.raises(IncompatibleTypeError, match=r"^A value of topic 'orders', schema id 1: ") as caught:
            read(GOOD, VALUE)
        error = caught.value
        assert (error.path, error.writer_type, error.column_type) == ("->NAME", "string", "int32")

    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            (Schema(text="namespace py x", schema_type="THRIFT"), r"schema id 1: .* of the type THRIFT"),
            (Schema(text="not json"), r"schema id 1: The schema text is not JSON"),
        ],
    )
    def test_a_schema_that_is_not_plain_avro_is_refused(
        self, registry: MemoryRegistry, schema: Schema, message: str
    ) -> None:
        registry.schemas[1] = schema
        for kind in (AvroDeserializer, SchemaDeserializer):
            with pytest.raises(SchemaError, match=message):
                kind(ById(registry))(GOOD, VALUE)

    def test_a_field_that_is_neither_key_nor_value_is_a_usage_error(self, registry: MemoryRegistry) -> None:
        context = SerdeContext("orders")
        context.field = "none"
        with pytest.raises(UsageError):
            AvroDeserializer(ById(registry))(GOOD, context)


@pytest.mark.core
class TestHalves:
    """Columns marked as KEY are read from keys, the others from values; a single KEY column stands bare."""

    COLUMNS = parse_columns("ID INT KEY, NAME STRING")

    def test_a_bare_key_is_a_row_and_a_null_in_it_too(self) -> None:
        registry = MemoryRegistry()
        registry.seed("orders-key", '["null","int"]')
        read = AvroDeserializer(ById(registry), columns=self.COLUMNS)
        assert read(frame_id(1, b"\x02\x0e"), KEY) == {"ID": 7}
        assert read(frame_id(1, b"\x00"), KEY) == {"ID": None}
        assert read(None, KEY) is None

    def test_values_have_the_other_columns(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(ById(registry), columns=self.COLUMNS)
        assert read(GOOD, VALUE) == {"NAME": "tea"}
        assert read.columns == self.COLUMNS
        assert [read.columns_of(role) for role in Role] == [parse_columns("ID INT"), parse_columns("NAME STRING")]

    def test_a_key_in_a_record_is_read_where_that_is_said(self, registry: MemoryRegistry) -> None:
        assert AvroDeserializer(ById(registry), columns=self.COLUMNS, wrap=True)(GOOD, KEY) == {"ID": 7}
        with pytest.raises(IncompatibleTypeError):
            AvroDeserializer(ById(registry), columns=self.COLUMNS)(GOOD, KEY)

    @pytest.mark.parametrize("kind", [JsonDeserializer, KafkaDeserializer])
    def test_a_map_in_a_key_is_refused_by_every_format(self, kind: Callable[[Columns], object]) -> None:
        """`GenericKeySerDe`, ksql issue 6621."""
        with pytest.raises(ColumnError, match="Map keys, including types that contain maps, are"):
            kind(parse_columns("M MAP<STRING, INT> KEY"))

    def test_a_half_without_columns_says_so(self, registry: MemoryRegistry) -> None:
        with pytest.raises(ColumnError, match="A value of topic 'orders', schema id 1: All"):
            AvroDeserializer(ById(registry), columns=parse_columns("ID INT KEY"))(GOOD, VALUE)


class TestGuids:
    @pytest.fixture
    def client(self) -> Iterator[RegistryClient]:
        with FixtureRegistry(emulate="8.2") as server, RegistryClient(server.url) as client:
            server.seed("orders-value", TEXT)
            yield client

    @pytest.fixture
    def guid(self, client: RegistryClient) -> UUID:
        return UUID(client.version("orders-value", 1).guid or "")

    def test_in_front_and_in_headers_it_is_resolved_and_asked_for_once(
        self, client: RegistryClient, guid: UUID
    ) -> None:
        asked: list[UUID] = []

        class Counting(UnderOneSubject):
            def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
                asked.append(guid)
                return super().resolve_guid(guid, topic=topic, role=role)

        read = AvroDeserializer(Counting(client))
        name = "__value_schema_id"
        for _ in range(2):
            assert read(frame_guid(guid, BODY), VALUE) == ROW
            assert read(BODY, SerdeContext("orders", headers=[("trace", b"1"), (name, frame_guid(guid))])) == ROW
            assert read(BODY, SerdeContext("orders", headers={name: frame_guid(guid)})) == ROW
        assert asked == [guid]

    def test_the_header_wins_over_the_payload(self, client: RegistryClient, guid: UUID) -> None:
        read = AvroDeserializer(ById(client))
        assert read(GOOD, VALUE) == ROW
        headers = {"__value_schema_id": frame_guid(guid)}
        with pytest.raises(SrfixError, match=rf"^A value of topic 'orders', schema GUID {guid}: "):
            read(GOOD, SerdeContext("orders", headers=headers))
        assert read(GOOD, SerdeContext("orders", Role.KEY, headers)) == ROW

    def test_a_bad_body_names_the_guid(self, client: RegistryClient, guid: UUID) -> None:
        with pytest.raises(TrailingBytesError, match=rf"^A value of topic 'orders', schema GUID {guid}: ") as caught:
            AvroDeserializer(ById(client))(frame_guid(guid, BODY + b"x"), VALUE)
        assert vars(caught.value) == {"topic": "orders", "role": Role.VALUE, "schema_id": None, "guid": guid}

    def test_guids_that_begin_alike_are_kept_apart(self, client: RegistryClient, guid: UUID) -> None:
        read, other = AvroDeserializer(ById(client)), UUID(bytes=guid.bytes[:8] + bytes(8))
        assert read(frame_guid(guid, BODY), VALUE) == ROW
        with pytest.raises(ResolveError, match=rf"^The registry does not know schema GUID {other}"):
            read(frame_guid(other, BODY), VALUE)


class TestSchemaDeserializer:
    def test_each_payload_is_read_by_the_serde_of_its_schema(self, registry: MemoryRegistry) -> None:
        schema_id = registry.seed(
            "orders-value", '{"type":"object","properties":{"Name":{"type":"string"}}}', schema_type="JSON"
        )
        json_payload = frame_id(schema_id, b'{"Name":"tea"}')
        read = SchemaDeserializer(ById(registry), columns=parse_columns("NAME STRING"))
        assert [read(payload, VALUE) for payload in (GOOD, json_payload, GOOD)] == [{"NAME": "tea"}] * 3
        assert SchemaDeserializer(ById(registry))(json_payload, VALUE) == {"Name": "tea"}


class TestJsonSchemaDeserializer:
    TEXT = '{"type":"object","properties":{"id":{"type":"integer"},"Name":{"type":"string"}}}'

    @pytest.fixture
    def registry(self) -> MemoryRegistry:
        registry = MemoryRegistry()
        registry.seed("orders-value", self.TEXT, schema_type="JSON")
        return registry

    def test_documents_and_rows(self, registry: MemoryRegistry) -> None:
        payload = frame_id(1, b'{"id": 7, "Name": "tea"}')
        assert JsonSchemaDeserializer(ById(registry))(payload, VALUE) == ROW
        read = JsonSchemaDeserializer(UnderOneSubject(registry), columns=parse_columns("NAME STRING, ID BIGINT, X INT"))
        assert read(payload, VALUE) == {"NAME": "tea", "ID": 7, "X": None}

    def test_what_it_refers_to_goes_by_its_name(self) -> None:
        registry = MemoryRegistry()
        registry.seed("name", '{"type":"string"}', schema_type="JSON")
        registry.seed("size", '{"type":"integer"}', schema_type="JSON")
        registry.schemas[3] = Schema(
            text='{"type":"object","properties":{"name":{"$ref":"name.json"},"size":{"$ref":"size.json"}}}',
            schema_type="JSON",
            references=(
                SchemaReference(name="size.json", subject="size", version=1),
                SchemaReference(name="name.json", subject="name", version=1),
            ),
        )
        read = JsonSchemaDeserializer(
            ById(registry), columns=parse_columns("NAME STRING, `SIZE` BIGINT"), validate=True
        )
        assert read(frame_id(3, b'{"name":"tea","size":7}'), VALUE) == {"NAME": "tea", "SIZE": 7}

    def test_another_type_is_refused(self, registry: MemoryRegistry) -> None:
        registry.seed("orders-value", TEXT)
        with pytest.raises(SchemaError, match="schema id 2: The schema is of the type AVRO, not"):
            JsonSchemaDeserializer(ById(registry))(frame_id(2, BODY), VALUE)

    def test_a_body_is_checked_where_that_is_asked_for(self, registry: MemoryRegistry) -> None:
        payload = frame_id(1, b'{"id": "x", "Name": "tea"}')
        assert JsonSchemaDeserializer(ById(registry))(payload, VALUE) == {"id": "x", "Name": "tea"}
        for kind in (JsonSchemaDeserializer, SchemaDeserializer):
            read = kind(ById(registry), validate=True)
            for again in (read, pickle.loads(pickle.dumps(read))):
                with pytest.raises(DecodeError, match="A value of topic 'orders', schema id 1: The body") as caught:
                    again(payload, VALUE)
                assert vars(caught.value)["path"] == "$.id"
                assert again(frame_id(1, b'{"id": 7}'), VALUE) == {"id": 7}


class TestWindowedDeserializer:
    """Kafka's `TimeWindowedDeserializer` and `SessionWindowedDeserializer` around any format of keys."""

    COLUMNS = parse_columns("ID INT KEY")
    TIME = WindowedDeserializer(KafkaDeserializer(COLUMNS), WindowKind.TIME, size_ms=10)

    def test_the_key_and_its_window(self) -> None:
        key = b"\0\0\0\x07" + b"\0\0\0\0\0\0\0\1"
        assert self.TIME(key, KEY) == WindowedKey({"ID": 7}, Window(1, 11))
        session = WindowedDeserializer(KafkaDeserializer(self.COLUMNS), WindowKind.SESSION)
        assert session(b"\0\0\0\x07" + bytes(7) + b"\2" + bytes(7) + b"\1", KEY) == WindowedKey({"ID": 7}, Window(1, 2))
        assert pickle.loads(pickle.dumps(self.TIME))(key, KEY) == self.TIME(key, KEY)

    def test_around_a_framed_key(self) -> None:
        registry = MemoryRegistry()
        registry.seed("orders-key", '"int"')
        read = WindowedDeserializer(AvroDeserializer(UnderOneSubject(registry), columns=self.COLUMNS), WindowKind.TIME)
        assert read(frame_id(1, b"\x0e" + bytes(8)), KEY) == WindowedKey({"ID": 7}, Window(0))

    @pytest.mark.parametrize("payload", [None, b""])
    def test_nothing_is_a_null_key(self, payload: bytes | None) -> None:
        assert self.TIME(payload, KEY) is None

    @pytest.mark.parametrize("payload", [b"\0", bytes(7), bytes(4) + b"\xff" * 8, b"x" + bytes(8)])
    def test_what_is_none_says_where(self, payload: bytes) -> None:
        with pytest.raises(DecodeError, match=r"^A key of topic 'orders': "):
            self.TIME(payload, KEY)

    def test_a_size_must_be_one_and_be_missing(self) -> None:
        inner = KafkaDeserializer(self.COLUMNS)
        with pytest.raises(UsageError, match=r"^A window cannot have a size of 0 ms"):
            WindowedDeserializer(inner, WindowKind.TIME, size_ms=0)
        with pytest.raises(UsageError, match=r"^Sessions have no size: their end is in the bytes"):
            WindowedDeserializer(inner, WindowKind.SESSION, size_ms=1)


class TestWithoutSchemas:
    def test_json(self) -> None:
        assert JsonDeserializer()(b'{"a":[1,null]}', VALUE) == {"a": [1, None]}
        read = JsonDeserializer(parse_columns("ID INT KEY, NAME STRING"))
        assert read(b'{"name":"tea","x":1}', VALUE) == {"NAME": "tea"}
        assert read(b"7", KEY) == {"ID": 7}
        assert read(b"null", KEY) == {"ID": None}
        assert read(None, KEY) is None

    def test_a_payload_that_is_none_of_theirs_says_where(self) -> None:
        for read, payload in ((JsonDeserializer(), b"{"), (KafkaDeserializer(parse_columns("ID INT")), b"1")):
            with pytest.raises(DecodeError, match=r"^A value of topic 'orders': ") as caught:
                read(payload, VALUE)
            assert vars(caught.value)["role"] is Role.VALUE

    def test_a_half_without_columns_says_where(self) -> None:
        with pytest.raises(ColumnError, match=r"^A value of topic 'orders': All columns are marked as KEY"):
            JsonDeserializer(parse_columns("ID INT KEY"))(b"{}", VALUE)

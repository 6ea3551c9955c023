"""Protobuf through the front door: over a registry, with its policies, in batches and to Arrow."""

from __future__ import annotations

import pickle
from typing import ClassVar

import pyarrow as pa
import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import (
    AvroSerializer,
    BadRow,
    ById,
    ChangelogSubject,
    ColumnError,
    DecodeError,
    DualSubject,
    EncodeError,
    JsonSchemaSerializer,
    JsonSerializer,
    ProtobufDeserializer,
    ProtobufNoSrDeserializer,
    ProtobufNoSrSerializer,
    ProtobufSerializer,
    Reason,
    RegistryClient,
    Role,
    Schema,
    SchemaDeserializer,
    SchemaError,
    SchemaReference,
    SerdeContext,
    SubjectVersionError,
    TopicSubject,
    UnderOneSubject,
    UsageError,
    deserialize_many,
    parse_columns,
)
from srfix.serde.arrow.decode import to_arrow
from srfix.serde.arrow.encode import from_arrow
from srfix.serde.resolve.resolved import SecondAnswered
from srfix.serde.wire import frame_id
from tests.serde.fakes import MemoryRegistry
from tests.serde.formats.protobuf.runtime import P3

VALUE, KEY = SerdeContext("orders"), SerdeContext("orders", Role.KEY)
COLUMNS = parse_columns("ID BIGINT, NAME STRING, PRICE DECIMAL(6, 2), SEEN TIMESTAMP, TAGS ARRAY<STRING>")
TEXT = 'syntax = "proto3";\n\nmessage M {\n  int64 id = 1;\n  string Name = 2;\n}\n'
TWO = 'syntax = "proto3";\n\nmessage M {\n  int64 id = 1;\n}\nmessage N {\n  int64 total = 1;\n}\n'


def _payload(client: RegistryClient, subject: str, body: bytes, text: str = TEXT) -> bytes:
    schema_id = client.register(subject, Schema(text=text, schema_type="PROTOBUF"))
    return b"\0" + schema_id.to_bytes(4, "big") + body


class TestSerializer:
    def test_columns_are_registered_as_ksqldb_registers_them(self, client: RegistryClient) -> None:
        write = ProtobufSerializer(client, parse_columns("ID BIGINT, NAME STRING"))
        payload = write({"ID": 7, "NAME": "x"}, VALUE)
        assert payload is not None
        assert payload[5:] == bytes.fromhex("00 0807 120178")
        version = client.version("orders-value", "latest")
        assert (version.schema.schema_type, version.schema.text) == (
            "PROTOBUF",
            'syntax = "proto3";\n\nmessage ConnectDefault1 {\n  int64 ID = 1;\n  string NAME = 2;\n}\n',
        )

    def test_a_row_comes_back(self, client: RegistryClient) -> None:
        write = ProtobufSerializer(client, COLUMNS, nullable_representation="optional")
        read = ProtobufDeserializer(ById(client), columns=COLUMNS)
        row = {"ID": None, "NAME": "", "PRICE": None, "SEEN": None, "TAGS": ["a"]}
        assert read(write(row, VALUE), VALUE) == row
        assert write(None, VALUE) is None
        assert read(None, VALUE) is None

    def test_a_single_column_of_a_key_stands_in_a_message(self, client: RegistryClient) -> None:
        """`ProtobufFormat` knows no UNWRAP_SINGLES."""
        columns = parse_columns("K INT KEY, V INT")
        payload = ProtobufSerializer(client, columns)({"K": 7}, KEY)
        assert payload is not None
        assert payload[5:] == b"\0\x08\7"
        assert ProtobufDeserializer(ById(client), columns=columns)(payload, KEY) == {"K": 7}
        assert "message ConnectDefault1 {\n  int32 K = 1;" in client.version("orders-key", "latest").schema.text

    def test_dicts_are_written_under_a_given_schema(self, client: RegistryClient) -> None:
        write = ProtobufSerializer.for_schema(client, TEXT)
        payload = write({"id": 7, "Name": "x"}, VALUE)
        assert ProtobufDeserializer(ById(client))(payload, VALUE) == {"id": 7, "Name": "x"}
        with pytest.raises(EncodeError, match="orders"):
            write({"nope": 1}, VALUE)

    def test_rows_are_written_under_a_schema_that_exists(self, client: RegistryClient) -> None:
        schema_id = client.register("orders-value", Schema(text=TEXT, schema_type="PROTOBUF"))
        columns = parse_columns("`id` BIGINT")
        for write in (
            ProtobufSerializer(client, columns, schema_id=schema_id),
            ProtobufSerializer(client, columns, version="latest"),
        ):
            payload = write({"id": 7}, VALUE)
            assert payload is not None
            assert (payload[1:5], payload[5:]) == (schema_id.to_bytes(4, "big"), b"\0\x08\7")
        with pytest.raises(SchemaError, match="no field for the columns 'ID'"):
            ProtobufSerializer(client, parse_columns("ID BIGINT"), schema_id=schema_id)({"ID": 7}, VALUE)

    @pytest.mark.parametrize("word", ["plain", "OPTIONAL", 1])
    def test_a_representation_is_one_of_two(self, client: RegistryClient, word: object) -> None:
        with pytest.raises(UsageError, match=r"^nullable_representation is 'optional', 'wrapper' or None, not "):
            ProtobufSerializer(client, COLUMNS, nullable_representation=word)  # type: ignore[arg-type]

    def test_it_is_protobufs_alone(self) -> None:
        with pytest.raises(UsageError, match=r"^nullable_representation is only for Protobuf under the columns' own"):
            JsonSerializer(COLUMNS, nullable_representation="optional")

    def test_copies_do_the_same(self, client: RegistryClient, registry: FixtureRegistry) -> None:
        columns = parse_columns("ID BIGINT, NAME STRING")
        write = pickle.loads(pickle.dumps(ProtobufSerializer(client, columns, nullable_representation="wrapper")))
        read = pickle.loads(pickle.dumps(ProtobufDeserializer(ById(client), columns=columns)))
        assert read(write({"ID": 0, "NAME": None}, VALUE), VALUE) == {"ID": 0, "NAME": None}
        bare = pickle.loads(pickle.dumps(ProtobufNoSrSerializer(columns, nullable_representation="optional")))
        back = pickle.loads(pickle.dumps(ProtobufNoSrDeserializer(columns, nullable_representation="optional")))
        assert back(bare({"ID": 0, "NAME": None}, VALUE), VALUE) == {"ID": 0, "NAME": None}


class TestNoSr:
    def test_a_row_comes_back_without_a_registry(self) -> None:
        columns = parse_columns("K INT KEY, ID BIGINT, NAME STRING")
        write, read = ProtobufNoSrSerializer(columns), ProtobufNoSrDeserializer(columns)
        assert write({"K": 7}, KEY) == b"\x08\7"
        assert read(write({"K": 7}, KEY), KEY) == {"K": 7}
        assert read(write({"ID": 7, "NAME": "x"}, VALUE), VALUE) == {"ID": 7, "NAME": "x"}
        assert read(b"", VALUE) == {"ID": 0, "NAME": ""}

    def test_what_it_cannot_hold_is_said_at_once(self) -> None:
        with pytest.raises(ColumnError, match="Array cannot be nested"):
            ProtobufNoSrSerializer(parse_columns("A ARRAY<ARRAY<INT>>"))
        with pytest.raises(ColumnError, match="STRING keys"):
            ProtobufNoSrDeserializer(parse_columns("A MAP<INT, INT>"))


class TestDeserializer:
    def test_it_reads_references(self, client: RegistryClient) -> None:
        client.register("o", Schema(text=f"{P3}package o; message O {{ int32 x = 1; }}", schema_type="PROTOBUF"))
        reference = SchemaReference(name="some/o.proto", subject="o", version=1)
        text = f'{P3}import "some/o.proto"; message M {{ o.O a = 1; }}'
        schema = Schema(text=text, schema_type="PROTOBUF", references=(reference,))
        schema_id = client.register("orders-value", schema)
        payload = b"\0" + schema_id.to_bytes(4, "big") + b"\0\x0a\2\x08\7"
        read = ProtobufDeserializer(ById(client), columns=parse_columns("A STRUCT<X INT>"))
        assert read(payload, VALUE) == {"A": {"X": 7}}
        columns = parse_columns("`a` STRUCT<`x` INT>")
        assert ProtobufSerializer(client, columns, schema_id=schema_id)({"a": {"x": 7}}, VALUE) == payload

    def test_the_indexes_say_which_message(self, client: RegistryClient) -> None:
        read = ProtobufDeserializer(ById(client))
        assert read(_payload(client, "orders-value", b"\2\2\x08\7", TWO), VALUE) == {"total": 7}
        with pytest.raises(
            DecodeError, match=r"^A value of topic 'orders', .*: The payload's message indexes \[2\] name no"
        ):
            read(_payload(client, "orders-value", b"\2\4\x08\7", TWO), VALUE)

    def test_one_topic_may_hold_all_three(self, client: RegistryClient) -> None:
        columns = parse_columns("ID BIGINT, NAME STRING")
        read, row = SchemaDeserializer(ById(client), columns=columns), {"ID": 7, "NAME": "x"}
        topics = [SerdeContext(name) for name in ("a", "b", "c")]
        writers = (AvroSerializer, JsonSchemaSerializer, ProtobufSerializer)
        payloads = [write(client, columns)(row, ctx) for write, ctx in zip(writers, topics, strict=True)]
        assert [read(payload, VALUE) for payload in payloads * 2] == [row] * 6
        assert len({payload[5:] for payload in payloads if payload}) == 3


class TestPolicies:
    """The incident: a reader that asks for the version under the changelog's subject (KAFKA-10179)."""

    PHANTOM = ChangelogSubject(application="app", store="store")

    def test_under_the_phantom_the_row_cannot_be_read_and_the_second_subject_has_it(
        self, client: RegistryClient
    ) -> None:
        payload = _payload(client, "orders-value", b"\0\x08\7\x12\1x")
        with pytest.raises(SubjectVersionError):
            ProtobufDeserializer(UnderOneSubject(client, self.PHANTOM))(payload, VALUE)
        told: list[SecondAnswered] = []
        dual = DualSubject(
            client, first=self.PHANTOM, second=TopicSubject(), on_second=told.append, register_missing=True
        )
        read = ProtobufDeserializer(dual, columns=parse_columns("ID BIGINT, NAME STRING"))
        assert [read(payload, VALUE) for _ in range(2)] == [{"ID": 7, "NAME": "x"}] * 2
        assert [(each.first_error.error_code, each.registered_id) for each in told] == [(40401, 1)]
        assert client.version("app-store-changelog-value", "latest").schema.text == TEXT
        assert ProtobufDeserializer(UnderOneSubject(client, self.PHANTOM))(payload, VALUE) == {"id": 7, "Name": "x"}


class TestBatches:
    def _payloads(self, client: RegistryClient) -> list[bytes | None]:
        good = _payload(client, "orders-value", b"\0\x08\7\x12\1x")
        head = good[:5]
        return [
            good,
            head + b"\0\x08",
            None,
            head + b"\2\2\x08\7",  # indexes of no message
            head,
            head + b"\0\x12\1\xff",
            b"\0\0\0\0\x63\0",
            b"{}",
            good,
        ]

    _REASONS = (
        None, Reason.DECODE_FAILED, Reason.TOMBSTONE, Reason.DECODE_FAILED, Reason.TRUNCATED, Reason.DECODE_FAILED,
        Reason.UNKNOWN_ID, Reason.BAD_MAGIC, None,
    )  # fmt: skip
    _ROW: ClassVar = {"ID": 7, "NAME": "x"}

    def test_one_payload_that_no_reader_can_read_disturbs_no_other_of_its_schema(self, client: RegistryClient) -> None:
        """As a SchemaError, a scale in a payload, or indexes of an odd message, refused all that came behind."""
        text = (
            f'{P3}import "confluent/type/decimal.proto"; message M {{ confluent.type.Decimal a = 1; }} '
            "message N { int32 o_0 = 1; oneof o { int32 x = 2; int32 y = 3; } }"
        )
        good = _payload(client, "orders-value", b"\0\x0a\3\x0a\1\7", text)
        payloads = [good[:5] + b"\0\x0a\x09\x0a\1\1\x18\xff\xff\xff\xff\7", good, good[:5] + b"\2\2\x08\7", good]
        read = ProtobufDeserializer(ById(client), columns=parse_columns("A DECIMAL(6, 0)"))
        rows = list(deserialize_many(payloads, VALUE, read, on_error="quarantine"))
        assert [row.reason if isinstance(row, BadRow) else None for row in rows] == [
            Reason.DECODE_FAILED, None, Reason.DECODE_FAILED, None,
        ]  # fmt: skip

    def test_a_broken_schema_refuses_its_payloads_alone(self) -> None:
        registry = MemoryRegistry()
        broken = registry.seed("orders-value", "message M { Nope a = 1; }", schema_type="PROTOBUF")
        good = registry.seed("orders-value", TEXT, schema_type="PROTOBUF")
        payloads = [frame_id(schema_id, b"\0\x08\7") for schema_id in (broken, good, broken, good)]
        rows = list(deserialize_many(payloads, VALUE, ProtobufDeserializer(ById(registry)), on_error="quarantine"))
        bad = Reason.BAD_SCHEMA
        assert [row.reason if isinstance(row, BadRow) else None for row in rows] == [bad, None, bad, None]

    def test_rows_become_arrow_and_come_back(self, client: RegistryClient) -> None:
        columns = parse_columns("ID BIGINT, NAME STRING")
        read = ProtobufDeserializer(ById(client), columns=columns)
        batch = to_arrow(self._payloads(client), VALUE, read, on_error="quarantine")
        assert batch.column("_srfix_reason").to_pylist() == [
            None if reason is None else reason.value for reason in self._REASONS
        ]
        assert batch.column("ID").to_pylist() == [7, *[None] * 7, 7]
        good = to_arrow([self._payloads(client)[0]] * 2, VALUE, read)
        assert good.to_pylist() == [self._ROW] * 2
        written = from_arrow(good, ProtobufSerializer(client, columns), SerdeContext("written"))
        assert isinstance(written, pa.Array | pa.ChunkedArray)
        assert to_arrow(written, VALUE, read).to_pylist() == [self._ROW] * 2

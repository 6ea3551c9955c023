"""Payload → row."""

from __future__ import annotations

import json
import pickle
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.casing import CaseRule
from srfix.serde.columns import parse_columns
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import (
    AmbiguousFieldError,
    ColumnError,
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
from srfix.serde.registry.models import Schema
from srfix.serde.resolve import ById, UnderOneSubject
from srfix.serde.subjects import Role
from srfix.serde.wire import frame_guid, frame_id
from tests.serde.fakes import MemoryRegistry

TEXT = json.dumps(
    {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}, {"name": "Name", "type": "string"}]}
)
VALUE = SerdeContext("orders")
GUID = UUID("6a8e3a4b-1d3c-4d64-9c0b-0a0a4f7c1f10")
GOOD = frame_id(1, b"\x0e\x06tea")
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
        assert [read(GOOD, VALUE) for _ in range(3)] == [ROW] * 3
        assert registry.count("schema_by_id") == 1

    def test_columns_shape_the_row(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(ById(registry), columns=parse_columns("NAME STRING, EXTRA INT"))
        assert [read(GOOD, VALUE) for _ in range(2)] == [{"NAME": "tea", "EXTRA": None}] * 2

    def test_the_exact_rule_can_be_asked_for(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(ById(registry), columns=parse_columns("NAME STRING"), case_rule=CaseRule.EXACT)
        assert read(GOOD, VALUE) == {"NAME": None}

    def test_each_topic_and_role_is_put_to_the_policy(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(UnderOneSubject(registry))
        assert read(GOOD, VALUE) == ROW
        with pytest.raises(SubjectVersionError, match=r"'payments-value'"):
            read(GOOD, SerdeContext("payments"))
        with pytest.raises(SubjectVersionError, match=r"'orders-key'"):
            read(GOOD, SerdeContext("orders", Role.KEY))

    def test_the_same_reader_reads_right_after_the_repair(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(UnderOneSubject(registry))
        with pytest.raises(SubjectVersionError):
            read(GOOD, SerdeContext("payments"))
        registry.seed("payments-value", TEXT)
        assert read(GOOD, SerdeContext("payments")) == ROW

    def test_headers_that_say_nothing_about_schemas_change_nothing(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(ById(registry))
        for _ in range(2):
            assert read(GOOD, SerdeContext("orders", headers=[("trace", b"1")])) == ROW
        assert registry.count("schema_by_id") == 1

    @pytest.mark.parametrize(
        ("payload", "kind"),
        [(b"", PayloadTooShortError), (b"\x00\x00", PayloadTooShortError), (b'{"id": 1}', UnknownMagicByteError)],
    )
    def test_what_is_not_framed_says_where(
        self, registry: MemoryRegistry, payload: bytes, kind: type[SrfixError]
    ) -> None:
        with pytest.raises(kind, match=r"^A value of topic 'orders': The payload "):
            AvroDeserializer(ById(registry))(payload, VALUE)

    def test_a_malformed_header_says_where(self, registry: MemoryRegistry) -> None:
        with pytest.raises(MalformedHeaderError, match=r"^A key of topic 'orders': The record header __key_schema_id"):
            AvroDeserializer(ById(registry))(GOOD, SerdeContext("orders", Role.KEY, {"__key_schema_id": b"x"}))

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

    def test_fields_that_differ_by_case_say_where(self, registry: MemoryRegistry) -> None:
        fields = [{"name": "foo", "type": "int"}, {"name": "Foo", "type": "int"}]
        schema_id = registry.seed("orders-value", json.dumps({"type": "record", "name": "C", "fields": fields}))
        read = AvroDeserializer(ById(registry), columns=parse_columns("FOO INT"))
        with pytest.raises(
            AmbiguousFieldError, match=rf"^A value of topic 'orders', schema id {schema_id}: Column 'FOO'"
        ):
            read(frame_id(schema_id, b"\x02\x02"), VALUE)

    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            (
                Schema(text="syntax = 'proto3';", schema_type="PROTOBUF"),
                r"schema id 1: The schema is of the type PROTOBUF",
            ),
            (Schema(text="not json"), r"schema id 1: The schema text is not JSON"),
        ],
    )
    def test_a_schema_that_is_not_plain_avro_is_refused(
        self, registry: MemoryRegistry, schema: Schema, message: str
    ) -> None:
        registry.schemas[1] = schema
        with pytest.raises(SchemaError, match=message):
            AvroDeserializer(ById(registry))(GOOD, VALUE)

    def test_a_field_that_is_neither_key_nor_value_is_a_usage_error(self, registry: MemoryRegistry) -> None:
        context = SerdeContext("orders")
        context.field = "none"
        with pytest.raises(UsageError):
            AvroDeserializer(ById(registry))(GOOD, context)

    @given(st.binary(max_size=30) | st.binary(max_size=20).map(lambda body: frame_id(1, body)))
    def test_any_bytes_are_a_row_or_one_of_our_errors(self, payload: bytes) -> None:
        registry = MemoryRegistry()
        registry.seed("orders-value", TEXT)
        try:
            row = AvroDeserializer(UnderOneSubject(registry))(payload, VALUE)
        except SrfixError:
            return
        assert isinstance(row, dict)


class TestConstruction:
    def test_unusable_columns_are_refused_at_once(self, registry: MemoryRegistry) -> None:
        with pytest.raises(ColumnError):
            AvroDeserializer(ById(registry), columns=())

    def test_it_travels_to_another_process(self, registry: MemoryRegistry) -> None:
        read = AvroDeserializer(ById(registry), columns=parse_columns("NAME STRING"), case_rule=CaseRule.UNIQUE)
        assert read(GOOD, VALUE) == {"NAME": "tea"}
        assert pickle.loads(pickle.dumps(read))(GOOD, VALUE) == {"NAME": "tea"}

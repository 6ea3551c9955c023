"""Row → payload."""

from __future__ import annotations

import datetime
import json
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from uuid import UUID

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Columns
from srfix.serde.connect.generations import Generation
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import (
    ColumnError,
    EncodeError,
    ResolveError,
    SchemaError,
    SrfixError,
    SubjectVersionError,
    UsageError,
)
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.interface import SerdeContext, Serializer
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import ById, UnderOneSubject
from srfix.serde.schemas.errors import IncompatibleSchemaError
from srfix.serde.schemas.models import Schema, SchemaReference
from srfix.serde.serializer import (
    AvroSerializer,
    JsonSchemaSerializer,
    JsonSerializer,
    KafkaSerializer,
    WindowedSerializer,
)
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role
from srfix.serde.subjects.strategies import (
    FixedSubject,
    RecordSubject,
    TopicRecordSubject,
)
from srfix.serde.windowed import Window, WindowedKey, WindowKind
from srfix.serde.wire import Framing, frame_guid, frame_id
from tests.serde.fakes import URL, MemoryRegistry

EMULATE = "8.2"
COLUMNS = parse_columns("ID BIGINT, NAME STRING")
TEXT = '{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}'
VALUE = SerdeContext("orders")
KEY = SerdeContext("orders", Role.KEY)
HALVES = parse_columns("ID BIGINT KEY, NAME STRING, QUANTITY INT")


@pytest.mark.core
class TestCall:
    def test_none_is_a_tombstone_and_registers_nothing(self) -> None:
        registry = MemoryRegistry()
        assert AvroSerializer(registry, COLUMNS)(None, VALUE) is None
        assert registry.calls == []

    def test_a_row_is_framed_with_the_registered_id_and_read_back(self) -> None:
        registry = MemoryRegistry()
        registry.seed("other-value", TEXT)
        payload = AvroSerializer(registry, COLUMNS)({"id": 7}, VALUE)
        assert payload == b"\x00\x00\x00\x00\x02\x02\x0e\x00"
        with pytest.raises(EncodeError, match="id feeds no column or field"):
            AvroSerializer(registry, COLUMNS, case_rule=CaseRule.EXACT)({"id": 7}, VALUE)
        assert registry.schemas[2].text == internal_schema(WriteSpec(columns=COLUMNS))
        assert AvroDeserializer(UnderOneSubject(registry), columns=COLUMNS)(payload, VALUE) == {"ID": 7, "NAME": None}

    def test_the_schema_is_registered_once_for_each_subject(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer(registry, COLUMNS)
        for context in (VALUE, SerdeContext("payments"), KEY, VALUE):
            write({"ID": 1}, context)
        assert registry.calls == [("register", f"{half}") for half in ("orders-value", "payments-value", "orders-key")]

    def test_a_read_never_stands_in_for_the_registration(self) -> None:
        registry = MemoryRegistry()
        registry.seed("orders-value", internal_schema(WriteSpec(columns=COLUMNS)))
        AvroDeserializer(ById(registry))(b"\x00\x00\x00\x00\x01\x00\x00", VALUE)
        AvroSerializer(registry, COLUMNS)({"ID": 1}, VALUE)
        assert registry.count("register") == 1

    def test_a_row_that_does_not_fit_registers_nothing(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer(registry, COLUMNS)
        for _ in range(2):
            with pytest.raises(EncodeError, match="A value for topic 'orders': 1 field does not fit: ID") as caught:
                write({"ID": "x"}, VALUE)
            assert caught.value.paths == ("->ID",)
        assert registry.calls == []

    def test_a_refused_registration_is_raised_and_tried_again_with_the_next_row(self) -> None:
        registry = MemoryRegistry()
        registry.failures["register"] = IncompatibleSchemaError(409, 409, "incompatible", URL)
        write = AvroSerializer(registry, COLUMNS)
        with pytest.raises(IncompatibleSchemaError):
            write({"ID": 1}, VALUE)
        registry.failures.clear()
        assert write({"ID": 1}, VALUE) is not None
        assert registry.count("register") == 2

    def test_many_threads_register_once(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer(registry, COLUMNS)
        start = threading.Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            payloads = list(pool.map(lambda _: (start.wait(), write({"ID": 1}, VALUE))[1], range(8)))
        assert registry.count("register") == 1
        assert len(set(payloads)) == 1


class TestForSchema:
    def test_rows_are_written_under_exactly_that_text(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer.for_schema(registry, TEXT)
        assert write({"id": 7}, VALUE) == b"\x00\x00\x00\x00\x01\x0e"
        assert (registry.schemas[1].text, write.schema.text) == (TEXT, TEXT)

    def test_names_are_exact(self) -> None:
        with pytest.raises(EncodeError, match="ID feeds no column or field; id is"):
            AvroSerializer.for_schema(MemoryRegistry(), TEXT)({"ID": 7}, VALUE)

    def test_a_schema_with_references_asks_for_them_with_the_first_row(self) -> None:
        registry = MemoryRegistry()
        registry.seed("r", TEXT)
        outer = Schema(
            text='{"type":"record","name":"O","fields":[{"name":"r","type":"R"}]}',
            references=(SchemaReference(name="R", subject="r", version=1),),
        )
        write = AvroSerializer.for_schema(registry, outer)
        assert registry.calls == []
        assert write({"r": {"id": 7}}, VALUE) == frame_id(2, b"\x0e")
        assert registry.calls == [("version", "r", "1"), ("register", "orders-value")]

    def test_a_reference_that_is_not_there_says_so(self) -> None:
        outer = Schema(text='"R"', references=(SchemaReference(name="R", subject="r", version=1),))
        with pytest.raises(ResolveError, match="The schema to write under refers to a schema"):
            AvroSerializer.for_schema(MemoryRegistry(), outer)({"id": 7}, VALUE)


class TestHalves:
    """Columns marked as KEY make the keys; a single KEY column stands bare (`SerdeFeaturesFactory.buildKeyFeatures`)."""

    def test_keys_have_the_key_columns_and_values_the_others(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer(registry, HALVES)
        assert write({"ID": 7}, KEY) == frame_id(1, b"\x0e")
        assert registry.schemas[1].text == '"long"'
        assert write({"NAME": "tea", "QUANTITY": None}, VALUE) == frame_id(2, b"\x02\x06tea\x00")
        assert [field["name"] for field in json.loads(registry.schemas[2].text)["fields"]] == ["NAME", "QUANTITY"]
        assert (write.schema_of(Role.KEY).text, write.schema) == ('"long"', registry.schemas[2])

    @pytest.mark.parametrize(
        ("columns", "ctx", "wrap", "bare"),
        [
            ("A INT", KEY, None, True),
            ("A INT", VALUE, None, False),
            ("A INT", VALUE, False, True),
            ("A INT KEY", KEY, True, False),
        ],
    )
    def test_what_stands_bare(self, columns: str, ctx: SerdeContext, wrap: bool | None, bare: bool) -> None:
        payload = AvroSerializer(MemoryRegistry(), parse_columns(columns), wrap=wrap)({"A": 7}, ctx)
        assert payload == frame_id(1, b"\x0e" if bare else b"\x02\x0e")

    def test_a_bare_null_is_a_null_payload_and_registers_nothing(self) -> None:
        """`UnwrappedSerializer` hands the null to serializers that give null for null."""
        registry = MemoryRegistry()
        write = AvroSerializer(registry, HALVES)
        for row in ({"ID": None}, {"id": None}, {}):
            assert write(row, KEY) is None
        assert registry.calls == []
        assert write({"ID": 1}, KEY) is not None
        assert write({"ID": None}, KEY) is None

    @pytest.mark.parametrize("columns", ["A INT, B INT", "A INT KEY, B INT KEY, C INT KEY"])
    def test_several_columns_cannot_stand_bare(self, columns: str) -> None:
        for make in (lambda given: AvroSerializer(MemoryRegistry(), given, wrap=False), KafkaSerializer):
            with pytest.raises(ColumnError, match="Only a single column can be un-wrapped, but"):
                make(parse_columns(columns))({"A": 1}, KEY)


class TestSubjects:
    def test_a_records_name_is_that_of_the_schema_that_is_written(self) -> None:
        registry = MemoryRegistry()
        AvroSerializer(registry, COLUMNS, subjects=RecordSubject(), full_name="com.example.Order")({"ID": 1}, VALUE)
        AvroSerializer.for_schema(registry, TEXT, subjects=TopicRecordSubject())({"id": 1}, VALUE)
        assert [call for call in registry.calls if call[0] == "register"] == [
            ("register", "com.example.Order"),
            ("register", "orders-R"),
        ]

    def test_a_schema_without_a_record_is_refused(self) -> None:
        with pytest.raises(UsageError, match="RecordSubject builds the subject from a record's"):
            AvroSerializer(MemoryRegistry(), HALVES, subjects=RecordSubject())({"ID": 1}, KEY)


class TestFraming:
    """Confluent's `PrefixSchemaIdSerializer` and `HeaderSchemaIdSerializer`."""

    @staticmethod
    def _guid(client: RegistryClient) -> UUID:
        guid = client.version("orders-value", 1).guid
        assert guid is not None
        return UUID(guid)

    def test_a_guid_in_front(self, client: RegistryClient) -> None:
        payload = AvroSerializer.for_schema(client, TEXT, schema_id_framing=Framing.PREFIX_GUID)({"id": 7}, VALUE)
        assert payload == frame_guid(self._guid(client), b"\x0e")
        of_version = AvroSerializer(client, version=1, schema_id_framing=Framing.PREFIX_GUID)
        assert of_version({"id": 7}, VALUE) == payload

    @pytest.mark.parametrize("kind", [list, dict])
    def test_a_guid_in_a_header(
        self, client: RegistryClient, kind: type[list[tuple[str, bytes]]] | type[dict[str, bytes]]
    ) -> None:
        write = AvroSerializer.for_schema(client, TEXT, schema_id_framing=Framing.HEADER_GUID)
        for _ in range(2):
            headers = kind([("__value_schema_id", b"old"), ("trace", b"1")])
            ctx = SerdeContext("orders", headers=headers)
            assert write({"id": 7}, ctx) == b"\x0e"
            found = list(headers.items() if isinstance(headers, dict) else headers)
            assert sorted(found, reverse=True) == [
                ("trace", b"1"),
                ("__value_schema_id", frame_guid(self._guid(client))),
            ]
            assert AvroDeserializer(UnderOneSubject(client))(b"\x0e", ctx) == {"id": 7}

    @pytest.mark.parametrize(("headers", "has"), [(None, "none"), ((), "a tuple")])
    def test_a_context_without_headers_is_refused(
        self, client: RegistryClient, headers: tuple[tuple[str, bytes], ...] | None, has: str
    ) -> None:
        write = AvroSerializer.for_schema(client, TEXT, schema_id_framing=Framing.HEADER_GUID)
        with pytest.raises(UsageError, match="srfix writes the schema's GUID to the record header"):
            write({"id": 7}, SerdeContext("orders", headers=headers))

    def test_a_row_that_does_not_fit_leaves_the_headers_alone(self, client: RegistryClient) -> None:
        write = AvroSerializer.for_schema(client, TEXT, schema_id_framing=Framing.HEADER_GUID)
        headers: list[tuple[str, bytes | str | None]] = []
        for _ in range(2):  # before there is a plan, and with one
            with pytest.raises(EncodeError, match=r"^A value for topic 'orders': "):
                write({"id": "x"}, SerdeContext("orders", headers=headers))
            assert headers == []
            write({"id": 7}, SerdeContext("orders", headers=[]))

    def test_a_null_has_no_header(self, client: RegistryClient) -> None:
        write = AvroSerializer(client, HALVES, schema_id_framing=Framing.HEADER_GUID)
        headers: list[tuple[str, bytes | str | None]] = []
        ctx = SerdeContext("orders", Role.KEY, headers)
        assert (write({"ID": None}, ctx), write(None, ctx), headers) == (None, None, [])
        assert (write({"ID": 7}, ctx), [name for name, _ in headers]) == (b"\x0e", ["__key_schema_id"])
        headers.clear()
        assert (write({"ID": None}, ctx), headers) == (None, [])

    @pytest.mark.parametrize("framing", [Framing.PREFIX_GUID, Framing.HEADER_GUID])
    def test_a_registry_without_guids_is_named(self, framing: Framing) -> None:
        with FixtureRegistry(emulate="7.9") as server, RegistryClient(server.url) as client:
            write = AvroSerializer.for_schema(client, TEXT, schema_id_framing=framing)
            with pytest.raises(UsageError, match="The registry gives no GUID for the schema"):
                write({"id": 7}, SerdeContext("orders", headers=[]))


class TestRegister:
    @pytest.mark.parametrize(("others", "code"), [(False, 40401), (True, 40403)])
    def test_one_that_is_not_there_is_an_error_each_time(
        self, registry: FixtureRegistry, client: RegistryClient, others: bool, code: int
    ) -> None:
        if others:
            registry.seed("orders-value", '"string"')
        write = AvroSerializer.for_schema(client, TEXT, register=False)
        with pytest.raises(ResolveError, match=rf"is not registered under 'orders-value' \(error code {code}\)"):
            write({"id": 7}, VALUE)
        schema_id = registry.seed("orders-value", TEXT)
        assert write({"id": 7}, VALUE) == frame_id(schema_id, b"\x0e")
        assert registry.writes == 0

    def test_the_registry_normalises_where_it_is_asked_to(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        AvroSerializer.for_schema(client, TEXT, normalize=True)({"id": 7}, VALUE)
        assert "normalize=true" in registry.write_log[0].path


class TestSchemasThatExist:
    """ksqlDB's VALUE_SCHEMA_ID (`use.schema.id`), and versions of the subject."""

    WIDER = (
        '{"type":"record","name":"W","fields":[{"name":"ID","type":["null","long"],"default":null},'
        '{"name":"X","type":"int","default":3}]}'
    )

    def test_columns_are_written_by_exact_name_and_defaults_filled_in(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        schema_id = registry.seed("orders-value", self.WIDER)
        write = AvroSerializer(client, parse_columns("ID BIGINT"), schema_id=schema_id)
        assert write({"ID": 7}, VALUE) == frame_id(schema_id, b"\x02\x0e\x06")
        assert registry.writes == 0
        with pytest.raises(SrfixError, match="OTHER"):
            AvroSerializer(client, parse_columns("OTHER BIGINT"), schema_id=schema_id)({"OTHER": 7}, VALUE)

    def test_an_id_that_the_subject_does_not_hold_is_refused(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        schema_id = registry.seed("elsewhere-value", TEXT)
        with pytest.raises(SubjectVersionError, match=r"'orders-value', error code 40401\)"):
            AvroSerializer(client, schema_id=schema_id)({"id": 7}, VALUE)
        elsewhere = FixedSubject(value="elsewhere-value")
        assert AvroSerializer(client, schema_id=schema_id, subjects=elsewhere)({"id": 7}, VALUE) is not None
        with pytest.raises(UsageError, match="The schema comes from the registry"):
            _ = AvroSerializer(client, schema_id=schema_id).schema

    @pytest.mark.parametrize("version", [1, 2, "latest"])
    def test_a_version_of_the_subject(
        self, registry: FixtureRegistry, client: RegistryClient, version: int | str
    ) -> None:
        ids = [registry.seed("orders-value", text) for text in ('"string"', TEXT)]
        write = AvroSerializer(client, version=version)  # type: ignore[arg-type]
        payload = write("k" if version == 1 else {"id": 7}, VALUE)
        assert payload == (frame_id(ids[0], b"\x02k") if version == 1 else frame_id(ids[1], b"\x0e"))

    @pytest.mark.parametrize("text", ['"long"', '["null","long"]'])
    def test_a_bare_key_under_the_schema_of_an_id(
        self, registry: FixtureRegistry, client: RegistryClient, text: str
    ) -> None:
        schema_id = registry.seed("orders-key", text)
        write = AvroSerializer(client, HALVES, schema_id=schema_id)
        payload = write({"ID": 7}, KEY)
        assert payload is not None
        assert AvroDeserializer(UnderOneSubject(client), columns=HALVES)(payload, KEY) == {"ID": 7}
        assert write({"ID": None}, KEY) is None

    @pytest.mark.parametrize(
        ("schema_type", "text"),
        [
            ("AVRO", '{"type":"record","name":"R","fields":[{"name":"ID","type":"long"}]}'),
            ("JSON", '{"type":"object","properties":{"ID":{"type":"integer"}}}'),
        ],
    )
    def test_a_bare_key_that_the_schema_has_no_place_for(
        self, registry: FixtureRegistry, client: RegistryClient, schema_type: str, text: str
    ) -> None:
        schema_id = registry.seed("orders-key", text, schema_type=schema_type)
        kind = AvroSerializer if schema_type == "AVRO" else JsonSchemaSerializer
        with pytest.raises((SchemaError, EncodeError), match=r"^A key for topic 'orders': "):
            kind(client, HALVES, schema_id=schema_id)({"ID": 7}, KEY)

    def test_a_version_that_is_not_there(self, client: RegistryClient) -> None:
        with pytest.raises(ResolveError, match="The values must be written under version"):
            AvroSerializer(client, version="latest")({"id": 7}, VALUE)

    def test_a_schema_of_another_type_is_refused(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        schema_id = registry.seed("orders-value", '{"type":"object"}', schema_type="JSON")
        with pytest.raises(SchemaError, match="A value for topic 'orders': The schema is of the"):
            AvroSerializer(client, schema_id=schema_id)({"id": 7}, VALUE)

    def test_one_thing_to_write_under_is_needed_and_one_is_enough(self, client: RegistryClient) -> None:
        with pytest.raises(UsageError, match="No schema was named: pass columns, schema_id or"):
            AvroSerializer(client)
        with pytest.raises(UsageError, match="Give either the schema_id to write under or the"):
            AvroSerializer(client, schema_id=1, version=1)
        with pytest.raises(UsageError, match="version= does not work if the subject is built from the"):
            AvroSerializer(client, version=1, subjects=RecordSubject())


class TestJsonSchemaSerializer:
    def test_a_row_is_written_under_the_columns_json_schema(self) -> None:
        registry = MemoryRegistry()
        write = JsonSchemaSerializer(registry, COLUMNS)
        payload = write({"id": 7}, VALUE)
        assert payload is not None
        assert payload.startswith(frame_id(1, b""))
        assert json.loads(payload[5:]) == {"ID": 7, "NAME": None}
        assert registry.schemas[1] == write.schema
        assert (write.schema.schema_type, json.loads(write.schema.text)["type"]) == ("JSON", "object")

    def test_a_given_schema(self) -> None:
        text = '{"type":"object","title":"Order","properties":{"id":{"type":"integer"}}}'
        registry = MemoryRegistry()
        write = JsonSchemaSerializer.for_schema(registry, text, subjects=TopicRecordSubject())
        payload = write({"id": 7}, VALUE)
        assert payload is not None
        assert json.loads(payload[5:]) == {"id": 7}
        assert registry.calls == [("register", "orders-Order")]
        assert registry.schemas[1] == Schema(text=text, schema_type="JSON")

    def test_a_body_is_checked_where_that_is_asked_for(self) -> None:
        text = '{"type":"object","properties":{"id":{"type":"integer","minimum":1}}}'
        for warm in (False, True):
            registry = MemoryRegistry()
            write = JsonSchemaSerializer.for_schema(registry, text, validate=True)
            if warm:
                assert write({"id": 1}, VALUE) is not None
            for again in (write, pickle.loads(pickle.dumps(write))):
                with pytest.raises(EncodeError, match=r"^A value for topic 'orders': The body .*minimum") as caught:
                    again({"id": 0}, VALUE)
                assert caught.value.paths == ("$.id",)
            assert registry.count("register") == int(warm)
        assert JsonSchemaSerializer.for_schema(MemoryRegistry(), text)({"id": 0}, VALUE) is not None

    def test_rows_of_columns_are_valid(self) -> None:
        columns = parse_columns("A DECIMAL(4, 2), B MAP<STRING, INT>, C TIMESTAMP, D BYTES, E ARRAY<DATE>")
        row = {
            "A": Decimal("1.50"),
            "B": {"x": None},
            "C": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
            "D": b"x",
            "E": [datetime.date(2026, 1, 2), None],
        }
        assert JsonSchemaSerializer(MemoryRegistry(), columns, validate=True)(row, VALUE) is not None

    def test_a_schema_that_exists(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        text = '{"type":"object","properties":{"ID":{"type":"integer"},"X":{"type":"integer","default":3}}}'
        schema_id = registry.seed("orders-value", text, schema_type="JSON")
        write = JsonSchemaSerializer(client, parse_columns("ID BIGINT"), schema_id=schema_id, validate=True)
        payload = write({"ID": 7}, VALUE)
        assert payload is not None
        assert payload.startswith(frame_id(schema_id, b""))
        assert json.loads(payload[5:])["ID"] == 7
        assert JsonSchemaSerializer(client, version="latest")({"ID": 7}, VALUE) == frame_id(schema_id, b'{"ID":7}')
        assert registry.writes == 0


class TestWindowedSerializer:
    """Kafka's `TimeWindowedSerializer` and `SessionWindowedSerializer` around any format of keys."""

    COLUMNS = parse_columns("ID INT KEY")

    @pytest.mark.parametrize(
        ("kind", "window", "behind"),
        [
            (WindowKind.TIME, Window(1), b"\0\0\0\0\0\0\0\1"),
            (WindowKind.SESSION, Window(1, 2), b"\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1"),
        ],
    )
    def test_the_window_stands_behind_the_key(self, kind: WindowKind, window: Window, behind: bytes) -> None:
        key = WindowedKey({"ID": 7}, window)
        assert WindowedSerializer(KafkaSerializer(self.COLUMNS), kind)(key, KEY) == b"\0\0\0\x07" + behind
        framed = WindowedSerializer(AvroSerializer(MemoryRegistry(), self.COLUMNS), kind)
        assert framed(key, KEY) == frame_id(1, b"\x0e" + behind)
        assert pickle.loads(pickle.dumps(framed))(key, KEY) == framed(key, KEY)

    @pytest.mark.parametrize(
        ("key", "message"),
        [
            ({"ID": 7}, r"A windowed key is a WindowedKey\(key, window\), not of the type dict\.$"),
            (
                WindowedKey({"ID": None}, Window(1)),
                r"The key inside the window is null\. Only the whole windowed key can be null\.$",
            ),
            (WindowedKey({"ID": "x"}, Window(1)), r".*: ID needs"),
            (WindowedKey({"ID": 7}, Window(1)), r"The end of a session window is part"),
        ],
    )
    def test_what_cannot_be_written_says_where(self, key: object, message: str) -> None:
        write = WindowedSerializer(KafkaSerializer(self.COLUMNS), WindowKind.SESSION)
        with pytest.raises(EncodeError, match=rf"^A key for topic 'orders': {message}"):
            write(key, KEY)


class TestWithoutSchemas:
    def test_json(self) -> None:
        payload = JsonSerializer(COLUMNS)({"id": 7}, VALUE)
        assert payload is not None
        assert json.loads(payload) == {"ID": 7, "NAME": None}
        assert JsonSerializer()({"id": [7]}, VALUE) == b'{"id":[7]}'
        write = JsonSerializer(HALVES)
        assert (write({"ID": 7}, KEY), write({"ID": None}, KEY)) == (b"7", None)
        assert json.loads(write({"NAME": "tea"}, VALUE) or b"") == {"NAME": "tea", "QUANTITY": None}

    def test_kafka(self) -> None:
        write = KafkaSerializer(parse_columns("ID BIGINT KEY"))
        assert pickle.loads(pickle.dumps(write))({"ID": 7}, KEY) == write({"ID": 7}, KEY) == bytes(7) + b"\x07"
        assert write({"id": None}, KEY) is None
        assert write(None, KEY) is None

    @pytest.mark.parametrize("make", [JsonSerializer, KafkaSerializer])
    def test_a_row_that_does_not_fit_says_where(self, make: Callable[[Columns], Serializer]) -> None:
        with pytest.raises(EncodeError, match=r"^A value for topic 'orders': ") as caught:
            make(parse_columns("ID INT"))({"ID": "x"}, VALUE)
        assert vars(caught.value)["topic"] == "orders"


class TestConstruction:
    @pytest.mark.parametrize("kind", ["columns", "schema"])
    def test_it_travels_to_another_process(self, kind: str) -> None:
        registry = MemoryRegistry()
        write = (
            AvroSerializer(registry, COLUMNS, full_name="com.example.Order", generation=Generation.FROM_0_29)
            if kind == "columns"
            else AvroSerializer.for_schema(registry, TEXT, subjects=RecordSubject())
        )
        row = {"ID": 1} if kind == "columns" else {"id": 1}
        payload = write(row, VALUE)
        assert pickle.loads(pickle.dumps(write))(row, VALUE) == payload

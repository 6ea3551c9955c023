"""Row → payload."""

from __future__ import annotations

import pickle
import threading

import pytest

from srfix.serde.casing import CaseRule
from srfix.serde.columns import parse_columns
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import ColumnError, EncodeError, SchemaError
from srfix.serde.formats.avro import internal_schema
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.errors import IncompatibleSchemaError
from srfix.serde.resolve import ById, UnderOneSubject
from srfix.serde.serializer import AvroSerializer
from srfix.serde.subjects import ChangelogSubject, Role
from tests.serde.fakes import URL, MemoryRegistry

COLUMNS = parse_columns("ID BIGINT, NAME STRING")
TEXT = '{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}'
VALUE = SerdeContext("orders")


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
        assert registry.schemas[2].text == internal_schema(COLUMNS)
        assert AvroDeserializer(UnderOneSubject(registry), columns=COLUMNS)(payload, VALUE) == {"ID": 7, "NAME": None}

    def test_the_schema_is_registered_once_for_each_subject(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer(registry, COLUMNS)
        for context in (VALUE, SerdeContext("payments"), SerdeContext("orders", Role.KEY), VALUE):
            write({"ID": 1}, context)
        assert registry.calls == [
            ("register", "orders-value"),
            ("register", "payments-value"),
            ("register", "orders-key"),
        ]

    def test_topics_that_share_a_subject_register_once(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer(registry, COLUMNS, subjects=ChangelogSubject(application="app", store="store"))
        write({"ID": 1}, VALUE)
        write({"ID": 1}, SerdeContext("payments"))
        assert registry.calls == [("register", "app-store-changelog-value")]

    def test_a_read_never_stands_in_for_the_registration(self) -> None:
        registry = MemoryRegistry()
        registry.seed("orders-value", internal_schema(COLUMNS))
        AvroDeserializer(ById(registry))(b"\x00\x00\x00\x00\x01\x00\x00", VALUE)
        AvroSerializer(registry, COLUMNS)({"ID": 1}, VALUE)
        assert registry.count("register") == 1

    def test_a_row_that_does_not_fit_registers_nothing(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer(registry, COLUMNS)
        for _ in range(2):
            with pytest.raises(
                EncodeError, match=r"^A value for topic 'orders': 1 field does not fit: ->ID needs"
            ) as caught:
                write({"ID": "x"}, VALUE)
            assert caught.value.paths == ("->ID",)
        assert registry.calls == []
        write({"ID": 1}, VALUE)
        with pytest.raises(EncodeError, match=r"^A value for topic 'orders': 1 field does not fit: ->ID needs"):
            write({"ID": "x"}, VALUE)

    def test_a_refused_registration_is_raised_and_tried_again_with_the_next_row(self) -> None:
        registry = MemoryRegistry()
        registry.failures["register"] = IncompatibleSchemaError(409, 409, "incompatible", URL)
        write = AvroSerializer(registry, COLUMNS)
        with pytest.raises(IncompatibleSchemaError):
            write({"ID": 1}, VALUE)
        registry.failures.clear()
        assert write({"ID": 1}, VALUE) is not None
        assert registry.count("register") == 2

    def test_the_case_rule_can_be_exact(self) -> None:
        write = AvroSerializer(MemoryRegistry(), COLUMNS, case_rule=CaseRule.EXACT)
        with pytest.raises(EncodeError, match=r"->id has no column or field to go to"):
            write({"id": 7}, VALUE)

    def test_many_threads_register_once(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer(registry, COLUMNS)
        start = threading.Barrier(8)
        payloads: list[bytes | None] = []

        def work() -> None:
            start.wait()
            payloads.append(write({"ID": 1}, VALUE))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert registry.count("register") == 1
        assert len(set(payloads)) == 1


class TestForSchema:
    def test_rows_are_written_under_exactly_that_text(self) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer.for_schema(registry, TEXT)
        assert write({"id": 7}, VALUE) == b"\x00\x00\x00\x00\x01\x0e"
        assert (registry.schemas[1].text, write.schema.text) == (TEXT, TEXT)

    def test_names_are_exact(self) -> None:
        with pytest.raises(EncodeError, match=r"->ID has no column or field to go to; ->id is missing"):
            AvroSerializer.for_schema(MemoryRegistry(), TEXT)({"ID": 7}, VALUE)

    def test_a_root_that_is_no_record_is_written(self) -> None:
        assert (
            AvroSerializer.for_schema(MemoryRegistry(), '"string"')("k", SerdeContext("t", Role.KEY))
            == b"\0\0\0\0\x01\x02k"
        )

    def test_a_text_that_is_no_schema_is_refused(self) -> None:
        with pytest.raises(SchemaError):
            AvroSerializer.for_schema(MemoryRegistry(), "nonsense")


class TestConstruction:
    def test_columns_that_avro_cannot_hold_are_refused_at_once(self) -> None:
        with pytest.raises(ColumnError):
            AvroSerializer(MemoryRegistry(), parse_columns("`2Bad` INT"))

    @pytest.mark.parametrize("kind", ["columns", "schema"])
    def test_it_travels_to_another_process(self, kind: str) -> None:
        registry = MemoryRegistry()
        write = AvroSerializer(registry, COLUMNS) if kind == "columns" else AvroSerializer.for_schema(registry, TEXT)
        row = {"ID": 1} if kind == "columns" else {"id": 1}
        payload = write(row, VALUE)
        assert pickle.loads(pickle.dumps(write))(row, VALUE) == payload

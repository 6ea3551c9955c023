"""Hostile and broken Protobuf payloads, held against a strict reader of the wire format of the tests' own."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from srfix.serde import (
    ById,
    CaseRule,
    ProtobufDeserializer,
    ProtobufNoSrDeserializer,
    SchemaDeserializer,
    parse_columns,
    print_columns,
)
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.formats.protobuf import nosr
from srfix.serde.java_ints import LONG_MAX
from srfix.serde.specs import WriteSpec
from tests.serde.formats.protobuf.runtime import message_class
from tests.serde.formats.protobuf.strategies import Message, SchemaCase, columns_of, plain_of, row_of, schema_cases
from tests.serde.fuzz.harness import Fuzz, drawn, seeds
from tests.serde.fuzz.mutations import BINARY
from tests.serde.fuzz.protobuf_reference import Beyond, Refused, message_of, named_message
from tests.serde.fuzz.same import same
from tests.serde.fuzz.strategies import RowsCase, rows_cases
from tests.serde.fuzz.topic import Read, Topic, bare_reads


def _bodies(case: SchemaCase) -> list[bytes]:
    made = message_class(case.text, f"some.where.{case.root.name}")
    return [b"\0" + made(**value).SerializeToString() for value in case.values]


class TestWithoutColumns:
    @drawn(schema_cases(), seeds)
    def test_what_is_read_is_what_the_wire_format_says(self, fuzz: Fuzz, case: SchemaCase, random: Random) -> None:
        topic = Topic(case.text, _bodies(case), schema_type="PROTOBUF")
        for read in topic.reads(fuzz, random, ProtobufDeserializer(ById(topic.registry))):
            if read.schema is None or read.schema.schema_type != "PROTOBUF":
                read.must_be_refused("the registry knows no such schema of Protobuf")
            else:
                _check(read, case, plain_of)


class TestWithColumns:
    @drawn(schema_cases(), seeds)
    def test_a_row_is_made_of_what_the_wire_format_says(self, fuzz: Fuzz, case: SchemaCase, random: Random) -> None:
        topic = Topic(case.text, _bodies(case), schema_type="PROTOBUF")
        rule = random.choice(list(CaseRule))
        columns = parse_columns(columns_of(case.root))
        deserialize = SchemaDeserializer(ById(topic.registry), columns=columns, case_rule=rule)

        def row(message: Message, value: dict[str, Any]) -> object:
            if message is not case.root or any(part > LONG_MAX for part in _numbers(value)):
                raise Beyond
            return row_of(message, value)

        for read in topic.reads(fuzz, random, deserialize):
            if read.schema is None:
                read.must_be_refused("the registry knows no such schema")
            elif read.schema.text == case.text:
                _check(read, case, row)

    @drawn(rows_cases(bare=False), seeds)
    def test_so_is_a_row_under_an_internal_schema_or_it_is_refused(
        self, fuzz: Fuzz, case: RowsCase, random: Random
    ) -> None:
        try:
            text = protobuf.internal_schema(WriteSpec(columns=case.writer, nullable_representation="optional"))
            encode = protobuf.encoder(text, WriteSpec(columns=case.writer, case_rule=CaseRule.EXACT))
        except Exception:  # noqa: BLE001 - no such columns in Protobuf; the tables have them
            fuzz.payloads += 100
            return
        bodies = [b"\0"]
        for row in case.rows:
            try:
                bodies.append(encode(row, b""))
            except Exception:  # noqa: BLE001 - null in a list
                continue
        topic = Topic(text, bodies, schema_type="PROTOBUF")
        deserialize = SchemaDeserializer(ById(topic.registry), columns=case.reader, case_rule=case.rule)
        for _ in topic.reads(fuzz, random, deserialize):
            pass  # a row, or an error of ours

    @drawn(schema_cases(), seeds)
    def test_messages_without_a_registry_are_read_or_refused(
        self, fuzz: Fuzz, case: SchemaCase, random: Random
    ) -> None:
        columns = parse_columns(
            "A BIGINT, B STRING, C ARRAY<INT>, D STRUCT<X DATE, Y DECIMAL(9, 2)>, E MAP<STRING, DOUBLE>, F TIME"
        )
        encode = nosr.encoder(None, WriteSpec(columns=columns, wrap=True))
        written = encode({"A": 7, "B": "x", "C": [1, 2], "D": {}, "E": {"k": 1.5}}, b"")
        bodies = [written, *(body[1:] for body in _bodies(case))]
        read = ProtobufNoSrDeserializer(columns)
        for _ in bare_reads(fuzz, random, read, bodies, BINARY, about=print_columns(columns)):
            pass


def _numbers(value: object) -> list[int]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in _numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in _numbers(part)]
    return [value] if isinstance(value, int) else []


def _check(read: Read, case: SchemaCase, row_of_message: Callable[[Message, dict[str, Any]], object]) -> None:
    try:
        message, body = named_message(case, case.others, read.body)
        expected = row_of_message(message, message_of(message, body, is_proto2=case.is_proto2))
    except Refused as error:
        read.must_be_refused(str(error))
    except Beyond:
        pass
    else:
        assert read.refusal is None, f"{read.refusal!r}, but it is {expected!r}: {read.about()}"
        assert same(_in_order(read.row), _in_order(expected)), f"{read.row!r}, not {expected!r}: {read.about()}"


def _in_order(value: object) -> object:
    """Dicts by their keys: entries of maps have no order."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value, key=repr)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value

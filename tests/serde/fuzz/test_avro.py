"""Hostile and broken Avro payloads, held against a strict decoder of the tests' own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random

from srfix.serde import AvroDeserializer, ById, CaseRule, EncodeError, SchemaDeserializer
from srfix.serde.engine import Encode
from srfix.serde.formats import avro
from srfix.serde.specs import WriteSpec
from tests.serde.confluent.strategies import AvroCase, avro_cases
from tests.serde.fuzz.avro_reference import AvroReference, Beyond, Loose, Refused
from tests.serde.fuzz.expected import Unfit, avro_row, must_feed
from tests.serde.fuzz.harness import Fuzz, drawn, seeds
from tests.serde.fuzz.strategies import RowsCase, rows_cases
from tests.serde.fuzz.topic import OTHERS, Read, Topic


class TestWithoutColumns:
    @drawn(avro_cases(), seeds)
    def test_what_is_read_is_what_the_specification_says(self, fuzz: Fuzz, case: AvroCase, random: Random) -> None:
        other = AvroReference(OTHERS["AVRO"])
        encode = avro.encoder(case.text, WriteSpec())
        own = AvroReference(case.text)
        topic = Topic(case.text, _bodies(encode, case.values))
        for read in topic.reads(fuzz, random, AvroDeserializer(ById(topic.registry))):
            if read.schema is None or read.schema.schema_type != "AVRO":
                read.must_be_refused("the registry knows no such schema of Avro")
            elif read.schema.text != case.text:
                _check(fuzz, read, other.read)
            elif not own.is_bytes:  # of those the whole body is the value
                _check(fuzz, read, own.read)


class TestWithColumns:
    @drawn(rows_cases(), seeds)
    def test_a_row_is_made_of_what_the_specification_says(self, fuzz: Fuzz, case: RowsCase, random: Random) -> None:
        text = avro.internal_schema(WriteSpec(columns=case.writer, wrap=case.wrapped))
        encode = avro.encoder(text, WriteSpec(columns=case.writer, case_rule=CaseRule.EXACT, wrap=case.wrapped))
        reference = AvroReference(text, logical=False)
        topic = Topic(text, [encode(row, b"") for row in case.rows])
        deserialize = SchemaDeserializer(
            ById(topic.registry), columns=case.reader, case_rule=case.rule, wrap=case.wrapped
        )

        def row_of(body: bytes) -> object:
            if case.wrapped:
                record = reference.read(body)
                must_feed(case.reader, (field.name for field in case.writer), case.rule, has_schema=True)
                return avro_row(case.reader, case.writer, record, case.rule)
            raw = body if reference.is_bytes else reference.read(body)
            name = case.writer[0].name
            return avro_row(case.reader, case.writer, {name: raw}, case.rule)

        for read in topic.reads(fuzz, random, deserialize):
            if read.schema is None:
                read.must_be_refused("the registry knows no such schema of Avro")
            elif read.schema.text == text:
                _check(fuzz, read, row_of)


def _bodies(encode: Encode, values: tuple[object, ...]) -> list[bytes]:
    """Those that can be written: fastavro takes a text for a date where a union has one before its enum."""
    written = [b"\0\2\0"]
    for value in values:
        with suppress(EncodeError):
            written.append(encode(value, b""))
    return written


def _check(fuzz: Fuzz, read: Read, reference: Callable[[bytes], object]) -> None:
    try:
        expected = reference(read.body)
    except Loose:
        fuzz.outcomes["loose"] += read.refusal is None
    except (Refused, Unfit) as error:
        read.must_be_refused(str(error))
    except Beyond:
        pass
    else:
        read.must_be(expected)

"""Hostile and broken JSON, held against the standard library's reading and rows worked out by hand."""

from __future__ import annotations

import json as stdlib_json
from collections.abc import Callable
from random import Random

from hypothesis import strategies as st

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import print_columns
from srfix.serde.columns.types import Struct
from srfix.serde.deserializer import JsonDeserializer, JsonSchemaDeserializer, SchemaDeserializer
from srfix.serde.engine import Encode
from srfix.serde.formats import json, json_schema
from srfix.serde.interface import Deserializer, SerdeContext
from srfix.serde.resolve.policies import ById
from srfix.serde.specs import WriteSpec
from tests.serde.fuzz import json_reference
from tests.serde.fuzz.expected import Unfit, is_known, json_value, must_feed
from tests.serde.fuzz.harness import Fuzz, drawn, seeds
from tests.serde.fuzz.json_reference import Beyond, Refused
from tests.serde.fuzz.mutations import JSON
from tests.serde.fuzz.strategies import RowsCase, rows_cases
from tests.serde.fuzz.topic import Read, Topic, bare_reads

documents: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)
bodies = st.lists(
    st.tuples(documents, st.booleans()).map(lambda drawn: stdlib_json.dumps(drawn[0], ensure_ascii=drawn[1]).encode()),
    min_size=1,
    max_size=3,
)
"""Their texts, escaped or not."""


class TestWithoutColumns:
    @drawn(bodies, seeds)
    def test_plain_json_is_read_as_the_standard_library_reads_it(
        self, fuzz: Fuzz, texts: list[bytes], random: Random
    ) -> None:
        for read in bare_reads(fuzz, random, JsonDeserializer(), texts, JSON, about="plain JSON"):
            _check(read, json_reference.plain)

    @drawn(bodies, seeds)
    def test_so_is_json_under_a_schema(self, fuzz: Fuzz, texts: list[bytes], random: Random) -> None:
        text = '{"title":"own","type":"object"}'
        topic = Topic(text, texts, schema_type="JSON")
        for read in topic.reads(fuzz, random, JsonSchemaDeserializer(ById(topic.registry)), JSON):
            if read.schema is None or read.schema.schema_type != "JSON":
                read.must_be_refused("the registry knows no such JSON Schema")
            else:
                _check(read, json_reference.plain)


class TestWithColumns:
    @drawn(rows_cases(), seeds)
    def test_a_row_of_plain_json_is_what_the_document_says(self, fuzz: Fuzz, case: RowsCase, random: Random) -> None:
        deserialize = JsonDeserializer(case.reader, case_rule=case.rule, wrap=case.wrapped)
        encode = json.encoder(None, WriteSpec(columns=case.writer, case_rule=CaseRule.EXACT, wrap=case.wrapped))
        texts = [encode(row, b"") for row in case.rows]
        back = json.encoder(None, WriteSpec(columns=case.reader, case_rule=CaseRule.EXACT, wrap=case.wrapped))
        about = f"{print_columns(case.reader)} {case.rule}"
        for read in bare_reads(fuzz, random, deserialize, texts, JSON, about=about):
            _check_row(read, case, has_schema=False, has_properties=False)
            _check_back(read, deserialize, back, b"")

    @drawn(rows_cases(), seeds)
    def test_so_is_a_row_under_a_json_schema(self, fuzz: Fuzz, case: RowsCase, random: Random) -> None:
        text = json_schema.internal_schema(WriteSpec(columns=case.writer, wrap=case.wrapped))
        encode = json_schema.encoder(text, WriteSpec(columns=case.writer, case_rule=CaseRule.EXACT, wrap=case.wrapped))
        topic = Topic(text, [encode(row, b"") for row in case.rows], schema_type="JSON")
        deserialize = SchemaDeserializer(
            ById(topic.registry), columns=case.reader, case_rule=case.rule, wrap=case.wrapped
        )
        for read in topic.reads(fuzz, random, deserialize, JSON):
            if read.schema is None:
                read.must_be_refused("the registry knows no such schema")
            elif read.schema.text == text:
                _check_row(read, case, has_schema=case.rule is not CaseRule.KSQLDB_2020, has_properties=True)


def _check(read: Read, reference: Callable[[bytes], object]) -> None:
    try:
        expected = reference(read.body)
    except Refused as error:
        read.must_be_refused(str(error))
    except Beyond:
        pass
    else:
        read.must_be(expected)


def _check_row(read: Read, case: RowsCase, *, has_schema: bool, has_properties: bool) -> None:
    try:
        value = json_reference.exact(read.body)
    except Refused as error:
        if read.body.strip(b" \t\r\n") or has_schema:  # without a schema, nothing is an empty STRING
            read.must_be_refused(str(error))
        return
    except Beyond:
        return
    try:
        expected = _row(case, value, has_schema=has_schema, has_properties=has_properties)
    except Unfit as error:
        read.must_be_refused(str(error))
        return
    if is_known(expected) or read.refusal is None:
        read.must_be(expected)


def _row(case: RowsCase, value: object, *, has_schema: bool, has_properties: bool) -> object:
    if case.wrapped:
        if value is None and has_schema:
            raise Unfit("the schema wants an object")
        if isinstance(value, dict):
            # The properties count where a document's keys feed the columns, too: each of them may be left out.
            names = [field.name for field in case.writer] if has_properties else []
            names += [] if has_schema else list(value)
            must_feed(case.reader, names, case.rule, has_schema=has_schema)
        return json_value(Struct(case.reader), value, case.rule, Struct(case.writer) if has_schema else None)
    (column,) = case.reader
    return {column.name: json_value(column.type, value, case.rule, column.type if has_schema else None)}


def _check_back(read: Read, deserialize: Deserializer, encode: Encode, prefix: bytes) -> None:
    """A row that was accepted can be written, and comes back."""
    if read.row is None or read.row == dict.fromkeys(read.row):  # type: ignore[call-overload]
        return
    again = deserialize(encode(read.row, prefix), SerdeContext("t"))
    read_again = Read(read.schema, read.body, again, None, read.about)
    read_again.must_be(read.row)

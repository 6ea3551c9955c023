"""Generated schemas and messages, against the protobuf runtime used plainly: what one writes the other reads."""

from __future__ import annotations

import datetime
from typing import Any, cast

from hypothesis import given, settings

from srfix.serde import CaseRule, Columns, parse_columns
from srfix.serde.columns.types import Array, ColumnType, Map, ScalarType, Struct
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.specs import ReadSpec, WriteSpec
from tests.examples import examples
from tests.serde.formats.protobuf.runtime import message_class
from tests.serde.formats.protobuf.strategies import (
    Message,
    SchemaCase,
    columns_of,
    plain_of,
    row_of,
    schema_cases,
)
from tests.serde.fuzz.same import same
from tests.strategies import columns_and_row

_HEAD = b"\0\0\0\0\7"
_GREGORIAN = datetime.date(1582, 10, 15)


def _columns(case: SchemaCase) -> Columns:
    return parse_columns(columns_of(case.root))


def _class(case: SchemaCase) -> Any:
    return message_class(case.text, f"some.where.{case.root.name}")


class TestGeneratedSchemas:
    @settings(max_examples=examples(500))
    @given(schema_cases())
    def test_a_message_of_the_runtime_is_read_as_the_row_that_it_is(self, case: SchemaCase) -> None:
        columns, made = _columns(case), _class(case)
        assert protobuf.infer_columns(case.text, names="keep").columns == columns
        for rule in CaseRule:
            read = protobuf.decoder(case.text, ReadSpec(columns=columns, case_rule=rule))
            for value in case.values:
                body = made(**value).SerializeToString()
                row = read(_HEAD + b"\0" + body, 5)
                assert same(_in_order(row), _in_order(row_of(case.root, value))), (row, value)

    @settings(max_examples=examples(500))
    @given(schema_cases())
    def test_so_it_is_without_columns_and_is_written_as_it_was(self, case: SchemaCase) -> None:
        made, read = _class(case), protobuf.decoder(case.text, ReadSpec())
        write = protobuf.encoder(case.text, WriteSpec())
        for value in case.values:
            message = made(**value)
            row = cast("dict[str, Any]", read(b"\0" + message.SerializeToString(), 0))
            assert row == plain_of(case.root, value)
            if "UNKNOWN_ENUM_VALUE" not in repr(row):
                assert made.FromString(write(row, _HEAD)[6:]) == message

    @settings(max_examples=examples(500))
    @given(schema_cases().filter(lambda case: not _is_read_only(case.root)))
    def test_a_row_is_written_as_the_message_that_the_runtime_writes(self, case: SchemaCase) -> None:
        columns, made = _columns(case), _class(case)
        write = protobuf.encoder_under(case.text, WriteSpec(columns=columns, case_rule=CaseRule.EXACT))
        for value in case.values:
            row = row_of(case.root, value)
            if "UNKNOWN_ENUM_VALUE" in repr(row):
                continue
            assert made.FromString(write(row, _HEAD)[6:]) == made(**value)


def _is_read_only(message: Message) -> bool:
    """Whether a map has keys that are no texts, which a row's are, or a field is a float, which no column is."""
    return any(
        (field.is_map and field.label != "string")
        or field.type == "float"
        or (isinstance(field.type, Message) and _is_read_only(field.type))
        for field in (*message.fields, *message.oneof)
    )


def _in_order(value: object) -> object:
    """Dicts by their keys: entries of maps have no order."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value


class TestColumns:
    @settings(max_examples=examples(500))
    @given(columns_and_row)
    def test_what_is_written_under_the_internal_schema_is_read(self, given_: tuple[Columns, dict[str, object]]) -> None:
        columns, row = given_
        held = tuple(column for column in columns if _is_held(column.type))
        if not held:
            return
        wanted = {column.name: _kept(column.type, row[column.name]) for column in held}
        for nullable in ("optional", "wrapper"):
            spec = WriteSpec(columns=held, nullable_representation=nullable)
            text = protobuf.internal_schema(spec)
            payload = protobuf.encoder(text, spec)(wanted, _HEAD)
            for rule in (CaseRule.UNIQUE, CaseRule.EXACT):
                assert protobuf.decoder(text, ReadSpec(columns=held, case_rule=rule))(payload, 5) == wanted


def _is_held(type_: ColumnType, within: str = "") -> bool:
    match type_:
        case Array(items):
            return within == "" and not isinstance(items, Array | Map) and _is_held(items, "ARRAY")
        case Map(values):
            return within == "" and not isinstance(values, Array | Map) and _is_held(values, "MAP")
        case Struct(fields):
            names = [field.name.lower() for field in fields]
            return bool(fields) and len(set(names)) == len(names) and all(_is_held(field.type) for field in fields)
    return True


def _kept(type_: ColumnType, value: Any) -> Any:
    """What Protobuf can tell apart: no null list, and none in one."""
    match type_:
        case Array(items):
            return [_kept(items, item) for item in value or () if item is not None]
        case Map(values):
            kept = {key: _kept(values, part) for key, part in (value or {}).items()}
            return {key: part for key, part in kept.items() if part is not None}
        case Struct(fields) if value is not None:
            return {field.name: _kept(field.type, value[field.name]) for field in fields}
        case ScalarType.DATE if value is not None and value < _GREGORIAN:
            return _GREGORIAN
    return value

"""Payload → row, as confluent_kafka's `DeserializingConsumer` calls it, and as anybody can.

| class | payloads |
|---|---|
| `AvroDeserializer(resolver, columns=…)` | Avro under a registered schema |
| `JsonSchemaDeserializer(resolver, columns=…)` | JSON under a registered JSON Schema (ksqlDB's JSON_SR) |
| `ProtobufDeserializer(resolver, columns=…)` | Protobuf under a registered schema |
| `SchemaDeserializer(resolver, columns=…)` | any of these, as the schema says |
| `JsonDeserializer(columns=…)` | plain JSON |
| `KafkaDeserializer(columns)` | a key or value of one column, as Kafka's own serializers write it |
| `DelimitedDeserializer(columns)` | a record of CSV, as ksqlDB's DELIMITED |
| `NoneDeserializer()` | nothing: None for every key |
| `ProtobufNoSrDeserializer(columns)` | messages of the columns' schema, without a registry (ksqlDB's PROTOBUF_NOSR) |
| `WindowedDeserializer(deserializer, kind)` | a windowed key: a key of any of these, and its window |
| `DataclassDeserializer(deserializer, Order)` | any of these with columns; a row is an `Order`, a dataclass |

With columns a row has exactly those, in their order, fed by the writer's fields under the case rule; a column that no
field feeds is None. What feeds none of them is no row of theirs (`NothingFedError`): another record type, or columns that are
misspelt (by ksqlDB's case rules it is a row of nulls, as in the engine); a field that holds null feeds its column. With
`strict=True` every column must be fed.

With `reader_schema=…` (Avro) its aliases, defaults and promotions count, as in Avro's schema resolution: a field that was
renamed is found by its alias, one that the writer lacks is its default, and an int is the reader's double. Without columns a
row has its fields. By default, as in ksqlDB, none of them counts.

A DATE, TIME or TIMESTAMP is a datetime of the years 1 to 9999. With `times="integers"` it is the integer that stands in the
record, in the unit that the writer's schema declares (`srfix.serde.columns.times`), for all values of these types.

Columns that are marked as KEY make the keys, the others the values (by `ctx.field`); where none is marked, all make either.
`wrap` says whether a single column stands in a record: None is ksqlDB's default, by which a key's does not. A bare null is
`{column: None}`; None, whatever the columns, is a null payload.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from srfix.serde.arguments import check_instance, flag, member, number_or_none
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.times import Times, given_times
from srfix.serde.errors import DecodeError, UsageError
from srfix.serde.formats.table import SCHEMA_FORMATS, Format
from srfix.serde.interface import Context, Deserializer, SerdeContext, Value
from srfix.serde.registries.given import AnyClient
from srfix.serde.resolve.policies import Resolver
from srfix.serde.serdes.framed_deserializer import FramedDeserializer
from srfix.serde.serdes.located_errors import read_from
from srfix.serde.serdes.schemaless import SchemalessDeserializer
from srfix.serde.specs import ReaderSchema, ReadSpec
from srfix.serde.subjects.names import Role
from srfix.serde.windowed import Window, WindowedKey, WindowKind, split


class AvroDeserializer(FramedDeserializer):
    """Reads Avro payloads in the registry's framing.

    `AvroDeserializer(ById(registry))` gives records as the writer has them. With `columns` a row has exactly those, in
    their order, fed by the writer's fields under the case rule; a column that no field feeds is None, and arrays of map
    entries are dicts. Thread-safe; picklable if its resolver is (the plans are made anew).

    >>> from srfix.serde import AvroSerializer, ById, SerdeContext, parse_columns
    >>> users, columns = SerdeContext("users"), parse_columns("ID BIGINT, NAME STRING")
    >>> payload = AvroSerializer(registry, columns)({"ID": 7}, users)
    >>> AvroDeserializer(ById(registry), columns=parse_columns("id STRING"))(payload, users)
    {'ID': '7'}
    """

    _formats = (Format.AVRO,)


class JsonSchemaDeserializer(FramedDeserializer):
    """Reads JSON payloads under a JSON Schema, in the registry's framing: ksqlDB's JSON_SR.

    `JsonSchemaDeserializer(ById(registry))` gives documents as they are; with `columns` rows, as `AvroDeserializer`.
    Thread-safe; picklable if its resolver is.

    >>> from srfix.serde import ById, JsonSchemaSerializer, SerdeContext, parse_columns
    >>> prices, columns = SerdeContext("json-prices"), parse_columns("ID BIGINT, SEEN TIMESTAMP")
    >>> payload = JsonSchemaSerializer(registry, columns)({"ID": 7}, prices)
    >>> JsonSchemaDeserializer(ById(registry), columns=columns)(payload, prices)
    {'ID': 7, 'SEEN': None}
    """

    _formats = (Format.JSON_SR,)

    def __init__(
        self,
        resolver: Resolver | AnyClient,
        *,
        columns: GivenColumns | None = None,
        case_rule: CaseRule | str = CaseRule.UNIQUE,
        wrap: bool | None = None,
        strict: bool = False,
        validate: bool = False,
        times: Times = "datetimes",
    ) -> None:
        """
        :param strict: what leaves any of the columns unfed is no row (`ColumnNotFedError`).
        :param validate: True to check every body against its schema first (needs jsonschema-rs, the extra json-schema).
        :param times: `"integers"` gives times as the integers that stand in the record.
        :raises ColumnError: if the columns cannot be used.
        """
        super().__init__(resolver, columns=columns, case_rule=case_rule, wrap=wrap, strict=strict, times=times)
        self._spec = replace(self._spec, validate=flag("validate", validate))


class ProtobufDeserializer(FramedDeserializer):
    """Reads Protobuf payloads in the registry's framing.

    `ProtobufDeserializer(ById(registry))` gives a message as a dict of its fields; with `columns` rows, as
    `AvroDeserializer`. Needs the extra `protobuf`. Thread-safe; picklable if its resolver is.

    >>> from srfix.serde import ById, ProtobufSerializer, SerdeContext, parse_columns
    >>> prices, columns = SerdeContext("proto-prices"), parse_columns("ID BIGINT, SEEN TIMESTAMP")
    >>> payload = ProtobufSerializer(registry, columns)({"ID": 7}, prices)
    >>> ProtobufDeserializer(ById(registry), columns=columns)(payload, prices)
    {'ID': 7, 'SEEN': None}
    """

    _formats = (Format.PROTOBUF,)


class SchemaDeserializer(FramedDeserializer):
    """Reads payloads in the registry's framing by the serde of their schema's type: Avro, JSON Schema or Protobuf.

    For topics that hold several, or of which one does not know. Thread-safe; picklable if its resolver is.

    >>> from srfix.serde import AvroSerializer, ById, JsonSchemaSerializer, SerdeContext
    >>> mixed, deserialize = SerdeContext("mixed"), SchemaDeserializer(ById(registry))
    >>> deserialize(AvroSerializer.for_schema(registry, '"string"')("a", mixed), mixed)
    'a'
    >>> deserialize(JsonSchemaSerializer.for_schema(registry, "{}", subjects=lambda *_: "mixed-json")([1.5], mixed), mixed)
    [1.5]
    """

    _formats = SCHEMA_FORMATS

    def __init__(
        self,
        resolver: Resolver | AnyClient,
        *,
        columns: GivenColumns | None = None,
        case_rule: CaseRule | str = CaseRule.UNIQUE,
        wrap: bool | None = None,
        strict: bool = False,
        reader_schema: str | ReaderSchema | None = None,
        validate: bool = False,
        times: Times = "datetimes",
    ) -> None:
        """
        :param strict: what leaves any of the columns unfed is no row (`ColumnNotFedError`).
        :param reader_schema: an Avro schema whose aliases, defaults and promotions count for Avro bodies.
        :param validate: True to check every JSON body against its schema first (needs jsonschema-rs, the extra json-schema).
        :param times: `"integers"` gives times as the integers that stand in the record.
        :raises ColumnError: if the columns cannot be used.
        :raises SchemaError: if the reader's schema is none of Avro.
        :raises UsageError: if there is a reader's schema, and ksqlDB's own case rules.
        """
        super().__init__(
            resolver,
            columns=columns,
            case_rule=case_rule,
            wrap=wrap,
            strict=strict,
            reader_schema=reader_schema,
            times=times,
        )
        self._spec = replace(self._spec, validate=flag("validate", validate))


class JsonDeserializer(SchemalessDeserializer):
    """Reads plain JSON: no registry, no framing.

    `JsonDeserializer()` gives documents as they are; `JsonDeserializer(columns)` rows, as ksqlDB reads them. Thread-safe
    and picklable.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> deserialize = JsonDeserializer(parse_columns("ID BIGINT, PRICE DECIMAL(6, 2)"))
    >>> deserialize(b'{"id": "7", "price": 12.3}', SerdeContext("prices"))
    {'ID': 7, 'PRICE': Decimal('12.30')}
    """

    _format = Format.JSON


class KafkaDeserializer(SchemalessDeserializer):
    """Reads a key or value of one column, as Kafka's own serializers write it: ksqlDB's default format of keys.

    The row is `{column: value}`. Thread-safe and picklable.

    >>> from srfix.serde import Role, SerdeContext, parse_columns
    >>> KafkaDeserializer(parse_columns("ID INT KEY"))(bytes.fromhex("00000007"), SerdeContext("users", Role.KEY))
    {'ID': 7}
    """

    _format = Format.KAFKA

    def __init__(self, columns: GivenColumns) -> None:
        """:raises ColumnError: if a half has several columns, or the format cannot hold the type."""
        super().__init__(given_columns(columns), wrap=False)


class DelimitedDeserializer(SchemalessDeserializer):
    """Reads a record of CSV, whose fields are the columns in their order: ksqlDB's DELIMITED.

    Thread-safe and picklable.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> deserialize = DelimitedDeserializer(parse_columns("ID INT, NAME STRING"), delimiter="|")
    >>> deserialize(b'7|"Ada | Augusta"', SerdeContext("users"))
    {'ID': 7, 'NAME': 'Ada | Augusta'}
    """

    _format = Format.DELIMITED

    def __init__(self, columns: GivenColumns, *, delimiter: str = ",", times: Times = "datetimes") -> None:
        """
        :param delimiter: what stands between fields, as ksqlDB's VALUE_DELIMITER: a character, SPACE or TAB.
        :param times: `"integers"` gives a DATE, TIME or TIMESTAMP as the integer that stands in the record.
        :raises ColumnError: if the columns cannot be used, or the format cannot hold them.
        :raises UsageError: if there is no such delimiter.
        """
        self._set(ReadSpec(columns=given_columns(columns), delimiter=delimiter, times=given_times(times)))


class NoneDeserializer(SchemalessDeserializer):
    """Reads every key, or value, as None, whatever bytes there are: ksqlDB's NONE.

    >>> from srfix.serde import Role, SerdeContext
    >>> NoneDeserializer()(b"7", SerdeContext("users", Role.KEY))
    """

    _format = Format.NONE


class ProtobufNoSrDeserializer(SchemalessDeserializer):
    """Reads messages of the columns' own schema, without a registry: ksqlDB's PROTOBUF_NOSR. Needs the extra `protobuf`.
    Thread-safe and picklable.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> ProtobufNoSrDeserializer(parse_columns("ID INT, NAME STRING"))(bytes.fromhex("0807"), SerdeContext("users"))
    {'ID': 7, 'NAME': ''}
    """

    _format = Format.PROTOBUF_NOSR


_SCHEMALESS: Final = {
    kind._format: kind
    for kind in (
        JsonDeserializer,
        KafkaDeserializer,
        DelimitedDeserializer,
        NoneDeserializer,
        ProtobufNoSrDeserializer,
    )
}


def deserializer_of(
    format_: Format | None, spec: ReadSpec, resolver: Resolver | None
) -> FramedDeserializer | SchemalessDeserializer:
    """What reads a format, as it was asked for. `format_` is None for what each schema says. `resolver` is which schema
    ids are accepted, of a format that has schemas."""
    if format_ is None or format_ in SCHEMA_FORMATS:
        assert resolver is not None
        return SchemaDeserializer.of_spec(resolver, spec, SCHEMA_FORMATS if format_ is None else (format_,))
    return _SCHEMALESS[format_].of_spec(spec)


class WindowedDeserializer:
    """Reads windowed keys: `WindowedKey(row, window)`, the row by another deserializer.

    An empty key is None, as for Kafka's `TimeWindowedDeserializer`. Thread-safe and picklable if the other is.

    >>> from srfix.serde import Role, SerdeContext, parse_columns
    >>> deserialize = WindowedDeserializer(KafkaDeserializer(parse_columns("ID INT KEY")), WindowKind.TIME, size_ms=500)
    >>> deserialize(bytes.fromhex("0000000700000000000003e8"), SerdeContext("counts", Role.KEY))
    WindowedKey(key={'ID': 7}, window=Window(start_ms=1000, end_ms=1500, sequence_number=None))
    """

    def __init__(self, deserializer: Deserializer, kind: WindowKind, *, size_ms: int | None = None) -> None:
        """
        :param size_ms: how long time windows are: their end is not in the bytes, and unknown without it.
        :raises UsageError: if the size is not positive, or is given for sessions, whose end is in the bytes.
        """
        size_ms = number_or_none("size_ms", size_ms)
        if size_ms is not None:
            if kind is WindowKind.SESSION:
                raise UsageError("Sessions have no size: their end is in the bytes. Leave size_ms out.")
            Window(0).with_size(size_ms)
        check_instance("deserializer", deserializer)
        self._deserializer = deserializer
        self._kind = member("kind", WindowKind, kind)
        self._size_ms = size_ms

    def __call__(self, payload: bytes | None, ctx: Context | str) -> WindowedKey[Value] | None:
        """The key and its window; None for a null key.

        :raises DecodeError: if the payload is too short for a window of the kind, or its times are none.
        :raises SrfixError: what the other deserializer raises.
        """
        if not payload:
            return None
        if isinstance(ctx, str):
            ctx = SerdeContext(ctx, Role.KEY)
        try:
            key, window = split(payload, self._kind)
        except DecodeError as error:
            raise read_from(error, ctx) from error
        if self._size_ms is not None:
            window = window.with_size(self._size_ms)
        return WindowedKey(self._deserializer(key, ctx), window)

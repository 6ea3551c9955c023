"""Payload → row. confluent_kafka's `DeserializingConsumer`, or any other code, can call these classes.

| class | payloads |
|---|---|
| `AvroDeserializer(resolver, columns=…)` | Avro under a registered schema |
| `JsonSchemaDeserializer(resolver, columns=…)` | JSON under a registered JSON Schema (ksqlDB's JSON_SR) |
| `ProtobufDeserializer(resolver, columns=…)` | Protobuf under a registered schema |
| `SchemaDeserializer(resolver, columns=…)` | any of these, by the schema's type |
| `JsonDeserializer(columns=…)` | plain JSON |
| `KafkaDeserializer(columns)` | a key or value of one column, as Kafka's own serializers write it |
| `DelimitedDeserializer(columns)` | a CSV record, like ksqlDB's DELIMITED |
| `NoneDeserializer()` | any bytes, read as None (ksqlDB's NONE) |
| `ProtobufNoSrDeserializer(columns)` | Protobuf under the columns' schema, without a registry (ksqlDB's PROTOBUF_NOSR) |
| `WindowedDeserializer(deserializer, kind)` | a windowed key: a key in any of these formats, and its window |
| `DataclassDeserializer(deserializer, Order)` | any of these with columns; a row is an `Order`, a dataclass |

With columns, a row has exactly these columns in their order. The writer's fields feed them under the case rule; a
column without a field is None. If no field feeds any column, the payload is refused (`NothingFedError`): it has another
record type, or the columns are misspelt. (Under ksqlDB's case rules, the payload is a row of nulls, as in ksqlDB.) A
field that holds null also feeds its column. With `strict=True` every column must have a field.

With `reader_schema=…` (Avro), the aliases, defaults and promotions of this schema count, as in Avro's schema
resolution: a renamed field is found by its alias, a field that the writer lacks has its default, and an int becomes the
reader's double. Without columns, a row has the reader's fields. By default, as in ksqlDB, none of this happens.

A DATE, TIME or TIMESTAMP is a datetime of the years 1 to 9999. With `times="integers"` all values of these types are
the integers in the record, in the unit that the writer's schema declares (`srfix.serde.columns.times`).

Columns that are marked as KEY belong to keys, the others to values (`ctx.field` decides). If none is marked, all
columns belong to both. `wrap` says whether a single column is wrapped in a record; None for ksqlDB's default, which
does not wrap a key's column. The row of a bare null is `{column: None}`; None always means a null payload.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from srfix.serde.arguments import check_instance, flag, member, number_or_none, usable_context, usable_payload
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

    `AvroDeserializer(ById(registry))` gives records with the writer's fields. With `columns`, a row has exactly these
    columns in their order. The writer's fields feed them under the case rule; a column without a field is None, and
    arrays of map entries become dicts. Thread-safe; picklable if its resolver is (a copy makes its decoders again).

    >>> from srfix.serde import AvroSerializer, ById, SerdeContext, parse_columns
    >>> users, columns = SerdeContext("users"), parse_columns("ID BIGINT, NAME STRING")
    >>> payload = AvroSerializer(registry, columns)({"ID": 7}, users)
    >>> AvroDeserializer(ById(registry), columns=parse_columns("id STRING"))(payload, users)
    {'ID': '7'}
    """

    _formats = (Format.AVRO,)


class JsonSchemaDeserializer(FramedDeserializer):
    """Reads JSON payloads under a JSON Schema, in the registry's framing: ksqlDB's JSON_SR.

    `JsonSchemaDeserializer(ById(registry))` gives documents unchanged; with `columns` it gives rows, like
    `AvroDeserializer`. Thread-safe; picklable if its resolver is.

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
        :param strict: True to refuse a record that leaves any column unfed (`ColumnNotFedError`).
        :param validate: True to check every body against its schema first (needs jsonschema-rs, the extra json-schema).
        :param times: with `"integers"`, a DATE, TIME or TIMESTAMP is the integer in the record.
        :raises ColumnError: if the columns cannot be used.
        """
        super().__init__(resolver, columns=columns, case_rule=case_rule, wrap=wrap, strict=strict, times=times)
        self._spec = replace(self._spec, validate=flag("validate", validate))


class ProtobufDeserializer(FramedDeserializer):
    """Reads Protobuf payloads in the registry's framing.

    `ProtobufDeserializer(ById(registry))` returns a message as a dict of its fields; with `columns` it
    returns rows, like `AvroDeserializer`. It needs the extra `protobuf`. Thread-safe; picklable if its resolver is.

    >>> from srfix.serde import ById, ProtobufSerializer, SerdeContext, parse_columns
    >>> prices, columns = SerdeContext("proto-prices"), parse_columns("ID BIGINT, SEEN TIMESTAMP")
    >>> payload = ProtobufSerializer(registry, columns)({"ID": 7}, prices)
    >>> ProtobufDeserializer(ById(registry), columns=columns)(payload, prices)
    {'ID': 7, 'SEEN': None}
    """

    _formats = (Format.PROTOBUF,)
    __call__ = FramedDeserializer._call  # without a detour by the kernel, which does not read Protobuf


class SchemaDeserializer(FramedDeserializer):
    """Reads payloads in the registry's framing by the serde of their schema's type: Avro, JSON Schema or Protobuf.

    Use it for topics that hold several formats, or whose format you do not know. Thread-safe; picklable if its resolver
    is.

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
        :param strict: True to refuse a record that leaves any column unfed (`ColumnNotFedError`).
        :param reader_schema: an Avro schema whose aliases, defaults and promotions count for Avro bodies.
        :param validate: True to check every JSON body against its schema first (needs jsonschema-rs, the extra json-schema).
        :param times: with `"integers"`, a DATE, TIME or TIMESTAMP is the integer in the record.
        :raises ColumnError: if the columns cannot be used.
        :raises SchemaError: if the reader's schema is not an Avro schema.
        :raises UsageError: if there is a reader's schema together with one of ksqlDB's case rules.
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

    `JsonDeserializer()` gives documents unchanged; `JsonDeserializer(columns)` gives rows, as ksqlDB reads them.
    Thread-safe and picklable.

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
    """Reads a CSV record with the columns as fields, in their order: ksqlDB's DELIMITED.

    Thread-safe and picklable.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> deserialize = DelimitedDeserializer(parse_columns("ID INT, NAME STRING"), delimiter="|")
    >>> deserialize(b'7|"Ada | Augusta"', SerdeContext("users"))
    {'ID': 7, 'NAME': 'Ada | Augusta'}
    """

    _format = Format.DELIMITED

    def __init__(self, columns: GivenColumns, *, delimiter: str = ",", times: Times = "datetimes") -> None:
        """
        :param delimiter: the separator between fields, like ksqlDB's VALUE_DELIMITER: a character, SPACE or TAB.
        :param times: with `"integers"`, a DATE, TIME or TIMESTAMP is the integer in the record.
        :raises ColumnError: if the columns cannot be used, or the format cannot hold them.
        :raises UsageError: if the delimiter cannot be used.
        """
        self._set(ReadSpec(columns=given_columns(columns), delimiter=delimiter, times=given_times(times)))


class NoneDeserializer(SchemalessDeserializer):
    """Reads every key or value as None, whatever its bytes are: ksqlDB's NONE.

    >>> from srfix.serde import Role, SerdeContext
    >>> NoneDeserializer()(b"7", SerdeContext("users", Role.KEY))
    """

    _format = Format.NONE


class ProtobufNoSrDeserializer(SchemalessDeserializer):
    """Reads Protobuf under the columns' own schema, without a registry: ksqlDB's PROTOBUF_NOSR.

    It needs the extra `protobuf`. Thread-safe and picklable.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> ProtobufNoSrDeserializer(parse_columns("ID INT, NAME STRING"))(bytes.fromhex("0807"), SerdeContext("users"))
    {'ID': 7, 'NAME': ''}
    """

    _format = Format.PROTOBUF_NOSR


_KINDS: Final = (JsonDeserializer, KafkaDeserializer, DelimitedDeserializer, NoneDeserializer, ProtobufNoSrDeserializer)
_SCHEMALESS: Final = {kind._format: kind for kind in _KINDS}


def deserializer_of(
    format_: Format | None, spec: ReadSpec, resolver: Resolver | None
) -> FramedDeserializer | SchemalessDeserializer:
    """If `format_` is None, each schema decides the format. Formats with schemas need a resolver."""
    if format_ is None or format_ in SCHEMA_FORMATS:
        assert resolver is not None
        kind = ProtobufDeserializer if format_ is Format.PROTOBUF else SchemaDeserializer
        return kind.of_spec(resolver, spec, SCHEMA_FORMATS if format_ is None else (format_,))
    return _SCHEMALESS[format_].of_spec(spec)


class WindowedDeserializer:
    """Reads windowed keys: `WindowedKey(row, window)`. Another deserializer reads the row.

    An empty key is None, as in Kafka's `TimeWindowedDeserializer`. Thread-safe and picklable if the other deserializer
    is.

    >>> from srfix.serde import Role, SerdeContext, parse_columns
    >>> deserialize = WindowedDeserializer(KafkaDeserializer(parse_columns("ID INT KEY")), WindowKind.TIME, size_ms=500)
    >>> deserialize(bytes.fromhex("0000000700000000000003e8"), SerdeContext("counts", Role.KEY))
    WindowedKey(key={'ID': 7}, window=Window(start_ms=1000, end_ms=1500, sequence_number=None))
    """

    def __init__(self, deserializer: Deserializer, kind: WindowKind, *, size_ms: int | None = None) -> None:
        """
        :param size_ms: the length of time windows. Their end is not in the bytes, so without the length it is unknown.
        :raises UsageError: if the size is not positive, or is given for sessions (their end is in the bytes).
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

        :raises DecodeError: if the payload is too short for a window of this kind, or its times are invalid.
        :raises SrfixError: what the other deserializer raises.
        """
        ctx = SerdeContext(ctx, Role.KEY) if isinstance(ctx, str) else usable_context(ctx)
        payload = None if payload is None else usable_payload(payload)
        if not payload:
            return None
        try:
            key, window = split(payload, self._kind)
        except DecodeError as error:
            raise read_from(error, ctx) from error
        if self._size_ms is not None:
            window = window.with_size(self._size_ms)
        return WindowedKey(self._deserializer(key, ctx), window)

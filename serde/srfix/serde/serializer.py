"""Row → payload. confluent_kafka's `SerializingProducer`, or any other code, can call these classes.

| class | payloads |
|---|---|
| `AvroSerializer(registry, columns)` | Avro under the columns' internal schema, as ksqlDB writes |
| `JsonSchemaSerializer(registry, columns)` | JSON under their JSON Schema (ksqlDB's JSON_SR) |
| `ProtobufSerializer(registry, columns)` | Protobuf under the columns' internal schema |
| `JsonSerializer(columns)` | plain JSON |
| `KafkaSerializer(columns)` | a key or value of one column, as Kafka's own serializers write it |
| `DelimitedSerializer(columns)` | a CSV record, like ksqlDB's DELIMITED |
| `NoneSerializer()` | null for every row (ksqlDB's NONE) |
| `ProtobufNoSrSerializer(columns)` | Protobuf under the columns' schema, without a registry (ksqlDB's PROTOBUF_NOSR) |
| `WindowedSerializer(serializer, kind)` | a windowed key: a key of any of these serializers, and its window |

The serializers with a registry also write under exactly a given schema (`for_schema`), or under a schema in the
registry (`schema_id`, `version`). Under a schema in the registry, they register nothing, names must match exactly, and
missing fields get the schema's defaults.

Columns that are marked as KEY belong to keys, the others to values (`ctx.field` decides). If none is marked, all
columns belong to both. `wrap` says whether a single column is wrapped in a record; None for ksqlDB's default, which
does not wrap a key's column. A bare null gives a null payload, as in ksqlDB.
"""

from __future__ import annotations

from typing import Final, Literal, Self

from srfix.serde.arguments import check_instance, flag, member, usable_context
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.times import Times, WrittenTimes, given_times
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import EncodeError, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.interface import Context, SchemaLookup, SchemaRegistrar, SerdeContext, Serializer
from srfix.serde.registries.given import AnyClient
from srfix.serde.schemas.models import Schema
from srfix.serde.serdes.framed_serializer import TOPIC_SUBJECT, FramedSerializer
from srfix.serde.serdes.located_errors import written_to
from srfix.serde.serdes.schemaless import SchemalessSerializer
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role, SubjectStrategy
from srfix.serde.windowed import WindowedKey, WindowKind, join
from srfix.serde.wire import Framing


class AvroSerializer(FramedSerializer):
    """Writes rows in Avro and the registry's framing.

    `AvroSerializer(registry, columns)` writes under the columns' internal schema, as ksqlDB does: the case rule matches
    a row's keys to the columns, and a missing column is null. `AvroSerializer.for_schema(registry, text)` writes rows
    under exactly that schema, by its field names. `AvroSerializer(registry, columns, schema_id=7)` writes under an
    existing schema, as ksqlDB does with a VALUE_SCHEMA_ID; so does `version="latest"`. Without columns, rows have the
    field names of this schema.

    The schema is registered once under the subject of each topic, by a POST whose answer is awaited; a cached read
    never replaces it. With `register=False` the subject must already hold the schema. Nothing is rounded, and no value
    changes its kind: a TIME or TIMESTAMP is written in milliseconds, so a finer time is refused, unless `cut_times` is
    set, or `times="micros"`. Thread-safe; picklable if its registry is.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> serialize = AvroSerializer(registry, parse_columns("ID BIGINT, NAME STRING"))
    >>> serialize({"id": 7, "Name": "Ada"}, SerdeContext("users"))[5:]
    b'\\x02\\x0e\\x02\\x06Ada'
    """

    _format = Format.AVRO

    def __init__(
        self,
        registry: SchemaRegistrar | SchemaLookup | AnyClient,
        columns: GivenColumns | None = None,
        *,
        subjects: SubjectStrategy = TOPIC_SUBJECT,
        case_rule: CaseRule | str = CaseRule.UNIQUE,
        wrap: bool | None = None,
        full_name: str | None = None,
        generation: Generation = Generation.UP_TO_0_28,
        written_by: WrittenBy = WrittenBy.SERIALIZER,
        schema_id: int | None = None,
        version: int | Literal["latest"] | None = None,
        register: bool = True,
        normalize: bool = False,
        schema_id_framing: Framing = Framing.PREFIX_ID,
        cut_times: bool = False,
        times: WrittenTimes = "datetimes",
    ) -> None:
        """A serializer of columns, or of rows under an existing schema; other parameters are those of
        `FramedSerializer`.

        :param full_name: the internal schema's record name with its namespace; None for ksqlDB's name.
        :param cut_times: True to cut times that are finer than the schema's unit; otherwise they are refused.
        :param times: with `"integers"`, a DATE, TIME or TIMESTAMP is given as the integer to write; with `"micros"`, the
            columns' own schema has microseconds.
        :raises ColumnError: if the columns cannot be used, or Avro does not allow their names.
        :raises UsageError: if none of columns, schema_id and version is given, or both schema_id and version.
        """
        super().__init__(
            registry,
            columns,
            subjects=subjects,
            case_rule=case_rule,
            wrap=wrap,
            generation=generation,
            written_by=written_by,
            schema_id=schema_id,
            version=version,
            register=register,
            normalize=normalize,
            schema_id_framing=schema_id_framing,
            full_name=full_name,
            cut_times=cut_times,
            times=times,
        )


class JsonSchemaSerializer(FramedSerializer):
    """Writes rows in JSON and the registry's framing: ksqlDB's JSON_SR.

    `JsonSchemaSerializer(registry, columns)` writes under the columns' internal JSON Schema; `for_schema` writes
    documents under exactly a given schema; `schema_id` and `version` write under an existing one. Registration, threads
    and pickling are the same as for `AvroSerializer`.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> serialize = JsonSchemaSerializer(registry, parse_columns("ID BIGINT, PRICE DECIMAL(6, 2)"))
    >>> serialize({"ID": 7}, SerdeContext("prices"))[5:]
    b'{"ID":7,"PRICE":null}'
    """

    _format = Format.JSON_SR

    def __init__(
        self,
        registry: SchemaRegistrar | SchemaLookup | AnyClient,
        columns: GivenColumns | None = None,
        *,
        subjects: SubjectStrategy = TOPIC_SUBJECT,
        case_rule: CaseRule | str = CaseRule.UNIQUE,
        wrap: bool | None = None,
        generation: Generation = Generation.UP_TO_0_28,
        written_by: WrittenBy = WrittenBy.SERIALIZER,
        schema_id: int | None = None,
        version: int | Literal["latest"] | None = None,
        register: bool = True,
        normalize: bool = False,
        schema_id_framing: Framing = Framing.PREFIX_ID,
        validate: bool = False,
        cut_times: bool = False,
        times: Times = "datetimes",
    ) -> None:
        """A serializer of columns, or of documents under an existing schema; other parameters are those of
        `FramedSerializer`.

        :param validate: True to check every body against the schema (needs jsonschema-rs, the extra json-schema).
        :param cut_times: True to cut times to milliseconds; otherwise finer times are refused.
        :param times: with `"integers"`, a DATE, TIME or TIMESTAMP is given as the integer to write.
        :raises ColumnError: if the columns cannot be used.
        :raises UsageError: if none of columns, schema_id and version is given, or both schema_id and version.
        """
        super().__init__(
            registry,
            columns,
            subjects=subjects,
            case_rule=case_rule,
            wrap=wrap,
            generation=generation,
            written_by=written_by,
            schema_id=schema_id,
            version=version,
            register=register,
            normalize=normalize,
            schema_id_framing=schema_id_framing,
            validate=validate,
            cut_times=cut_times,
            times=times,
        )

    @classmethod
    def for_schema(
        cls,
        registry: SchemaRegistrar | AnyClient,
        schema: str | Schema,
        *,
        subjects: SubjectStrategy = TOPIC_SUBJECT,
        register: bool = True,
        normalize: bool = False,
        schema_id_framing: Framing = Framing.PREFIX_ID,
        cut_times: bool = False,
        validate: bool = False,
        times: Times = "datetimes",
    ) -> Self:
        """A serializer that writes documents under exactly this schema: a text, or a schema with references, which are
        fetched with the first row. Without `validate`, a document is written even if it does not match the schema.

        :raises SchemaError: if `validate` is set and the text is not a JSON Schema.
        """
        spec = WriteSpec(validate=validate, cut_times=cut_times, times=given_times(times))
        options = {"subjects": subjects, "register": register, "normalize": normalize}
        return cls._for_schema(registry, schema, spec, schema_id_framing, options)


class ProtobufSerializer(FramedSerializer):
    """Writes rows in Protobuf and the registry's framing.

    `ProtobufSerializer(registry, columns)` writes under the columns' internal schema, as ksqlDB does. `for_schema` writes
    dicts of fields under exactly a given schema. `schema_id` and `version` write under an existing schema: its first
    message, or the one that `full_name` names. A key of one column is written as a message with one field,
    too. It needs the extra `protobuf`. Registration, threads and pickling are the same as for `AvroSerializer`.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> serialize = ProtobufSerializer(registry, parse_columns("ID BIGINT, NAME STRING"))
    >>> serialize({"ID": 7, "NAME": "Ada"}, SerdeContext("proto-users"))[5:]
    b'\\x00\\x08\\x07\\x12\\x03Ada'
    """

    _format = Format.PROTOBUF
    __call__ = FramedSerializer._call  # without a detour by the kernel, which does not write Protobuf


class JsonSerializer(SchemalessSerializer):
    """Writes plain JSON: no registry, no framing. Times finer than milliseconds are refused, unless `cut_times` is set.

    `JsonSerializer()` writes documents unchanged; `JsonSerializer(columns)` writes rows, as ksqlDB writes them.
    Thread-safe and picklable.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> serialize = JsonSerializer(parse_columns("ID INT, TAGS MAP<STRING, DOUBLE>"))
    >>> serialize({"id": 7, "tags": {"a": 1.0}}, SerdeContext("users"))
    b'{"ID":7,"TAGS":{"a":1.0}}'
    """

    _format = Format.JSON


class KafkaSerializer(SchemalessSerializer):
    """Writes a key or value of one column as Kafka's own serializers do: ksqlDB's default format of keys.

    The row is `{column: value}`. Thread-safe and picklable.

    >>> from srfix.serde import Role, SerdeContext, parse_columns
    >>> KafkaSerializer(parse_columns("ID INT KEY"))({"ID": 7}, SerdeContext("users", Role.KEY))
    b'\\x00\\x00\\x00\\x07'
    """

    _format = Format.KAFKA

    def __init__(self, columns: GivenColumns, *, case_rule: CaseRule | str = CaseRule.UNIQUE) -> None:
        """:raises ColumnError: if a half has several columns, or the format cannot hold the type."""
        super().__init__(given_columns(columns, names="upper"), case_rule=case_rule, wrap=False)


class DelimitedSerializer(SchemalessSerializer):
    """Writes a CSV record with the columns as fields, in their order: ksqlDB's DELIMITED.

    Thread-safe and picklable.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> DelimitedSerializer(parse_columns("ID INT, NAME STRING"))({"id": 7, "name": "Ada, Augusta"}, SerdeContext("users"))
    b'7,"Ada, Augusta"'
    """

    _format = Format.DELIMITED

    def __init__(
        self,
        columns: GivenColumns,
        *,
        delimiter: str = ",",
        case_rule: CaseRule | str = CaseRule.UNIQUE,
        cut_times: bool = False,
        times: Times = "datetimes",
    ) -> None:
        """
        :param delimiter: the separator between fields, like ksqlDB's VALUE_DELIMITER: a character, SPACE or TAB.
        :param cut_times: True to cut times to milliseconds; otherwise finer times are refused.
        :param times: with `"integers"`, a DATE, TIME or TIMESTAMP is given as the integer to write.
        :raises ColumnError: if the columns cannot be used, or the format cannot hold them.
        :raises UsageError: if the delimiter cannot be used.
        """
        self._set(
            WriteSpec(
                columns=given_columns(columns, names="upper"),
                delimiter=delimiter,
                case_rule=member("case_rule", CaseRule, case_rule),
                cut_times=flag("cut_times", cut_times),
                times=given_times(times),
            )
        )


class NoneSerializer(SchemalessSerializer):
    """Writes every key or value as null: ksqlDB's NONE.

    >>> from srfix.serde import Role, SerdeContext
    >>> NoneSerializer()({"ID": 7}, SerdeContext("users", Role.KEY))
    """

    _format = Format.NONE


class ProtobufNoSrSerializer(SchemalessSerializer):
    """Writes Protobuf under the columns' own schema, without a registry: ksqlDB's PROTOBUF_NOSR.

    It needs the extra `protobuf`. Thread-safe and picklable.

    >>> from srfix.serde import SerdeContext, parse_columns
    >>> ProtobufNoSrSerializer(parse_columns("ID INT, NAME STRING"))({"ID": 7}, SerdeContext("users"))
    b'\\x08\\x07'
    """

    _format = Format.PROTOBUF_NOSR


FRAMED: Final[dict[Format, type[FramedSerializer]]] = {
    kind._format: kind for kind in (AvroSerializer, JsonSchemaSerializer, ProtobufSerializer)
}
SCHEMALESS: Final[dict[Format, type[SchemalessSerializer]]] = {
    kind._format: kind
    for kind in (JsonSerializer, KafkaSerializer, DelimitedSerializer, NoneSerializer, ProtobufNoSrSerializer)
}


class WindowedSerializer:
    """Writes windowed keys, `WindowedKey(row, window)`: another serializer writes the row, and the window follows.

    Thread-safe and picklable if the other serializer is.

    >>> from srfix.serde import Role, SerdeContext, Window, parse_columns
    >>> serialize = WindowedSerializer(KafkaSerializer(parse_columns("ID INT KEY")), WindowKind.TIME)
    >>> serialize(WindowedKey({"ID": 7}, Window(1000)), SerdeContext("counts", Role.KEY)).hex()
    '0000000700000000000003e8'
    """

    def __init__(self, serializer: Serializer, kind: WindowKind) -> None:
        check_instance("serializer", serializer)
        self._serializer = serializer
        self._kind = member("kind", WindowKind, kind)

    def __call__(self, key: object, ctx: Context | str) -> bytes | None:
        """The payload; None for None (a null key).

        :raises EncodeError: if the argument is not a `WindowedKey`, its key is null, or its window lacks a value that
            this kind writes.
        :raises SrfixError: any error of the other serializer.
        """
        ctx = SerdeContext(ctx, Role.KEY) if isinstance(ctx, str) else usable_context(ctx)
        if key is None:
            return None
        if not isinstance(key, WindowedKey):
            error = EncodeError(f"A windowed key is a WindowedKey(key, window), not of the type {type(key).__name__}.")
            raise written_to(error, ctx)
        payload = self._serializer(key.key, ctx)
        if payload is None:
            raise written_to(
                EncodeError("The key inside the window is null. Only the whole windowed key can be null."), ctx
            )
        try:
            return join(payload, key.window, self._kind)
        except UsageError as error:
            raise written_to(EncodeError(error.message), ctx) from error

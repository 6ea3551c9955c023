"""confluent-kafka's Avro serdes: the same constructors, configuration, bytes and rows, built from srfix's own parts.

>>> from srfix.serde.confluent import AvroDeserializer, AvroSerializer
>>> from srfix.serde import SerdeContext  # or confluent_kafka's SerializationContext
>>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
>>> serialize = AvroSerializer(registry, text, conf={"normalize.schemas": True})
>>> AvroDeserializer(registry)(serialize({"id": 7}, SerdeContext("orders")), SerdeContext("orders"))
{'id': 7}

The differences from confluent-kafka 2.16:

| what | confluent-kafka | here |
|---|---|---|
| subject without configuration | asks the registry for an association, then uses the topic's subject | the topic's subject |
| payloads of up to 5 bytes | refused, also with header framing | read: a record without fields is legal |
| bytes after the last field | ignored | `TrailingBytesError` |
| negative union branches and enum symbols | counted from the end | `DecodeError` |
| booleans other than 0 and 1, ints of more than 32 bits | read | `DecodeError`, unless a reader's schema is used |
| a decimal with more digits than its precision | rounded | unchanged |
| a schema id header that holds an id, or null | id: read; null: ignored | `MalformedHeaderError` |
| two schema id headers | the first counts | the last counts, as in Kafka's `lastHeader` |
| writing to headers that already have one | adds a second header | replaces the header |
| one serializer, subjects with different ids | the id of the last registered subject | each subject's own id |
| `use.schema.id` with a registry of 8.x | fails: no id in the answer | works |
| a record that does not fit its schema | the schema is registered nevertheless | nothing is registered |
| an id that its subject does not hold, in a named context | refused: the request names the subject | read |
| an id, if another context has a subject with the same name | that context's schema | its own context's schema |
| a registration | may be answered from the client's cache | always sent, once per subject |
| times beyond the years 1 to 9999 | OverflowError | `OutOfRangeError` with the path; `"times": "integers"` reads them |
| a time before or after its day | becomes another time | `OutOfRangeError`, as above |
| rules, CSFLE, inline validation rules | executed | refused by name |
| a schema of another type | read as Avro | `SchemaError` |
| ints of more than 32 bits | written | `EncodeError` |
| errors | fastavro's, SerializationError, SchemaRegistryError | `SrfixError`, which is also one of the latter two (`serde`) |
| pickling | no | yes, if the client can be pickled; a confluent_kafka client without secrets can |
"""

from __future__ import annotations

from typing import Any, Unpack, overload

from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns
from srfix.serde.confluent.avro_codec import AvroSchema, prepared_text
from srfix.serde.confluent.config import AnyPolicy, Conf, SerdeClass, check_no_rules, shape_of, written_columns
from srfix.serde.confluent.deserializer import ColumnOptions, ConfluentDeserializer, FromDict, R, ReadOptions, T
from srfix.serde.confluent.serializer import ConfluentSerializer, ToDict
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import UsageError
from srfix.serde.registries.confluent_client import AnySchema
from srfix.serde.registries.given import AnyClient


class AvroSerializer(ConfluentSerializer):
    """Object → Avro payload. Called `(object, context)`. Thread-safe."""

    _kind, _schema_type, _make = SerdeClass.AVRO_SERIALIZER, "AVRO", AvroSchema
    _prepare = staticmethod(prepared_text)

    def __init__(
        self,
        schema_registry_client: AnyClient,
        schema_str: AnySchema = None,
        to_dict: ToDict | None = None,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
        *,
        columns: GivenColumns | None = None,
        case_rule: CaseRule | str | None = None,
        wrap: bool | None = None,
        full_name: str | None = None,
        generation: Generation | None = None,
        written_by: WrittenBy | None = None,
        cut_times: bool = False,
    ) -> None:
        """See `ConfluentSerde`.

        :param schema_str: the schema to write under; None if columns or the configuration define it.
        :param to_dict: called with object and context; its result is written.
        :param columns: the columns of a row: text, a dataclass, a StructType. A row's keys match them in any letter
            case. Without a schema, a row is written under the columns' internal schema, as ksqlDB does.
        :param case_rule: the rule that matches a row's keys to the columns: a `CaseRule` or its word.
        :param wrap: whether a single column is wrapped in a record; None for ksqlDB's default.
        :param full_name: the internal schema's record name with its namespace; None for ksqlDB's name.
        :param generation: the ksqlDB version whose internal schema is used.
        :param written_by: which of ksqlDB's two writers made the schema.
        :param cut_times: True to cut times that are finer than the schema's unit; otherwise they are refused.
        """
        check_no_rules(rule_conf, rule_registry)
        schema_options = {"full_name": full_name, "generation": generation, "written_by": written_by}
        written = written_columns(columns, case_rule=case_rule, wrap=wrap, cut_times=cut_times, **schema_options)
        self._begin(schema_registry_client, schema_str, to_dict, conf, written)


class AvroDeserializer(ConfluentDeserializer[T]):
    """Avro payload → row. Called `(payload, context)`. Thread-safe.

    With `into=Order` (or `columns=Order`), a dataclass, it is an `AvroDeserializer[Order | None]`: None is a tombstone.
    """

    _kind, _schema_type, _make = SerdeClass.AVRO_DESERIALIZER, "AVRO", AvroSchema
    _prepare = staticmethod(prepared_text)

    @overload
    def __init__(
        self: AvroDeserializer[R | None],
        schema_registry_client: AnyClient,
        schema_str: AnySchema = None,
        *,
        columns: type[R],
        **options: Unpack[ReadOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AvroDeserializer[R | None],
        schema_registry_client: AnyClient,
        schema_str: AnySchema = None,
        *,
        columns: GivenColumns | None = None,
        into: type[R],
        **options: Unpack[ReadOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: AvroDeserializer[object],
        schema_registry_client: AnyClient,
        schema_str: AnySchema = None,
        from_dict: FromDict | None = None,
        return_record_name: bool = False,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
        *,
        columns: GivenColumns | None = None,
        into: None = None,
        **options: Unpack[ColumnOptions],
    ) -> None: ...
    def __init__(
        self,
        schema_registry_client: AnyClient,
        schema_str: AnySchema = None,
        from_dict: FromDict | None = None,
        return_record_name: bool = False,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
        *,
        columns: GivenColumns | None = None,
        into: type[Any] | None = None,
        case_rule: CaseRule | str | None = None,
        wrap: bool | None = None,
        strict: bool = False,
        policy: AnyPolicy | None = None,
    ) -> None:
        """See `ConfluentSerde`.

        :param schema_str: the reader's schema; None to read as the writer wrote.
        :param from_dict: called with row and context; its result is returned.
        :param return_record_name: True to return records in unions of records as (name, record).
        :param columns: the columns of a row: text, a dataclass, a StructType. The writer's fields feed them under the
            case rule; a column without a field is None.
        :param into: a dataclass: the rows become its instances. Without columns, its fields are the columns.
        :param case_rule: the rule that decides which field feeds a column: a `CaseRule` or its word.
        :param wrap: whether a single column is wrapped in a record; None for ksqlDB's default.
        :param strict: True to refuse a record that leaves a column without a field.
        :param policy: decides which ids are accepted: for example a `DualSubject`, or the word `by-id` or
            `one-subject`; None for `by-id`.
        """
        check_no_rules(rule_conf, rule_registry)
        if not isinstance(return_record_name, bool):
            raise UsageError(
                f"return_record_name is of the type {type(return_record_name).__name__}; it must be a bool."
            )
        if schema_registry_client is None:
            raise UsageError("schema_registry_client is None, but only a registry can give the writer's schema.")
        shape = shape_of(columns, into, case_rule=case_rule, wrap=wrap, strict=strict)
        if shape is not None and return_record_name:
            raise UsageError("return_record_name does not work together with columns. Leave one of them out.")
        codec_options = {"return_record_name": return_record_name}
        self._begin(schema_registry_client, schema_str, from_dict, conf, shape, policy, codec_options)

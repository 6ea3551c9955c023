"""confluent-kafka's Avro serdes: its constructors, configuration, bytes and rows, from our own parts.

>>> from srfix.serde.confluent import AvroDeserializer, AvroSerializer
>>> from srfix.serde import SerdeContext  # or confluent_kafka's SerializationContext
>>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
>>> serialize = AvroSerializer(registry, text, conf={"normalize.schemas": True})
>>> AvroDeserializer(registry)(serialize({"id": 7}, SerdeContext("orders")), SerdeContext("orders"))
{'id': 7}

What differs from confluent-kafka 2.16, and why:

| what | confluent-kafka | here |
|---|---|---|
| subject, nothing configured | asks the registry for an association first, then the topic's | the topic's |
| payloads of up to 5 bytes | refused, with header framing too | read: a record without fields is legal |
| bytes behind the last field | ignored | `TrailingBytesError` |
| negative union branches and enum symbols | counted from the end | `DecodeError` |
| booleans other than 0 and 1, ints of more than 32 bits | read | `DecodeError`, unless a reader's schema is used |
| a decimal with more digits than its precision | rounded | as it is |
| a schema id header that holds an id, or null | read; passed over | `MalformedHeaderError` |
| two schema id headers | the first counts | the last, as in Kafka's `lastHeader` |
| writing where there is one already | adds a second | replaces it |
| one serializer, subjects with different ids | the id of the subject that was registered last | each subject's own |
| `use.schema.id` with a registry of 8.x | fails: no id in the answer | works |
| a record that does not fit | its schema is registered all the same | nothing is registered |
| an id that its subject does not hold, in a named context | refused: the request names the subject | read |
| an id, where another context has a subject of the same name | that context's schema | the own context's |
| a registration | answered from what the client has read | always sent, once per subject |
| times beyond the years 1 to 9999 | OverflowError | `OutOfRangeError` says which; `"times": "integers"` reads them |
| a time before or after its day | another time | the same |
| rules, CSFLE, inline validation rules | executed | refused by name |
| a schema of another type | read as Avro | `SchemaError` |
| ints of more than 32 bits | written | `EncodeError` |
| errors | fastavro's, SerializationError, SchemaRegistryError | `SrfixError`, each one of the latter two as well (`serde`) |
| pickling | no | yes, if the client can be; a confluent_kafka one without secrets can |
"""

from __future__ import annotations

from typing import Any, Unpack, overload

from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns
from srfix.serde.confluent.avro_codec import AvroSchema, prepared_text
from srfix.serde.confluent.columns import AnyPolicy, shape_of, written_columns
from srfix.serde.confluent.config import Conf, SerdeClass, check_no_rules
from srfix.serde.confluent.deserializer import ConfluentDeserializer, FromDict, R, ReadOptions, T
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

        :param schema_str: None where columns, or the configuration, say what to write under.
        :param to_dict: called with object and context; what it answers is written.
        :param columns: what a row has: text, a dataclass, a StructType. Its keys are matched whatever their letter case, and
            without a schema it is written under the columns' internal schema, as ksqlDB does.
        :param case_rule: how a row's keys are matched to the columns, as a `CaseRule` or its word.
        :param wrap: whether a single column stands in a record; None is ksqlDB's default.
        :param full_name: the internal schema's record name with its namespace; None is ksqlDB's.
        :param generation: which ksqlDB's internal schema is written under.
        :param written_by: which of its two writers'.
        :param cut_times: True to cut times that are finer than the schema's; refused otherwise.
        """
        check_no_rules(rule_conf, rule_registry)
        options: dict[str, Any] = {
            "columns": columns,
            "case_rule": case_rule,
            "wrap": wrap,
            "full_name": full_name,
            "generation": generation,
            "written_by": written_by,
            "cut_times": cut_times,
        }
        written = written_columns(**options)
        self._begin(schema_registry_client, schema_str, to_dict, conf, written, options)


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
        case_rule: CaseRule | str | None = None,
        wrap: bool | None = None,
        strict: bool = False,
        policy: AnyPolicy | None = None,
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
        :param from_dict: called with row and context; what it answers is given.
        :param return_record_name: True for records in unions of records as (name, record).
        :param columns: what a row has: text, a dataclass, a StructType. They are fed by the writer's fields under the case
            rule; a column that none feeds is None.
        :param into: a dataclass whose instances the rows become, of the columns or, without, of its own.
        :param case_rule: which field feeds which column, as a `CaseRule` or its word.
        :param wrap: whether a single column stands in a record; None is ksqlDB's default.
        :param strict: True to refuse what leaves any of the columns unfed.
        :param policy: which ids are accepted: a `DualSubject`, say, or the word `by-id` or `one-subject`; None is by id.
        """
        check_no_rules(rule_conf, rule_registry)
        if not isinstance(return_record_name, bool):
            raise UsageError(
                f"return_record_name is of the type {type(return_record_name).__name__}; it must be a bool."
            )
        if schema_registry_client is None:
            raise UsageError("schema_registry_client is None, but only a registry can give the writer's schema.")
        shape = shape_of(columns, into=into, case_rule=case_rule, wrap=wrap, strict=strict)
        if shape is not None and return_record_name:
            raise UsageError("return_record_name does not work together with columns. Leave one of them out.")
        codec_options = {"return_record_name": return_record_name}
        self._begin(schema_registry_client, schema_str, from_dict, conf, shape, policy, codec_options)

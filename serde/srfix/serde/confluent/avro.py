"""confluent-kafka's Avro serdes: its constructors, configuration, bytes and rows, from our own parts.

>>> from srfix.serde.confluent import AvroDeserializer, AvroSerializer
>>> from srfix.serde import SerdeContext  # or confluent_kafka's SerializationContext
>>> text = '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
>>> serialize = AvroSerializer(registry, text, conf={"normalize.schemas": True})
>>> AvroDeserializer(registry)(serialize({"id": 7}, SerdeContext("orders")), SerdeContext("orders"))
{'id': 7}

What differs from confluent-kafka 2.16, and why:

| | confluent-kafka | here |
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
| times beyond the years 1 to 9999 | fastavro's OverflowError | `OutOfRangeError` says which; `"times": "integers"` reads them |
| rules, CSFLE, inline validation rules | executed | refused by name |
| a schema of another type | read as Avro | `SchemaError` |
| errors | fastavro's, SerializationError, SchemaRegistryError | `SrfixError`; producers and consumers wrap them |
| pickling | no | yes, if the client can be; a confluent_kafka one without secrets can |
"""

from __future__ import annotations

from functools import partial

from srfix.serde.confluent.avro_codec import AvroSchema, prepared_text
from srfix.serde.confluent.config import Conf, SerdeClass, check_no_rules
from srfix.serde.confluent.confluent_client import AnySchema
from srfix.serde.confluent.deserializer import ConfluentDeserializer, FromDict
from srfix.serde.confluent.registry import AnyClient
from srfix.serde.confluent.serializer import ConfluentSerializer, ToDict
from srfix.serde.errors import UsageError


class AvroSerializer(ConfluentSerializer):
    """Object → Avro payload. Called `(object, context)`. Thread-safe."""

    _kind, _schema_type, _prepare = SerdeClass.AVRO_SERIALIZER, "AVRO", staticmethod(prepared_text)

    def __init__(
        self,
        schema_registry_client: AnyClient,
        schema_str: AnySchema = None,
        to_dict: ToDict | None = None,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
    ) -> None:
        """See `ConfluentSerde`.

        :param schema_str: None where the configuration says which of the registry's schemas to use.
        :param to_dict: called with object and context; what it answers is written.
        """
        check_no_rules(rule_conf, rule_registry)
        self._begin(schema_registry_client, schema_str, to_dict, conf, AvroSchema)
        self._remake = partial(type(self), schema_str=schema_str, to_dict=to_dict, conf=conf)


class AvroDeserializer(ConfluentDeserializer):
    """Avro payload → row. Called `(payload, context)`. Thread-safe."""

    _kind, _schema_type, _prepare = SerdeClass.AVRO_DESERIALIZER, "AVRO", staticmethod(prepared_text)

    def __init__(
        self,
        schema_registry_client: AnyClient,
        schema_str: AnySchema = None,
        from_dict: FromDict | None = None,
        return_record_name: bool = False,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
    ) -> None:
        """See `ConfluentSerde`.

        :param schema_str: the reader's schema; None to read as the writer wrote.
        :param from_dict: called with row and context; what it answers is given.
        :param return_record_name: True for records in unions of records as (name, record).
        """
        check_no_rules(rule_conf, rule_registry)
        if not isinstance(return_record_name, bool):
            raise UsageError(
                f"return_record_name is of the type {type(return_record_name).__name__}; it must be a bool."
            )
        if schema_registry_client is None:
            raise UsageError("schema_registry_client is None, and the writer's schema is found by nothing else.")
        make = partial(AvroSchema, return_record_name=return_record_name)
        self._begin(schema_registry_client, schema_str, from_dict, conf, make)
        self._remake = partial(
            type(self),
            schema_str=schema_str,
            from_dict=from_dict,
            return_record_name=return_record_name,
            conf=conf,
        )

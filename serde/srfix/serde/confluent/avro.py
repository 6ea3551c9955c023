"""confluent-kafka's Avro serdes: its constructors, configuration, bytes and rows, from our own parts.

>>> from srfix.serde.confluent import AvroDeserializer, AvroSerializer
>>> from srfix.serde.interface import SerdeContext  # or confluent_kafka's SerializationContext
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
| rules, CSFLE, inline validation rules | executed | refused by name |
| a schema of another type | read as Avro | `SchemaError` |
| errors | fastavro's, SerializationError, SchemaRegistryError | `SrfixError`; producers and consumers wrap them |
| pickling | no | yes, if the client can be; a confluent_kafka one without secrets can |
"""

from __future__ import annotations

from functools import partial
from typing import Final, cast

from srfix.serde.confluent._avro_codec import AvroSchema, prepared_text
from srfix.serde.confluent._config import Conf, Kind, check_no_rules, settings
from srfix.serde.confluent._deserializer import ConfluentDeserializer, FromDict, Readable
from srfix.serde.confluent._known import AnySchema, given_schema
from srfix.serde.confluent._references import References
from srfix.serde.confluent._registry import AnyClient
from srfix.serde.confluent._serializer import ConfluentSerializer, ToDict
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import UsageError

__all__ = ["AvroDeserializer", "AvroSerializer"]

_AVRO: Final = "AVRO"


class AvroSerializer(ConfluentSerializer):
    """Object → Avro payload. Called `(object, context)`. Thread-safe."""

    def __init__(
        self,
        schema_registry_client: AnyClient,
        schema_str: AnySchema = None,
        to_dict: ToDict | None = None,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
    ) -> None:
        """Nothing is asked of the registry yet, unless the schema has references.

        :param schema_registry_client: ours, confluent_kafka's, or a URL.
        :param schema_str: a text, or a `Schema`; None where the configuration says which of the registry's to use.
        :param to_dict: called with object and context; what it answers is written.
        :param conf: keys as in `srfix.serde.confluent._config`.
        :param rule_conf: refused unless empty, as is `rule_registry`.
        :raises UsageError: if an argument or a key of the configuration makes no sense, or is not supported.
        :raises SchemaError: if the schema is not an Avro schema.
        :raises ResolveError: if it refers to one that the registry does not have.
        """
        check_no_rules(rule_conf, rule_registry)
        asked = settings(Kind.AVRO_SERIALIZER, conf)
        compile_ = partial(_encoder, strict=asked.strict, strict_allow_default=asked.strict_allow_default)
        given = given_schema(schema_str, _AVRO, prepared_text)
        self._start(Kind.AVRO_SERIALIZER, _AVRO, schema_registry_client, given, asked, to_dict, compile_)
        self._remake = partial(type(self), schema_str=schema_str, to_dict=to_dict, conf=conf)


class AvroDeserializer(ConfluentDeserializer):
    """Avro payload → row. Called `(payload, context)`. Thread-safe."""

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
        """Nothing is asked of the registry yet, unless the schema has references.

        :param schema_registry_client: ours, confluent_kafka's, or a URL.
        :param schema_str: the reader's schema; None to read as the writer wrote.
        :param from_dict: called with row and context; what it answers is given.
        :param return_record_name: True for records in unions of records as (name, record).
        :param conf: keys as in `srfix.serde.confluent._config`.
        :param rule_conf: refused unless empty, as is `rule_registry`.
        :raises UsageError: if an argument or a key of the configuration makes no sense, or is not supported.
        :raises SchemaError: if the schema is not an Avro schema.
        :raises ResolveError: if it refers to one that the registry does not have.
        """
        check_no_rules(rule_conf, rule_registry)
        asked = settings(Kind.AVRO_DESERIALIZER, conf)
        if not isinstance(return_record_name, bool):
            raise UsageError(
                f"return_record_name is of the type {type(return_record_name).__name__}; it must be a bool."
            )
        if schema_registry_client is None:
            raise UsageError("schema_registry_client is None, and the writer's schema is found by nothing else.")
        compile_ = partial(_decoder, return_record_name=return_record_name)
        given = given_schema(schema_str, _AVRO, prepared_text)
        self._start(_AVRO, schema_registry_client, given, asked, from_dict, AvroSchema, compile_)
        self._remake = partial(
            type(self),
            schema_str=schema_str,
            from_dict=from_dict,
            return_record_name=return_record_name,
            conf=conf,
        )


def _encoder(
    text: str, references: References, *, strict: bool, strict_allow_default: bool
) -> tuple[Encode, str | None]:
    schema = AvroSchema(text, references)
    return schema.encoder(strict=strict, strict_allow_default=strict_allow_default), schema.written_name


def _decoder(writer: Readable | None, reader: Readable | None, *, return_record_name: bool) -> Decode:
    return cast("AvroSchema", writer).decoder(cast("AvroSchema | None", reader), return_record_name=return_record_name)

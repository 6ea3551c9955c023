"""confluent-kafka's JSON Schema serdes: its constructors, configuration, bytes and rows, from our own parts.

>>> from srfix.serde.confluent import JSONDeserializer, JSONSerializer
>>> from srfix.serde import SerdeContext  # or confluent_kafka's SerializationContext
>>> text = '{"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}}'
>>> serialize = JSONSerializer(text, registry, conf={"validate": True})
>>> deserialize = JSONDeserializer(None, schema_registry_client=registry)
>>> deserialize(serialize({"id": 7}, SerdeContext("orders")), SerdeContext("orders"))
{'id': 7}

What differs from confluent-kafka 2.16, besides what `srfix.serde.confluent.avro` says of both:

| | confluent-kafka | here |
|---|---|---|
| validation | the library jsonschema, in Python | jsonschema-rs, with the same settings |
| patterns | Python's `re` | ECMA 262, as the specification has it |
| tuples, dates … when writing | no type of JSON's: refused where one is asked for | as orjson writes them |
| `$ref` to a URL | fetched | refused: only references are looked at |
| without orjson | falls back to the standard library | orjson is always there |
"""

from __future__ import annotations

from functools import partial

from srfix.serde.confluent.config import Conf, SerdeClass, check_callable, check_no_rules
from srfix.serde.confluent.confluent_client import AnySchema
from srfix.serde.confluent.deserializer import ConfluentDeserializer, FromDict
from srfix.serde.confluent.json_codec import JsonDecode, JsonEncode, JsonSchema
from srfix.serde.confluent.registry import AnyClient
from srfix.serde.confluent.serializer import ConfluentSerializer, ToDict


class JSONSerializer(ConfluentSerializer):
    """Object → JSON payload. Called `(object, context)`. Thread-safe."""

    _kind, _schema_type = SerdeClass.JSON_SERIALIZER, "JSON"

    def __init__(
        self,
        schema_str: AnySchema,
        schema_registry_client: AnyClient,
        to_dict: ToDict | None = None,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
        json_encode: JsonEncode | None = None,
    ) -> None:
        """See `ConfluentSerde`.

        :param schema_str: None where the configuration says which of the registry's schemas to use.
        :param to_dict: called with object and context; what it answers is written.
        :param json_encode: writes in place of orjson: object → str or bytes.
        :raises UsageError: if it is to validate and jsonschema-rs is not installed.
        """
        check_no_rules(rule_conf, rule_registry)
        check_callable("json_encode", json_encode, "(object) -> str or bytes")
        self._begin(schema_registry_client, schema_str, to_dict, conf, partial(JsonSchema, encode=json_encode))
        self._remake = partial(type(self), schema_str, to_dict=to_dict, conf=conf, json_encode=json_encode)


class JSONDeserializer(ConfluentDeserializer):
    """JSON payload → row. Called `(payload, context)`. Thread-safe."""

    _kind, _schema_type = SerdeClass.JSON_DESERIALIZER, "JSON"

    def __init__(
        self,
        schema_str: AnySchema,
        from_dict: FromDict | None = None,
        schema_registry_client: AnyClient | None = None,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
        json_decode: JsonDecode | None = None,
    ) -> None:
        """See `ConfluentSerde`.

        :param schema_str: the reader's schema, which validates; None to take the writer's.
        :param from_dict: called with row and context; what it answers is given.
        :param schema_registry_client: None where the reader's schema is all that is needed.
        :param json_decode: reads in place of orjson: bytes → value.
        """
        check_no_rules(rule_conf, rule_registry)
        check_callable("json_decode", json_decode, "(bytes) -> value")
        self._begin(schema_registry_client, schema_str, from_dict, conf, partial(JsonSchema, decode=json_decode))
        self._remake = partial(type(self), schema_str, from_dict, conf=conf, json_decode=json_decode)

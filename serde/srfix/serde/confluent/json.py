"""confluent-kafka's JSON Schema serdes: its constructors, configuration, bytes and rows, from our own parts.

>>> from srfix.serde.confluent import JSONDeserializer, JSONSerializer
>>> from srfix.serde.interface import SerdeContext  # or confluent_kafka's SerializationContext
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

from collections.abc import Callable
from functools import partial
from typing import Final, cast

from srfix.serde.confluent._config import Conf, Kind, check_callable, check_no_rules, settings
from srfix.serde.confluent._deserializer import ConfluentDeserializer, FromDict, Readable
from srfix.serde.confluent._json_codec import JsonDecode, JsonEncode, JsonSchema, decoder, encoder
from srfix.serde.confluent._known import AnySchema, given_schema
from srfix.serde.confluent._references import References
from srfix.serde.confluent._registry import AnyClient
from srfix.serde.confluent._serializer import ConfluentSerializer, ToDict
from srfix.serde.engine import Decode, Encode

__all__ = ["JSONDeserializer", "JSONSerializer"]

_JSON: Final = "JSON"


class JSONSerializer(ConfluentSerializer):
    """Object → JSON payload. Called `(object, context)`. Thread-safe."""

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
        """Nothing is asked of the registry yet, unless the schema has references.

        :param schema_str: a text, or a `Schema`; None where the configuration says which of the registry's to use.
        :param schema_registry_client: ours, confluent_kafka's, or a URL.
        :param to_dict: called with object and context; what it answers is written.
        :param conf: keys as in `srfix.serde.confluent._config`.
        :param rule_conf: refused unless empty, as is `rule_registry`.
        :param json_encode: writes in place of orjson: object → str or bytes.
        :raises UsageError: if an argument or a key of the configuration makes no sense, or is not supported; if it is to
            validate and jsonschema-rs is not installed.
        :raises SchemaError: if the schema is not a JSON Schema.
        :raises ResolveError: if it refers to one that the registry does not have.
        """
        check_no_rules(rule_conf, rule_registry)
        check_callable("json_encode", json_encode, "(object) -> str or bytes")
        asked = settings(Kind.JSON_SERIALIZER, conf)
        compile_ = partial(_encoder, validate=asked.validate, json_encode=json_encode)
        given = given_schema(schema_str, _JSON, str)
        self._start(Kind.JSON_SERIALIZER, _JSON, schema_registry_client, given, asked, to_dict, compile_)
        self._remake = cast(
            "Callable[[AnyClient], ConfluentSerializer]",
            partial(type(self), schema_str, to_dict=to_dict, conf=conf, json_encode=json_encode),
        )


class JSONDeserializer(ConfluentDeserializer):
    """JSON payload → row. Called `(payload, context)`. Thread-safe."""

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
        """Nothing is asked of the registry yet, unless the schema has references.

        :param schema_str: the reader's schema, which validates; None to take the writer's.
        :param from_dict: called with row and context; what it answers is given.
        :param schema_registry_client: ours, confluent_kafka's, or a URL; None where the reader's schema is all that is
            needed.
        :param conf: keys as in `srfix.serde.confluent._config`.
        :param rule_conf: refused unless empty, as is `rule_registry`.
        :param json_decode: reads in place of orjson: bytes → value.
        :raises UsageError: if an argument or a key of the configuration makes no sense, or is not supported; if neither
            schema nor client is given; if it is to validate and jsonschema-rs is not installed.
        :raises SchemaError: if the schema is not a JSON Schema.
        :raises ResolveError: if it refers to one that the registry does not have.
        """
        check_no_rules(rule_conf, rule_registry)
        check_callable("json_decode", json_decode, "(bytes) -> value")
        asked = settings(Kind.JSON_DESERIALIZER, conf)
        compile_ = partial(_decoder, validate=asked.validate, json_decode=json_decode)
        given = given_schema(schema_str, _JSON, str)
        self._start(_JSON, schema_registry_client, given, asked, from_dict, JsonSchema, compile_)
        self._remake = cast(
            "Callable[[AnyClient | None], ConfluentDeserializer]",
            partial(type(self), schema_str, from_dict, conf=conf, json_decode=json_decode),
        )


def _encoder(
    text: str, references: References, *, validate: bool, json_encode: JsonEncode | None
) -> tuple[Encode, str | None]:
    schema = JsonSchema(text, references)
    return encoder(schema if validate else None, json_encode), schema.record_name


def _decoder(
    writer: Readable | None, reader: Readable | None, *, validate: bool, json_decode: JsonDecode | None
) -> Decode:
    schema = cast("JsonSchema | None", reader or writer)
    return decoder(schema if validate else None, json_decode)

"""confluent-kafka's JSON Schema serdes: its constructors, configuration, bytes and rows, from our own parts.

>>> from srfix.serde.confluent import JSONDeserializer, JSONSerializer
>>> from srfix.serde import SerdeContext  # or confluent_kafka's SerializationContext
>>> text = '{"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}}'
>>> serialize = JSONSerializer(text, registry, conf={"validate": True})
>>> deserialize = JSONDeserializer(None, schema_registry_client=registry)
>>> deserialize(serialize({"id": 7}, SerdeContext("orders")), SerdeContext("orders"))
{'id': 7}

What differs from confluent-kafka 2.16, besides what `srfix.serde.confluent.avro` says of both:

| what | confluent-kafka | here |
|---|---|---|
| validation | the library jsonschema, in Python | jsonschema-rs, with the same settings |
| patterns | Python's `re` | ECMA 262, as the specification has it |
| tuples, dates … when writing | no type of JSON's: refused where one is asked for | as orjson writes them |
| `$ref` to a URL | fetched | refused: only references are looked at |
| without orjson | falls back to the standard library | orjson is always there |
"""

from __future__ import annotations

from typing import Any, Unpack, overload

from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns
from srfix.serde.confluent.columns import AnyPolicy, shape_of, written_columns
from srfix.serde.confluent.config import Conf, SerdeClass, check_callable, check_no_rules
from srfix.serde.confluent.deserializer import ConfluentDeserializer, FromDict, R, ReadOptions, T
from srfix.serde.confluent.json_codec import JsonDecode, JsonEncode, JsonSchema
from srfix.serde.confluent.serde import in_order
from srfix.serde.confluent.serializer import ConfluentSerializer, ToDict
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import UsageError
from srfix.serde.registries.confluent_client import AnySchema
from srfix.serde.registries.given import AnyClient


class JSONSerializer(ConfluentSerializer):
    """Object → JSON payload. Called `(object, context)`. Thread-safe."""

    _kind, _schema_type, _make = SerdeClass.JSON_SERIALIZER, "JSON", JsonSchema

    def __init__(
        self,
        schema_str: AnySchema | AnyClient = None,
        schema_registry_client: AnyClient | None = None,
        to_dict: ToDict | None = None,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
        json_encode: JsonEncode | None = None,
        *,
        columns: GivenColumns | None = None,
        case_rule: CaseRule | str | None = None,
        wrap: bool | None = None,
        generation: Generation | None = None,
        written_by: WrittenBy | None = None,
        cut_times: bool = False,
    ) -> None:
        """See `ConfluentSerde`; columns and what belongs to them as of `AvroSerializer`. `JSONSerializer(client, columns=…)`
        works too.

        :param schema_str: None where columns, or the configuration, say what to write under.
        :param to_dict: called with object and context; what it answers is written.
        :param json_encode: writes in place of orjson: object → str or bytes.
        :raises UsageError: if it is to validate and jsonschema-rs is not installed.
        """
        check_no_rules(rule_conf, rule_registry)
        check_callable("json_encode", json_encode, "(object) -> str or bytes")
        schema_str, schema_registry_client = in_order(schema_str, schema_registry_client)
        options: dict[str, Any] = {
            "columns": columns,
            "case_rule": case_rule,
            "wrap": wrap,
            "generation": generation,
            "written_by": written_by,
            "cut_times": cut_times,
        }
        written = written_columns(**options)
        if written is not None and json_encode is not None:
            raise UsageError(
                "json_encode writes objects as they are, and columns say how rows are written. Leave one out."
            )
        own = {"json_encode": json_encode}
        self._begin(schema_registry_client, schema_str, to_dict, conf, written, options, own)


class JSONDeserializer(ConfluentDeserializer[T]):
    """JSON payload → row. Called `(payload, context)`. Thread-safe. With `into=`, typed as `AvroDeserializer` is."""

    _kind, _schema_type, _make = SerdeClass.JSON_DESERIALIZER, "JSON", JsonSchema

    @overload
    def __init__(
        self: JSONDeserializer[R | None],
        schema_str: AnySchema | AnyClient = None,
        *,
        schema_registry_client: AnyClient | None = None,
        columns: type[R],
        **options: Unpack[ReadOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: JSONDeserializer[R | None],
        schema_str: AnySchema | AnyClient = None,
        *,
        schema_registry_client: AnyClient | None = None,
        columns: GivenColumns | None = None,
        into: type[R],
        **options: Unpack[ReadOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: JSONDeserializer[object],
        schema_str: AnySchema | AnyClient = None,
        from_dict: FromDict | None = None,
        schema_registry_client: AnyClient | None = None,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
        json_decode: JsonDecode | None = None,
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
        schema_str: AnySchema | AnyClient = None,
        from_dict: FromDict | None = None,
        schema_registry_client: AnyClient | None = None,
        conf: Conf = None,
        rule_conf: object = None,
        rule_registry: object = None,
        json_decode: JsonDecode | None = None,
        *,
        columns: GivenColumns | None = None,
        into: type[Any] | None = None,
        case_rule: CaseRule | str | None = None,
        wrap: bool | None = None,
        strict: bool = False,
        policy: AnyPolicy | None = None,
    ) -> None:
        """See `ConfluentSerde`; columns and what belongs to them as of `AvroDeserializer`. `JSONDeserializer(client,
        columns=…)` works too.

        :param schema_str: the reader's schema, which validates; None to take the writer's.
        :param from_dict: called with row and context; what it answers is given.
        :param schema_registry_client: None where the reader's schema is all that is needed.
        :param json_decode: reads in place of orjson: bytes → value.
        """
        check_no_rules(rule_conf, rule_registry)
        check_callable("json_decode", json_decode, "(bytes) -> value")
        schema_str, schema_registry_client = in_order(schema_str, schema_registry_client)
        shape = shape_of(columns, into=into, case_rule=case_rule, wrap=wrap, strict=strict)
        if shape is not None and json_decode is not None:
            raise UsageError("json_decode reads documents as they are, and columns say what a row has. Leave one out.")
        own = {"json_decode": json_decode}
        self._begin(schema_registry_client, schema_str, from_dict, conf, shape, policy, own)

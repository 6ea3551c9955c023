"""confluent-kafka's JSON Schema serdes: the same constructors, configuration, bytes and rows, built from srfix's own
parts.

>>> from srfix.serde.confluent import JSONDeserializer, JSONSerializer
>>> from srfix.serde import SerdeContext  # or confluent_kafka's SerializationContext
>>> text = '{"title": "Order", "type": "object", "properties": {"id": {"type": "integer"}}}'
>>> serialize = JSONSerializer(text, registry, conf={"validate": True})
>>> deserialize = JSONDeserializer(None, schema_registry_client=registry)
>>> deserialize(serialize({"id": 7}, SerdeContext("orders")), SerdeContext("orders"))
{'id': 7}

The differences from confluent-kafka 2.16, besides those that `srfix.serde.confluent.avro` lists for both formats:

| what | confluent-kafka | here |
|---|---|---|
| validation | the library jsonschema, in Python | jsonschema-rs, with the same settings; not with drafts that it lacks |
| patterns | Python's `re` | ECMA 262, as in the specification |
| tuples, dates … when writing | not a JSON type: refused if the schema wants a type | as orjson writes them |
| NaN and infinity when writing | numbers, written as null | refused if the schema wants a number |
| `$ref` to a URL | fetched | refused: srfix resolves only the schema's references |
| without orjson | falls back to the standard library | orjson is always there |

Without the user's own codec, orjson writes the bytes, as in confluent-kafka if orjson is installed. If orjson is not
installed, confluent-kafka's bytes differ in the spelling of floats (`1e+16` for `1e16`), and in the values that only
one of the two libraries can write (confluent-kafka: NaN and integers beyond 64 bits; srfix: dates).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TypeAlias, Unpack, overload

import orjson

from srfix.serde.arguments import check_callable
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns
from srfix.serde.confluent.config import (
    AnyPolicy,
    Conf,
    SerdeClass,
    SerdeSettings,
    check_no_rules,
    shape_of,
    written_columns,
)
from srfix.serde.confluent.deserializer import ColumnOptions, ConfluentDeserializer, FromDict, R, ReadOptions, T
from srfix.serde.confluent.serde import References, in_order
from srfix.serde.confluent.serializer import ConfluentSerializer, ToDict
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import DecodeError, EncodeError, SchemaError, UsageError
from srfix.serde.formats.json_schema import FirstMisfit, first_misfit_of
from srfix.serde.formats.table import Format
from srfix.serde.interface import Value
from srfix.serde.registries.confluent_client import AnySchema
from srfix.serde.registries.given import AnyClient
from srfix.serde.schemas.models import Json
from srfix.serde.schemas.references import ReferenceText
from srfix.serde.serdes.plans import decode_plan
from srfix.serde.specs import ReadSpec

JsonEncode: TypeAlias = "Callable[[object], str | bytes]"
JsonDecode: TypeAlias = "Callable[[bytes], Value]"


class JsonSchema:
    def __init__(
        self,
        text: str,
        references: References,
        settings: SerdeSettings,
        *,
        json_encode: JsonEncode | None = None,
        json_decode: JsonDecode | None = None,
    ) -> None:
        self._text = text
        self._reference_texts = tuple(ReferenceText(referred, name=name) for name, referred in references)
        self._document = _document(text)
        self._references: Mapping[str, Json] = {name: _document(referred) for name, referred in references}
        self._validate = settings.validate
        self._dump = json_encode or orjson.dumps
        self._load = json_decode or orjson.loads

    @property
    def record_name(self) -> str | None:
        title = self._document.get("title") if isinstance(self._document, dict) else None
        return title if isinstance(title, str) else None

    written_name = record_name
    message_indexes = None

    def encoder(self) -> Encode:
        dump, first_misfit = self._dump, self._first_misfit

        def encode(value: object, prefix: bytes) -> bytes:
            # The value is written before it is validated, because orjson (like json) limits nesting and the validator
            # does not.
            try:
                body = dump(value)
            except Exception as error:
                raise EncodeError(f"The value cannot be written as JSON ({type(error).__name__}: {error}).") from error
            if first_misfit is not None:
                try:
                    misfit = first_misfit(value)
                except (ValueError, TypeError):  # not a JSON type, such as a date: what is written counts
                    try:
                        misfit = first_misfit(orjson.loads(body))
                    except (ValueError, TypeError) as error:
                        raise EncodeError(f"The value cannot be validated ({error}).") from error
                if misfit is not None:
                    advice = "Correct it, or set validate to False."
                    raise EncodeError(
                        f"The value does not fit its JSON Schema, at {': '.join(misfit)}. {advice}", paths=misfit[:1]
                    )
            return prefix + (body.encode() if isinstance(body, str) else body)

        return encode

    def decoder(self, reader: JsonSchema | None) -> Decode:
        load, first_misfit = self._load, (reader or self)._first_misfit

        def decode(payload: bytes, body_offset: int) -> Value:
            try:
                value = load(payload[body_offset:])
            except (ValueError, RecursionError) as error:
                raise DecodeError(f"The body is not JSON ({error}).") from error
            misfit = None if first_misfit is None else first_misfit(value)
            if misfit is not None:
                raise DecodeError(
                    f"The document does not fit its JSON Schema, at {': '.join(misfit)}. To see the document, read "
                    "it with validate set to False.",
                    path=misfit[0],
                )
            return value

        return decode

    def columns_decoder(self, reader: JsonSchema | None, spec: ReadSpec) -> Decode:
        decode = decode_plan(Format.JSON_SR, self._text, spec, self._reference_texts)
        if not self._validate:
            return decode
        validated = self.decoder(reader)

        def decode_validated(payload: bytes, body_offset: int) -> Value:
            validated(payload, body_offset)
            return decode(payload, body_offset)

        return decode_validated

    @cached_property
    def _first_misfit(self) -> FirstMisfit | None:
        """A function that gives the first mismatch of a document; None if nothing is validated."""
        return first_misfit_of(self._document, self._references) if self._validate else None


def _document(text: str) -> Json:
    try:
        document: Json = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"The schema text is not JSON ({error}).") from error
    if not isinstance(document, dict | bool):
        raise SchemaError("The schema text is not a JSON Schema: it is neither an object nor true or false.")
    return document


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
        """See `ConfluentSerde`; columns and their options are those of `AvroSerializer`. `JSONSerializer(client,
        columns=…)` works too.

        :param schema_str: the schema to write under; None if columns or the configuration define it.
        :param to_dict: called with object and context; its result is written.
        :param json_encode: replaces orjson for writing: object → str or bytes.
        :raises UsageError: if validation is on and jsonschema-rs is not installed.
        """
        check_no_rules(rule_conf, rule_registry)
        check_callable("json_encode", json_encode, "(object) -> str or bytes")
        schema_str, schema_registry_client = in_order(schema_str, schema_registry_client)
        schema_options = {"generation": generation, "written_by": written_by}
        written = written_columns(columns, case_rule=case_rule, wrap=wrap, cut_times=cut_times, **schema_options)
        if written is not None and json_encode is not None:
            raise UsageError(
                "json_encode and columns contradict each other: json_encode writes objects unchanged, columns convert "
                "rows. Leave one out."
            )
        self._begin(schema_registry_client, schema_str, to_dict, conf, written, {"json_encode": json_encode})


class JSONDeserializer(ConfluentDeserializer[T]):
    """JSON payload → row. Called `(payload, context)`. Thread-safe. `into=` decides its type, as in `AvroDeserializer`."""

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
        **options: Unpack[ColumnOptions],
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
        """See `ConfluentSerde`; columns and their options are those of `AvroDeserializer`. `JSONDeserializer(client,
        columns=…)` works too.

        :param schema_str: the reader's schema, which validates; None to take the writer's schema.
        :param from_dict: called with row and context; its result is returned.
        :param schema_registry_client: may be None if only the reader's schema is needed.
        :param json_decode: replaces orjson for reading: bytes → value.
        """
        check_no_rules(rule_conf, rule_registry)
        check_callable("json_decode", json_decode, "(bytes) -> value")
        schema_str, schema_registry_client = in_order(schema_str, schema_registry_client)
        shape = shape_of(columns, into, case_rule=case_rule, wrap=wrap, strict=strict)
        if shape is not None and json_decode is not None:
            raise UsageError(
                "json_decode and columns contradict each other: json_decode returns documents unchanged, columns "
                "convert them. Leave one out."
            )
        codec_options = {"json_decode": json_decode}
        self._begin(schema_registry_client, schema_str, from_dict, conf, shape, policy, codec_options)

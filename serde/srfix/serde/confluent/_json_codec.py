"""JSON bodies as confluent-kafka writes and reads them: orjson, and JSON Schema validation.

Without a codec of the user's own the bytes are orjson's, as confluent-kafka's are where orjson is installed. Where it is
not, its bytes differ in how a float is spelt (`1e+16` for `1e16`) and in what only one of the two can write (NaN and
integers beyond 64 bits there; dates here).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeAlias

import orjson

from srfix.serde.confluent._references import References
from srfix.serde.confluent._validation import Validate, validator
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import DecodeError, EncodeError, SchemaError
from srfix.serde.interface import Value
from srfix.serde.registry.models import Json

__all__ = ["JsonDecode", "JsonEncode", "JsonSchema", "decoder", "encoder"]

JsonEncode: TypeAlias = "Callable[[object], str | bytes]"
JsonDecode: TypeAlias = "Callable[[bytes], Value]"


class JsonSchema:
    """A JSON Schema that is ready to validate with."""

    def __init__(self, text: str, references: References = ()) -> None:
        """:raises SchemaError: if the text is not JSON, or neither an object nor true or false."""
        self.text = text
        self._document = _document(text)
        self._references: Mapping[str, Json] = {name: _document(referred) for name, referred in references}

    @property
    def record_name(self) -> str | None:
        """The title."""
        title = self._document.get("title") if isinstance(self._document, dict) else None
        return title if isinstance(title, str) else None

    @cached_property
    def validate(self) -> Validate:
        """The validator, made when it is first needed.

        :raises SchemaError: if the text is not a JSON Schema.
        :raises UsageError: if jsonschema-rs is not installed.
        """
        return validator(self._document, self._references)


def _document(text: str) -> Json:
    try:
        document: Json = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"The schema text is not JSON ({error}).") from error
    if not isinstance(document, dict | bool):
        raise SchemaError("The schema text is not a JSON Schema: it is neither an object nor true or false.")
    return document


def encoder(schema: JsonSchema | None, json_encode: JsonEncode | None) -> Encode:
    """Writes, and validates if there is a schema."""
    dump = orjson.dumps if json_encode is None else json_encode
    validate = None if schema is None else schema.validate

    def encode(value: object, prefix: bytes) -> bytes:
        # Written first: orjson, like json, has a bound on nesting, and the validator has none.
        try:
            body = dump(value)
        except Exception as error:
            raise EncodeError(f"The value cannot be written as JSON ({type(error).__name__}: {error}).") from error
        if validate is not None:
            _check(validate, value)
        return prefix + (body.encode() if isinstance(body, str) else body)

    return encode


def _check(validate: Validate, value: object) -> None:
    try:
        misfit = validate(value)
    except (ValueError, TypeError) as error:  # not of a type that JSON has
        raise EncodeError(f"The value cannot be validated ({error}).") from error
    if misfit is not None:
        raise EncodeError(
            f"The value does not fit its JSON Schema, at {misfit[0]}: {misfit[1]}. Correct it, or set validate to False.",
            paths=(misfit[0],),
        )


def decoder(schema: JsonSchema | None, json_decode: JsonDecode | None) -> Decode:
    """Reads, and validates if there is a schema."""
    load: JsonDecode = orjson.loads if json_decode is None else json_decode
    validate = None if schema is None else schema.validate

    def decode(payload: bytes, body_offset: int) -> Value:
        try:
            value = load(payload[body_offset:])
        except (ValueError, RecursionError) as error:
            raise DecodeError(f"The body is not JSON ({error}).") from error
        if validate is not None:
            misfit = validate(value)
            if misfit is not None:
                raise DecodeError(
                    f"The document does not fit its JSON Schema, at {misfit[0]}: {misfit[1]}. Read it with validate set to "
                    "False to see it.",
                    path=misfit[0],
                )
        return value

    return decode

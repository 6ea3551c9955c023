"""JSON bodies as confluent-kafka writes and reads them: orjson, and JSON Schema validation.

Without a codec of the user's own the bytes are orjson's, as confluent-kafka's are where orjson is installed. Where it is
not, its bytes differ in how a float is spelt (`1e+16` for `1e16`) and in what only one of the two can write (NaN and
integers beyond 64 bits there; dates here).

Validation is that of `formats.json_schema.first_misfit_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeAlias

import orjson

from srfix.serde.confluent.config import SerdeSettings
from srfix.serde.confluent.serde import References
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import DecodeError, EncodeError, SchemaError
from srfix.serde.formats.json_schema import FirstMisfit, first_misfit_of
from srfix.serde.formats.table import Format
from srfix.serde.interface import Value
from srfix.serde.schemas.models import Json
from srfix.serde.serdes.plans import decode_plan
from srfix.serde.specs import ReadSpec

JsonEncode: TypeAlias = "Callable[[object], str | bytes]"
JsonDecode: TypeAlias = "Callable[[bytes], Value]"


class JsonSchema:
    """A JSON Schema that is ready to write and read under."""

    def __init__(
        self,
        text: str,
        references: References,
        settings: SerdeSettings,
        *,
        json_encode: JsonEncode | None = None,
        json_decode: JsonDecode | None = None,
    ) -> None:
        """
        :param json_encode: writes in place of orjson.
        :param json_decode: reads in place of orjson.
        """
        self._text, self._reference_texts = text, tuple(dict.fromkeys(referred for _, referred in references))
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

    def encoder(self) -> Encode:
        """Writes, and validates."""
        dump, first_misfit = self._dump, self._first_misfit

        def encode(value: object, prefix: bytes) -> bytes:
            # Written first: orjson, like json, has a bound on nesting, and the validator has none.
            try:
                body = dump(value)
            except Exception as error:
                raise EncodeError(f"The value cannot be written as JSON ({type(error).__name__}: {error}).") from error
            if first_misfit is not None:
                try:
                    misfit = first_misfit(value)
                except (ValueError, TypeError) as error:  # not of a type that JSON has
                    raise EncodeError(f"The value cannot be validated ({error}).") from error
                if misfit is not None:
                    advice = "Correct it, or set validate to False."
                    raise EncodeError(
                        f"The value does not fit its JSON Schema, at {': '.join(misfit)}. {advice}", paths=misfit[:1]
                    )
            return prefix + (body.encode() if isinstance(body, str) else body)

        return encode

    def decoder(self, reader: JsonSchema | None) -> Decode:
        """Reads, and validates against the reader's schema if there is one."""
        load, first_misfit = self._load, (reader or self)._first_misfit

        def decode(payload: bytes, body_offset: int) -> Value:
            try:
                value = load(payload[body_offset:])
            except (ValueError, RecursionError) as error:
                raise DecodeError(f"The body is not JSON ({error}).") from error
            misfit = None if first_misfit is None else first_misfit(value)
            if misfit is not None:
                raise DecodeError(
                    f"The document does not fit its JSON Schema, at {': '.join(misfit)}. Read it with validate set to False "
                    "to see it.",
                    path=misfit[0],
                )
            return value

        return decode

    def columns_decoder(self, reader: JsonSchema | None, spec: ReadSpec) -> Decode:
        """Reads rows of columns, of what was validated."""
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
        """What a document does not fit; None if nothing is validated."""
        return first_misfit_of(self._document, self._references) if self._validate else None


def _document(text: str) -> Json:
    try:
        document: Json = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise SchemaError(f"The schema text is not JSON ({error}).") from error
    if not isinstance(document, dict | bool):
        raise SchemaError("The schema text is not a JSON Schema: it is neither an object nor true or false.")
    return document

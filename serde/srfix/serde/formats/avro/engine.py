"""fastavro as the engine: what turns a planned schema into a `Decode` or an `Encode`."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Final, TypeAlias, cast

import fastavro

from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import DecodeError, EncodeError, OutOfRangeError, PayloadBoundError, TrailingBytesError
from srfix.serde.interface import Value

ParsedSchema: TypeAlias = dict[str | int, object]
"""A type in fastavro's parsed form; a root is marked as parsed."""
BodyCheck: TypeAlias = Callable[[bytes, int], object]
"""Called with a payload and the body's offset; raises a DecodeError if the body must not be, or could not be, read."""

_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


def shortest(schema: ParsedSchema) -> object:
    """A type as another one refers to it: fastavro is quicker with a bare name where that is all there is."""
    return schema["type"] if len(schema) == 1 and schema["type"] in _PRIMITIVES else schema


def fastavro_decoder(
    schema: ParsedSchema,
    *,
    explain: BodyCheck,
    guard: BodyCheck | None = None,
    finish: Callable[[Value], Value] | None = None,
    reader: object = None,
    return_record_name: bool = False,
    refusal: Callable[[Exception], DecodeError] | None = None,
) -> Decode:
    """A decoder on fastavro's reader.

    `guard` runs before the reader, `explain` after it failed: it raises what it finds wrong, and `refusal` is asked for the
    words where it finds nothing. `finish` makes the row out of what the reader gives, or raises a DecodeError.

    :param reader: the parsed schema that rows are to have; None for the writer's.
    :param return_record_name: True for records in unions of records as (name, record).
    """
    # Locals of a closure are the cheapest names that Python has; this runs once per record.
    read = fastavro.schemaless_reader
    parsed, readers = cast("dict[object, object]", schema), cast("dict[object, object] | None", reader)

    def decode(payload: bytes, body_offset: int) -> Value:
        if guard is not None:
            guard(payload, body_offset)
        body = BytesIO(payload)
        body.seek(body_offset)
        try:
            value: Value = read(body, parsed, readers, return_record_name)
        except PayloadBoundError:
            raise
        except Exception as error:
            explain(payload, body_offset)
            raise (refusal or _out_of_range)(error) from error
        left = len(payload) - body.tell()
        if not left:
            return value if finish is None else finish(value)
        raise trailing_bytes(left, len(payload) - body_offset)

    return decode


def _out_of_range(error: Exception) -> DecodeError:
    """The bytes are well-formed: a logical type's value is out of Python's range."""
    words = f"{type(error).__name__}: {error}"
    return OutOfRangeError(f"The body is well-formed, but a value of it cannot be represented ({words}).")


def fastavro_encoder(
    schema: ParsedSchema | list[ParsedSchema],
    *,
    prepare: Callable[[object], object],
    explain: Callable[[object], object],
) -> Encode:
    """An encoder on fastavro's writer.

    `prepare` checks the value and says which branch of each union it takes; whatever it or the writer raises,
    `explain` is asked for the words: it raises what it finds wrong.
    """
    write = fastavro.schemaless_writer
    parsed = cast("dict[object, object]", schema)

    def encode(value: object, prefix: bytes) -> bytes:
        out = BytesIO()
        out.write(prefix)
        try:
            write(out, parsed, prepare(value))
        except Exception as error:
            explain(value)
            raise EncodeError(f"The row cannot be written ({type(error).__name__}: {error}).") from error
        return out.getvalue()

    return encode


def trailing_bytes(left: int, size: int) -> TrailingBytesError:
    """The error for a body of so many bytes, of which some are left over."""
    return TrailingBytesError(
        f"{left} bytes are left over behind the last field, of a body of {size}: it was written under another schema, or is "
        "corrupt."
    )

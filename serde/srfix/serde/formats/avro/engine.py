"""The engine fastavro: turns a planned schema into a `Decode` or an `Encode`."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Final, TypeAlias, cast

import fastavro

from srfix.serde.connect.columns import NO_PRECISION
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import DecodeError, EncodeError, OutOfRangeError, PayloadBoundError, TrailingBytesError
from srfix.serde.formats.avro.schema import AvroNode, nullable_branch
from srfix.serde.interface import Value

ParsedSchema: TypeAlias = dict[str | int, object]
"""A type in fastavro's parsed form; a root is marked as parsed."""
BodyCheck: TypeAlias = Callable[[bytes, int], object]
"""A payload and the body's offset → a DecodeError if the body must not be read, or could not be read."""

_PRIMITIVES: Final = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


def shortest(schema: ParsedSchema) -> object:
    """The short form of a type within another type: fastavro is faster with a bare name."""
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

    `guard` runs before the reader. After a failure `explain` raises the error that it finds, otherwise `refusal` gives
    it. `finish` makes the row. `reader` is the parsed schema of the rows, if it is not the writer's. With
    `return_record_name`, records in unions of records are (name, record).
    """
    # Local variables of a closure are Python's fastest names, and this runs once per record.
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
    """The error if the bytes are well-formed, but a logical type's value is out of Python's range."""
    words = f"{type(error).__name__}: {error}"
    return OutOfRangeError(f"The body is well-formed, but a value of it cannot be represented ({words}).")


def fastavro_encoder(
    schema: ParsedSchema | list[ParsedSchema],
    *,
    prepare: Callable[[object], object],
    explain: Callable[[object], object],
) -> Encode:
    """`prepare` checks the value and chooses branches. After a failure `explain` raises the error that it finds."""
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
    return TrailingBytesError(
        f"{left} of the body's {size} bytes are left over after the last field: the body was written under another "
        "schema, or is corrupt."
    )


_MARK: Final[ParsedSchema] = {"__fastavro_parsed": True, "__named_schemas": {}}


class WriteSchema:
    """fastavro's parsed form, without the logical types that checks handle. `is_free`: fastavro chooses branches."""

    def __init__(self, *, is_free: bool) -> None:
        self._is_free = is_free
        self._schemas: dict[tuple[AvroNode, bool], ParsedSchema] = {}

    def root(self, root: AvroNode) -> ParsedSchema | list[ParsedSchema]:
        if root.kind == "union":
            is_free = self._is_free and nullable_branch(root) is None
            return [self._schema(branch, is_free=is_free) | _MARK for branch in root.branches]
        return self._schema(root, is_free=False) | _MARK

    def _schema(self, node: AvroNode, *, is_free: bool) -> ParsedSchema:
        # A type that is referenced twice is the same dict, so the result of a recursive schema is cyclic.
        schema = self._schemas.get((node, is_free))
        if schema is not None:
            return schema
        schema = self._schemas[node, is_free] = {"type": node.kind}
        if node.name:
            schema["name"] = node.name
        if is_free and node.logical is not None:
            schema["logicalType"] = node.logical
            if node.logical == "decimal":
                schema.update({"precision": node.precision or NO_PRECISION, "scale": node.scale})
        if node.kind == "enum":
            schema["symbols"] = list(node.symbols)
        elif node.kind == "fixed":
            schema["size"] = node.size
        elif node.kind == "record":
            schema["fields"] = [
                {"name": part.name, "type": self._reference(part.node, is_free=is_free)} for part in node.fields
            ]
        elif node.items is not None:
            schema["items" if node.kind == "array" else "values"] = self._reference(node.items, is_free=is_free)
        return schema

    def _reference(self, node: AvroNode, *, is_free: bool) -> object:
        if node.kind != "union":
            return shortest(self._schema(node, is_free=is_free))
        # Types below a union whose branch fastavro chooses have not passed srfix's checks.
        is_free = is_free or (self._is_free and nullable_branch(node) is None)
        return [shortest(self._schema(branch, is_free=is_free)) for branch in node.branches]

"""The engine fastavro: turns a planned schema into a `Decode` or an `Encode`. Also the schema for `times="integers"`,
with which it leaves days, times and instants as the integers in the body, and the error for a time that a datetime
cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from io import BytesIO
from typing import Final, TypeAlias, cast
from uuid import UUID

import fastavro

from srfix.serde.columns.types import ScalarType
from srfix.serde.connect.coercions import coercion
from srfix.serde.connect.columns import NO_PRECISION
from srfix.serde.connect.schema import ConnectType
from srfix.serde.connect.time_units import MILLIS, TimeUnit, column_of, time_unit
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import DecodeError, EncodeError, OutOfRangeError, PayloadBoundError, TrailingBytesError
from srfix.serde.formats.avro.java_text import PRIMITIVES
from srfix.serde.formats.avro.schema import AvroNode, nullable_branch
from srfix.serde.interface import Value
from srfix.serde.printable import path_words, shortened

ParsedSchema: TypeAlias = dict[str | int, object]
"""A type in fastavro's parsed form; a root is marked as parsed."""
BodyCheck: TypeAlias = Callable[[bytes, int], object]
"""A payload and the body's offset → a DecodeError if the body must not be read, or could not be read."""

_CONNECT_TYPES: Final = {"int": ConnectType.INT32, "long": ConnectType.INT64}


def shortest(schema: ParsedSchema) -> object:
    """The short form of a type within another type: fastavro is faster with a bare name."""
    return schema["type"] if len(schema) == 1 and schema["type"] in PRIMITIVES else schema


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
    """A decoder on fastavro's reader: `guard` before, `explain` or `refusal` for a failure, `finish` makes the row."""
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
    words = f"{type(error).__name__}: {error}"
    return OutOfRangeError(f"The body is well-formed, but one of its values cannot be represented ({words}).")


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


@lru_cache(maxsize=256)
def with_plain_times(root: AvroNode, *, and_uuids: bool = False) -> AvroNode:
    """The schema without the logical types of days, times and instants, so that their integers are read and written; if
    `and_uuids`, also the texts of UUIDs."""
    return _copied(root, {}, and_uuids)


def _copied(node: AvroNode, copies: dict[AvroNode, AvroNode], and_uuids: bool) -> AvroNode:
    if node in copies:
        return copies[node]
    # Stored before its parts are converted, because a recursive type refers to itself.
    copy = copies[node] = replace(
        node, logical=None if _time_of(node) or (and_uuids and node.logical == "uuid") else node.logical
    )
    copy.fields = tuple(replace(part, node=_copied(part.node, copies, and_uuids)) for part in node.fields)
    copy.defaults = tuple(replace(part, node=_copied(part.node, copies, and_uuids)) for part in node.defaults)
    copy.branches = tuple(_copied(branch, copies, and_uuids) for branch in node.branches)
    copy.items = None if node.items is None else _copied(node.items, copies, and_uuids)
    return copy


def _time_of(node: AvroNode) -> tuple[ScalarType, TimeUnit] | None:
    """The column type for a day, a time of day or an instant, local or not, and its unit; None for any other type."""
    unit = time_unit(_CONNECT_TYPES[node.kind], node.logical, None) if node.kind in _CONNECT_TYPES else None
    column = None if unit is None else column_of(unit)
    return None if unit is None or column is None else (column, unit)


_KINDS: Final = {"int": int, "long": int, "record": dict, "map": dict, "array": list}


def far_time_check(root: AvroNode, plain: Callable[[], Decode]) -> Callable[[bytes, int], None]:
    """Raises the error for a well-formed body's first time that a datetime cannot hold, or text that is no UUID. `plain` gives
    integers and texts."""

    def check(payload: bytes, body_offset: int) -> None:
        for error in _far(root, plain()(payload, body_offset), ""):
            raise error

    return check


def _far(node: AvroNode, value: Value, path: str) -> Iterator[OutOfRangeError]:
    if node.kind == "union":
        for branch in node.branches:
            # The value does not show its branch, so only unambiguous values are checked.
            if isinstance(value, _KINDS.get(branch.kind, ())) or (isinstance(value, str) and nullable_branch(node)):
                yield from _far(branch, value, path)
        return
    if isinstance(value, dict):
        for part in node.fields:
            if part.name in value:
                yield from _far(part.node, value[part.name], f"{path}->{part.name}")
        if node.kind == "map" and node.items is not None:
            for key, item in value.items():
                yield from _far(node.items, item, f"{path}->{key}")
    elif isinstance(value, list) and node.items is not None:
        for number, item in enumerate(value):
            yield from _far(node.items, item, f"{path}[{number}]")
    elif isinstance(value, int) and (time := _time_of(node)) is not None:
        column, unit = time
        coerce = coercion(_CONNECT_TYPES[node.kind], None, column, path, per_second=unit.per_second or MILLIS)
        assert coerce is not None
        try:
            coerce(value)
        except OutOfRangeError as error:
            yield error
    elif isinstance(value, str) and (node.kind, node.logical) == ("string", "uuid"):
        try:
            UUID(value)
        except ValueError:
            yield OutOfRangeError(f"The value {shortened(value)!r} at {path_words(path)} is no UUID.", path=path)

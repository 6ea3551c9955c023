"""How values without parts are passed to Spark's Avro: only with exact casts, none of which loses anything.

| Avro | Spark types | otherwise |
|---|---|---|
| boolean, string, bytes | the same | |
| int, long | byte, short, int; bigint as long only | bigint as int: only the arrow engine, which checks each value |
| float | byte, short, float | int, bigint, double: the same |
| double | byte, short, int, float, double | bigint: the same |
| int date | date | |
| long timestamp-millis, -micros | timestamp; a time finer than its unit fails the job, or is cut on request | |
| decimal | a decimal with no more digits on either side | other decimals: the same |
| enum, fixed | string, binary; each value is checked | |
| times | | the arrow engine |

No engine takes any other pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from srfix.serde.connect.columns import NO_PRECISION, SPARK_DIGITS
from srfix.serde.formats.avro import AvroNode, AvroType, describe
from srfix.serde.formats.avro.write.scalars import WHOLE_MILLISECONDS
from srfix.serde.projection.tree import WriteField
from srfix.serde.spark.frame_types import FrameType, ddl, sql_text, word_of

SchemaJson: TypeAlias = "str | int | list[SchemaJson] | dict[str, SchemaJson]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    schema: SchemaJson
    """A schema that gives the same bytes. The caller must fill empty names, because no name may occur twice."""
    sql: str
    is_as_it_is: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class JvmRefusal:
    why: str
    is_final: bool = False


_DECIMAL: Final = re.compile(r"decimal\((\d+),(\d+)\)")
_INTEGERS: Final = ("byte", "short", "integer", "long")
_EXACT: Final = {
    "boolean": ("boolean",),
    "string": ("string",),
    "bytes": ("binary",),
    "int": ("byte", "short", "integer"),
    "long": _INTEGERS,
    "float": ("byte", "short", "float"),
    "double": ("byte", "short", "integer", "float", "double"),
}
"""Avro → the Spark types whose values all fit exactly, and Spark's own at the end."""
_SOMETIMES: Final = {
    "int": _INTEGERS,
    "float": (*_INTEGERS, "float", "double"),
    "double": (*_INTEGERS, "float", "double"),
}
"""Avro → the Spark types of which only some values fit: the serializers check each value."""
_TIMES: Final = {
    ("int", "date"): ("date", "unix_date"),
    ("long", "timestamp-millis"): ("timestamp", "unix_millis"),
    ("long", "timestamp-micros"): ("timestamp", "unix_micros"),
}


Failing: TypeAlias = Callable[[str, str], str]
"""Makes the SQL that fails the job: from a message, and the text after it, in Spark's SQL."""


def scalar(
    node: AvroNode, frame_type: FrameType, sql: str, failing: Failing, *, cut_times: bool = False
) -> Piece | JvmRefusal:
    word, kind, logical = word_of(frame_type), node.kind, node.logical
    if word == "void":
        # The type of a null does not matter, because it has no bytes.
        if kind == "fixed":
            return Piece(schema="bytes", sql="CAST(NULL AS BINARY)")
        *_, own = _EXACT.get(kind, ("integer",))
        return Piece(schema="int" if own == "integer" else kind, sql=f"CAST(NULL AS {ddl(own)})")
    if (kind, logical) in _TIMES:
        spark_type, function = _TIMES[kind, str(logical)]
        if word != spark_type:
            return _never(node, frame_type)
        made = f"{function}({sql})"
        if logical == "timestamp-millis" and not cut_times:
            error = failing(f"needs {WHOLE_MILLISECONDS}, got ", f"CAST({sql} AS STRING)")
            made = f"IF({sql} IS NULL OR unix_micros({sql}) % 1000 = 0, {made}, {error})"
        return Piece(schema=kind, sql=made)
    if logical in ("time-millis", "time-micros") and kind in ("int", "long"):
        if word.startswith("time("):
            return JvmRefusal(why=f"is {ddl(frame_type)}: Spark has no exact conversion from it to {describe(node)}")
        return _never(node, frame_type)
    if logical in ("local-timestamp-millis", "local-timestamp-micros") and kind == "long":
        return _local(node, frame_type, sql, failing, cut_times=cut_times)
    if logical == "decimal" and kind in ("bytes", "fixed"):
        return _decimal(node, frame_type, sql)
    if (kind, word) == ("enum", "string"):
        return _enum(node, sql, failing)
    if (kind, word) == ("fixed", "binary"):
        return _fixed(node, sql, failing)
    if word in _EXACT.get(kind, ()):
        *_, own = _EXACT[kind]
        return Piece(schema=kind, sql=sql if word == own else f"CAST({sql} AS {ddl(own)})", is_as_it_is=word == own)
    if word in _SOMETIMES.get(kind, ()):
        return JvmRefusal(why=f"is {ddl(frame_type)}, but not every such value fits {describe(node)}")
    return _never(node, frame_type)


def _local(node: AvroNode, frame_type: FrameType, sql: str, failing: Failing, *, cut_times: bool) -> Piece | JvmRefusal:
    """Spark's functions of microseconds would use the session's zone; its Avro does not."""
    if word_of(frame_type) != "timestamp_ntz":
        return _never(node, frame_type)
    schema: dict[str, SchemaJson] = {"type": "long", "logicalType": str(node.logical)}
    if node.logical == "local-timestamp-micros" or cut_times:
        return Piece(schema=schema, sql=sql, is_as_it_is=True)
    error = failing(f"needs {WHOLE_MILLISECONDS}, got ", f"CAST({sql} AS STRING)")
    is_whole = f"EXTRACT(SECOND FROM {sql}) * 1000 % 1 = 0"
    return Piece(schema=schema, sql=f"IF({sql} IS NULL OR {is_whole}, {sql}, CAST({error} AS TIMESTAMP_NTZ))")


def missing(field: WriteField[AvroType]) -> Piece | JvmRefusal:
    if field.missing is None:
        return JvmRefusal(why="is missing, but the schema has no default for it", is_final=True)
    node, default = field.field.type.node, field.missing.json
    if default is None and field.field.type.is_nullable and node.branches:
        # A null has no bytes except its branch's number.
        place = [branch.kind for branch in node.branches].index("null")
        return Piece(schema="long", sql=f"CAST({place} AS BIGINT)")
    if node.kind == "boolean" and isinstance(default, bool):
        return Piece(schema="boolean", sql="true" if default else "false")
    if node.kind in ("int", "long") and isinstance(default, int) and not isinstance(default, bool):
        return Piece(schema="long", sql=f"CAST({default} AS BIGINT)")
    if node.kind == "string" and isinstance(default, str):
        return Piece(schema="string", sql=sql_text(default))
    return JvmRefusal(why=f"is missing, but its default {default!r} is a value of {describe(node)}")


def _never(node: AvroNode, frame_type: FrameType) -> JvmRefusal:
    return JvmRefusal(why=f"is {ddl(frame_type)}, which cannot be written as {describe(node)}", is_final=True)


def _decimal(node: AvroNode, frame_type: FrameType, sql: str) -> Piece | JvmRefusal:
    match = _DECIMAL.fullmatch(word_of(frame_type))
    if match is None:
        return _never(node, frame_type)
    precision, scale = node.precision or NO_PRECISION, node.scale
    if precision > SPARK_DIGITS:
        return JvmRefusal(
            why=f"is written as {describe(node)}, but Spark's decimals have at most {SPARK_DIGITS} digits"
        )
    have_precision, have_scale = int(match[1]), int(match[2])
    if have_scale > scale or have_precision - have_scale > precision - scale:
        return JvmRefusal(why=f"is {ddl(frame_type)}, but not every such value fits {describe(node)}")
    schema: dict[str, SchemaJson] = {"logicalType": "decimal", "precision": precision, "scale": scale}
    schema |= {"type": "fixed", "name": "", "size": node.size} if node.kind == "fixed" else {"type": "bytes"}
    is_same = (have_precision, have_scale) == (precision, scale)
    return Piece(
        schema=schema, sql=sql if is_same else f"CAST({sql} AS DECIMAL({precision},{scale}))", is_as_it_is=is_same
    )


def _enum(node: AvroNode, sql: str, failing: Failing) -> Piece:
    # An enum's bytes are its number. Symbols are compared as bytes, because a collation could treat a and A as equal.
    whens = " ".join(f"WHEN X'{symbol.encode().hex()}' THEN {place}" for place, symbol in enumerate(node.symbols))
    error = failing(f"needs one of {', '.join(node.symbols)}, got ", sql)
    return Piece(schema="int", sql=f"IF({sql} IS NULL, NULL, CASE CAST({sql} AS BINARY) {whens} ELSE {error} END)")


def _fixed(node: AvroNode, sql: str, failing: Failing) -> Piece:
    error = failing(f"needs {node.size} bytes, got ", f"CAST(octet_length({sql}) AS STRING)")
    schema: SchemaJson = {"type": "fixed", "name": "", "size": node.size}
    return Piece(schema=schema, sql=f"IF({sql} IS NULL OR octet_length({sql}) = {node.size}, {sql}, {error})")

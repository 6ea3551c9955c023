"""The jvm engine: Spark's own Avro, a branch for each shape of writer schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from functools import reduce
from operator import and_
from typing import Final, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import StringType, StructField, StructType

from srfix.serde.batches import Reason
from srfix.serde.errors import ImpossibleSchemaIdError, PayloadTooShortError, UnknownMagicByteError, WireError
from srfix.serde.spark._jvm_fixes import Bounds, Entries, Fix, OfFields, OfItems, OfValues, makes
from srfix.serde.spark._jvm_read import AFTER, PAYLOAD, JvmRead, JvmShape
from srfix.serde.spark._missing_jars import missing_jar
from srfix.serde.spark._pyspark.types import struct_type
from srfix.serde.wire import (
    MAX_SCHEMA_ID,
    MIN_SCHEMA_ID,
    PREFIX_GUID_SIZE,
    PREFIX_ID_SIZE,
    SchemaId,
    parse,
    prefix_id_bytes,
)

__all__ = ["jvm_decoded", "require_avro"]

_Verdict: TypeAlias = tuple[Column, Reason, Column]
"""When, why, and why in full."""

_MANY_IDS: Final = 10
_FAILED = (
    "Spark's Avro could not read the body under its writer schema, or bytes are left over behind it. The arrow engine says "
    "what is wrong."
)


def jvm_decoded(
    read: JvmRead, payload: Column, *, fallback: Callable[[Column], Column] | None = None, name: str | None = None
) -> Column:
    """Payloads → struct<row, reason, message>: one call of `from_avro` for each shape, and no other look at the payload
    than at its first bytes.

    :param payload: binary.
    :param fallback: what decodes, to the same struct, payloads that this engine knows nothing about; it is given null for all
        others, for which it gives null. None: they are bad rows.
    :param name: the payload in SQL, where it has a name: long lists of ids are told in text then, and at once.
    """
    row = struct_type(read.row_schema)
    result = StructType(
        [StructField("row", row), StructField("reason", StringType()), StructField("message", StringType())]
    )
    header = F.substring(payload, 1, PREFIX_ID_SIZE)

    def has(schema_ids: Collection[SchemaId]) -> Column:
        if name is None or len(schema_ids) < _MANY_IDS:
            return _has(header, schema_ids)
        # A call of the JVM for each literal takes seconds for a thousand of them.
        literals = ", ".join(f"X'{prefix_id_bytes(schema_id).hex()}'" for schema_id in schema_ids)
        return F.expr(f"substring({name}, 1, {PREFIX_ID_SIZE}) IN ({literals})")

    def bad(verdicts: Iterable[_Verdict]) -> Column:
        # One struct, whatever the reasons: its type is long, and each expression's text travels with every plan.
        conditions, reasons, messages = zip(*verdicts, strict=True)
        return F.struct(
            F.lit(None).cast(row).alias("row"),
            _case(zip(conditions, (F.lit(reason.value) for reason in reasons), strict=True)).alias("reason"),
            _case(zip(conditions, messages, strict=True)).alias("message"),
        )

    known: list[_Verdict] = [
        (has(verdict.schema_ids), verdict.reason, F.lit(verdict.message))
        for verdict in read.verdicts
        if fallback is None or not verdict.is_refusal
    ]
    known.append((payload.isNull(), Reason.TOMBSTONE, F.lit(None).cast("string")))
    cases = [(has(shape.schema_ids), _first(shape, payload).cast(result)) for shape in read.shapes]
    if fallback is None:
        verdicts = [*known, *_unframed(payload)]
        if read.shapes:
            verdicts.append((has(read.shape_ids), Reason.DECODE_FAILED, F.lit(_FAILED)))
        verdicts.append((F.lit(True), Reason.UNKNOWN_ID, _unknown(header)))
    else:
        verdicts = [*known, (F.lit(True), Reason.DECODE_FAILED, F.lit(_FAILED))]
    rows = [_case(cases)] if cases else []
    if fallback is not None:
        final = has(read.schema_ids) if read.schema_ids else F.lit(False)
        rows.append(fallback(F.when(~final, payload)).cast(result))
    return F.coalesce(*rows, bad(verdicts))


def require_avro(spark: SparkSession) -> None:
    """:raises JarMissingError: if the session has no spark-avro."""
    try:
        # Looking at the schema runs no job, but finds the functions; Spark Connect looks no earlier.
        _ = spark.range(1).select(from_avro(F.lit(b""), '"int"')).schema
    except PySparkException as error:
        missing = missing_jar(str(error), spark.version)
        if missing is None:
            raise
        raise missing from error


def _case(cases: Iterable[tuple[Column, Column]]) -> Column:
    """The value of the first condition that holds, else null."""
    first, *more = cases
    return reduce(lambda when, case: when.when(*case), more, F.when(*first))


def _has(header: Column, schema_ids: Iterable[SchemaId]) -> Column:
    headers = [F.lit(prefix_id_bytes(schema_id)) for schema_id in schema_ids]
    return header == headers[0] if len(headers) == 1 else header.isin(headers)


def _first(shape: JvmShape, payload: Column) -> Column:
    """Row, reason and message of a payload; null if it cannot be read."""
    read = from_avro(
        F.concat(payload, F.lit(AFTER)),
        shape.writer_schema,
        # Rebased, an ancient date would be another one than its number says.
        {"mode": "PERMISSIVE", "avroSchema": shape.reader_schema, "datetimeRebaseMode": "CORRECTED"},
    ).getField(PAYLOAD)
    fix = shape.fix
    if fix is None:
        return read
    # A lambda's variable is what can be looked at several times, and is read once.
    good = F.filter(F.array(read), lambda one: _holds(fix, one.getField("row")))
    if makes(fix):
        good = F.transform(good, lambda one: _remade(fix, one))
    return F.get(good, F.lit(0))


def _remade(fix: Fix, one: Column) -> Column:
    row = _made(fix, one.getField("row")).alias("row")
    return F.when(one.isNotNull(), F.struct(row, one.getField("reason"), one.getField("message")))


def _holds(fix: Fix | None, value: Column) -> Column:
    """Whether the value is as it must be; true for null."""
    match fix:
        case None:
            return F.lit(True)
        case Bounds(low=low, high=high):
            holds = (value > F.lit(low)) & (value < F.lit(high))
        case OfFields(fields=fields):
            checks = (_holds(part, value.getField(name)) for name, part in fields if part is not None)
            holds = reduce(and_, checks)
        case OfItems(items=items):
            holds = F.forall(value, lambda item: _holds(items, item))
        case OfValues(values=values):
            holds = F.forall(F.map_values(value), lambda item: _holds(values, item))
        case Entries(key=key, value=field, values=values):
            holds = F.forall(value, lambda entry: _entry_holds(entry, key, field, values))
    return F.coalesce(holds, F.lit(True))


def _entry_holds(entry: Column, key: str, field: str, values: Fix | None) -> Column:
    has_key = entry.getField(key).isNotNull()
    return has_key if values is None else has_key & _holds(values, entry.getField(field))


def _made(fix: Fix | None, value: Column) -> Column:
    """The value with its entries as maps."""
    if not makes(fix):
        return value
    match fix:
        case OfFields(fields=fields):
            made = F.struct(*(_made(part, value.getField(name)).alias(name) for name, part in fields))
            return F.when(value.isNotNull(), made)
        case OfItems(items=items):
            return F.transform(value, lambda item: _made(items, item))
        case OfValues(values=values):
            return F.transform_values(value, lambda _, item: _made(values, item))
        case Entries():
            return F.when(value.isNotNull(), _map_of(fix, value))
        case _:
            raise AssertionError(fix)


def _map_of(fix: Entries, entries: Column) -> Column:
    # `map_from_entries` raises for a key that comes twice, or keeps the first, as the session says.
    def key(entry: Column) -> Column:
        return entry.getField(fix.key).cast("string")

    def value(entry: Column) -> Column:
        return _made(fix.values, entry.getField(fix.value))

    keys = F.array_distinct(F.transform(entries, key))
    plain = F.map_from_entries(F.transform(entries, lambda entry: F.struct(key(entry), value(entry))))
    last = F.transform(keys, lambda one: value(F.element_at(F.filter(entries, lambda entry: key(entry) == one), -1)))
    return F.when(F.size(keys) == F.size(entries), plain).otherwise(F.map_from_arrays(keys, last))


def _unframed(payload: Column) -> Iterable[tuple[Column, Reason, Column]]:
    """Payloads without a schema id that could be one, in the words of `wire.parse`."""
    first, size = F.substring(payload, 1, 1), F.length(payload)
    yield size == 0, Reason.TOO_SHORT, F.lit(_words(b""))
    for magic, needed in ((b"\0", PREFIX_ID_SIZE), (b"\1", PREFIX_GUID_SIZE)):
        begins, short = first == F.lit(magic), _words(magic)
        before, behind = short.split(" 1 bytes", 1)
        message = F.concat(F.lit(before + " "), size.cast("string"), F.lit(" bytes" + behind))
        yield begins & (size < needed), Reason.TOO_SHORT, message
    guid = F.lower(F.hex(F.substring(payload, 2, 16)))
    yield (
        first == F.lit(b"\1"),
        Reason.UNKNOWN_ID,
        F.concat(
            F.lit("The payload names its schema by the GUID "),
            guid,
            F.lit(", and the jvm engine knows ids only. Read these rows with the arrow engine."),
        ),
    )
    for looks in (b"{", b"[", b'"'):
        yield first == F.lit(looks), Reason.BAD_MAGIC, F.lit(_words(looks))
    before, behind = _words(b"\2").split("byte 02", 1)
    shown = F.lower(F.hex(first))
    yield first != F.lit(b"\0"), Reason.BAD_MAGIC, F.concat(F.lit(before + "byte "), shown, F.lit(behind))
    yield from _impossible(F.substring(payload, 1, PREFIX_ID_SIZE))


def _impossible(header: Column) -> Iterable[tuple[Column, Reason, Column]]:
    """Ids that no registry gives. Bytes compare as unsigned ones, from the first on."""
    below = header < F.lit(prefix_id_bytes(MIN_SCHEMA_ID))
    yield below, Reason.BAD_ID, F.lit(_words(bytes(PREFIX_ID_SIZE)))
    number = F.conv(F.hex(F.substring(header, 2, PREFIX_ID_SIZE - 1)), 16, 10).cast("bigint")
    first = MAX_SCHEMA_ID + 1
    before, between, behind = re.split(
        rf"{first}|{first - 2**32}", _words(b"\0" + first.to_bytes(PREFIX_ID_SIZE - 1, "big"))
    )
    to_java = (number - F.lit(2**32)).cast("string")
    message = F.concat(F.lit(before), number.cast("string"), F.lit(between), to_java, F.lit(behind))
    yield header > F.lit(prefix_id_bytes(MAX_SCHEMA_ID)), Reason.BAD_ID, message


def _words(payload: bytes) -> str:
    try:
        parse(payload)
    except (PayloadTooShortError, UnknownMagicByteError, ImpossibleSchemaIdError) as error:
        return error.message
    raise WireError(f"{payload!r} is framed.")


def _unknown(header: Column) -> Column:
    schema_id = F.conv(F.hex(F.substring(header, 2, 4)), 16, 10)
    return F.concat(
        F.lit("The plan does not know the schema id "),
        schema_id,
        F.lit(". Plan again, or read with the arrow engine, which asks the registry where it meets one."),
    )

"""The jvm engine: Spark's own Avro, a branch for each shape of writer schemas.

A row is read once (`jvm_rows`), behind a barrier or in a lambda's array; everything else is said of what was read, and costs
a good row nothing but the look at it (`judged`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import and_
from os.path import commonprefix
from typing import Final, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import StructType

from srfix.serde.errors import ImpossibleSchemaIdError, PayloadTooShortError, Reason, UnknownMagicByteError, WireError
from srfix.serde.spark._pyspark.strict import BEYOND_PYTHON, struct_type
from srfix.serde.spark.packages import missing_jar
from srfix.serde.spark.read.jvm.fixes import Bounds, EntriesToMap, Fix, OfFields, OfItems, OfValues, makes
from srfix.serde.spark.read.jvm.read import AFTER, ROW, JvmRead, JvmShape
from srfix.serde.spark.releases import arrow_or
from srfix.serde.wire import (
    MAX_SCHEMA_ID,
    MIN_SCHEMA_ID,
    PREFIX_GUID_SIZE,
    PREFIX_ID_SIZE,
    SchemaId,
    parse,
    prefix_id_bytes,
)

_Verdict: TypeAlias = tuple[Column, Reason, Column | str]
"""When, why, and why in full."""
_ROW: Final = "row"
_LEFT: Final = "left"

_MANY_IDS: Final = 10
_LIKE_JSON: Final = (b"{", b"[", b'"')
_FAILED: Final = (
    "Spark's Avro could not read the body under its writer schema, or bytes are left over behind it. "
    f"{arrow_or('srfix decode', advice='The arrow engine')} says what is wrong."
)
_NEWER: Final = "Read these rows with Spark 4.1 or newer, whose arrow engine does, or see them with srfix decode."
_PLAN_AGAIN: Final = (
    'If its schema is registered by now, plan.refreshed(registry) knows it; unknown_ids="resolve" or engine="arrow" asks the '
    "registry where such an id is met."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is known of a payload. The first three are short."""

    row: Column
    """Null where it is bad, or a tombstone."""
    is_bad: Column
    """Never null."""
    is_tombstone: Column
    """Never null."""
    why: Column
    """`struct<reason: string, message: string>` of a bad one, a `batches.Reason`'s word; anything of others. Long."""


def jvm_rows(
    read: JvmRead, payload: Column, *, fallback: Callable[[Column], Column] | None = None, name: str | None = None
) -> Column:
    """Payloads → `struct<row: struct<…>>`, null where Spark's Avro could not read it: one call of `from_avro` for each
    shape, and no other look at the payload than at its first bytes. With a fallback `struct<row, left>`.

    The fallback decodes, to struct<row, reason, message>, payloads that this engine knows nothing about; it is given null
    for all others, for which it gives null. Without one they are bad rows. If the payload has a name in SQL, long lists of
    ids are told in text, and at once.
    """
    has = _Ids(payload, name)
    found = _rows(read, payload, has).alias(_ROW)
    return F.struct(found) if fallback is None else F.struct(found, _left(read, payload, has, fallback).alias(_LEFT))


def jvm_rows_or_raised(
    read: JvmRead,
    payload: Column,
    raised: Callable[[Column], Column],
    *,
    fallback: Callable[[Column], Column] | None = None,
    problem: Column | None = None,
    name: str | None = None,
) -> Column:
    """As `jvm_rows`, without a second field: null is a tombstone, and a bad row is raised where it is read, so that nothing
    behind has to look for it. What is raised, of reason and message (`in_words`), may be of any type that can be cast to a
    row; a `problem` is what is wrong with the framing, in words."""
    has, type_ = _Ids(payload, name), struct_type(read.row_schema)
    left = None if fallback is None else _left(read, payload, has, fallback)
    verdicts = _verdicts(read, payload, has, left, problem)
    words = _case((condition, _words_of(reason, message)) for condition, reason, message in verdicts)
    rows = [_rows(read, payload, has)]
    if left is not None:
        rows.append(left["row"])
        is_bad = left["reason"].isNotNull() & (left["reason"] != Reason.TOMBSTONE.value)
        words = F.when(is_bad, in_words(left["reason"], left["message"])).otherwise(words)
    is_framed = payload.isNotNull() if problem is None else payload.isNotNull() | problem.isNotNull()
    return F.struct(F.coalesce(*rows, F.when(is_framed, raised(words).cast(type_))).alias(_ROW))


def judged(
    read: JvmRead,
    payload: Column,
    *,
    row: Column,
    left: Column | None,
    is_good: Column,
    problem: Column | None = None,
    name: str | None = None,
) -> Judged:
    """What is said of what `jvm_rows` gave: `row`, and `left` with a fallback. `is_good` says whether the row is there and
    holds nothing that Python does not have (`strict`), and is never null; a `problem` is what is wrong with the framing, in
    words."""
    is_tombstone = payload.isNull() if problem is None else payload.isNull() & problem.isNull()
    is_bad = ~is_good & ~is_tombstone
    verdicts = _verdicts(read, payload, _Ids(payload, name), left, problem)
    if read.shapes:
        verdicts = [(row.isNotNull(), Reason.DECODE_FAILED, BEYOND_PYTHON), *verdicts]
    why = _case((condition, _why(F.lit(reason.value), message)) for condition, reason, message in verdicts)
    row = F.when(is_good, row)
    if left is not None:
        row, is_bad = row.otherwise(left["row"]), is_bad & left["row"].isNull()
        is_lefts, reason, message = left["reason"].isNotNull(), left["reason"], left["message"]
        why = F.when(is_lefts, _why(reason, message)).otherwise(why)
    return Judged(row=row, is_bad=is_bad, is_tombstone=is_tombstone, why=why)


def _rows(read: JvmRead, payload: Column, has: _Ids) -> Column:
    type_ = struct_type(read.row_schema)
    # The null says the type, with all that may be null, which no shape says by itself.
    null = F.lit(None).cast(type_)
    cases = [(has(shape.schema_ids), _read(shape, payload, type_)) for shape in read.shapes]
    return _case(cases).otherwise(null) if cases else null


def _left(read: JvmRead, payload: Column, has: _Ids, fallback: Callable[[Column], Column]) -> Column:
    """What the fallback makes of what is left to it."""
    final = has(read.schema_ids) if read.schema_ids else F.lit(False)
    return fallback(F.when(~final, payload))


def _verdicts(read: JvmRead, payload: Column, has: _Ids, left: Column | None, problem: Column | None) -> list[_Verdict]:
    """Why a payload that was not read is bad. The first one that holds counts, and one does."""
    verdicts: list[_Verdict] = [] if problem is None else [(problem.isNotNull(), Reason.BAD_FRAMING, problem)]
    verdicts += (
        (has(verdict.schema_ids), verdict.reason, verdict.message)
        for verdict in read.verdicts
        if left is None or not verdict.is_refusal
    )
    if left is None:
        verdicts += _unframed(payload)
        if read.shapes:
            verdicts.append((has(read.shape_ids), Reason.DECODE_FAILED, _FAILED))
        header = F.substring(payload, 1, PREFIX_ID_SIZE)
        verdicts.append((F.lit(True), Reason.UNKNOWN_ID, _unknown(header)))
    else:
        verdicts.append((F.lit(True), Reason.DECODE_FAILED, _FAILED))
    return verdicts


def _why(reason: Column, message: Column | str) -> Column:
    told = F.lit(message) if isinstance(message, str) else message
    return F.struct(reason.alias("reason"), told.alias("message"))


def _words_of(reason: Reason, message: Column | str) -> Column:
    if isinstance(message, str):
        return F.lit(f"{reason.value}: {message}")
    return F.concat(F.lit(f"{reason.value}: "), message)


def in_words(reason: Column, message: Column) -> Column:
    """`REASON: message`, as one text."""
    return F.concat(reason, F.lit(": "), F.coalesce(message, F.lit("no more is known.")))


def require_avro(spark: SparkSession) -> None:
    """:raises JarMissingError: if the session has no spark-avro."""
    try:
        # Looking at the schema runs no job, but finds the functions; Spark Connect looks no earlier.
        _ = spark.range(1).select(from_avro(F.lit(b""), '"int"')).schema
    except (PySparkException, TypeError) as error:  # a TypeError on Spark 3.5
        missing = missing_jar(str(error), spark.version)
        if missing is None:
            raise
        raise missing from error


def _case(cases: Iterable[tuple[Column, Column]]) -> Column:
    """The value of the first condition that holds, else null."""
    first, *more = cases
    return reduce(lambda when, case: when.when(*case), more, F.when(*first))


class _Ids:
    """Whether a payload has one of some ids, in front of its body."""

    def __init__(self, payload: Column, name: str | None) -> None:
        self._header = F.substring(payload, 1, PREFIX_ID_SIZE)
        self._name = name

    def __call__(self, schema_ids: Collection[SchemaId]) -> Column:
        if self._name is not None and len(schema_ids) >= _MANY_IDS:
            # A call of the JVM for each literal takes seconds for a thousand of them.
            literals = ", ".join(f"X'{prefix_id_bytes(schema_id).hex()}'" for schema_id in schema_ids)
            return F.expr(f"substring({self._name}, 1, {PREFIX_ID_SIZE}) IN ({literals})")
        headers = [F.lit(prefix_id_bytes(schema_id)) for schema_id in schema_ids]
        return self._header == headers[0] if len(headers) == 1 else self._header.isin(headers)


def _read(shape: JvmShape, payload: Column, row: StructType) -> Column:
    """A payload's row; null if it cannot be read."""
    read = from_avro(
        F.concat(payload, F.lit(AFTER)),
        shape.writer_schema,
        # Rebased, an ancient date would be another one than its number says.
        {"mode": "PERMISSIVE", "avroSchema": shape.reader_schema, "datetimeRebaseMode": "CORRECTED"},
    ).getField(ROW)
    fix = shape.fix
    if fix is not None:
        # A lambda's variable is what can be looked at several times, and is read once.
        good = F.filter(F.array(read), lambda one: _holds(fix, one))
        if makes(fix):
            good = F.transform(good, lambda one: _made(fix, one))
        read = F.get(good, F.lit(0))
    return read if shape.is_exact else read.cast(row)


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
        case EntriesToMap(key=key, value=field, values=values):
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
        case EntriesToMap():
            return F.when(value.isNotNull(), _map_of(fix, value))
        case _:
            raise AssertionError(fix)


def _map_of(fix: EntriesToMap, entries: Column) -> Column:
    # `map_from_entries` raises for a key that comes twice, or keeps the first, as the session says.
    def key(entry: Column) -> Column:
        return entry.getField(fix.key).cast("string")

    def value(entry: Column) -> Column:
        return _made(fix.values, entry.getField(fix.value))

    keys = F.array_distinct(F.transform(entries, key))
    plain = F.map_from_entries(F.transform(entries, lambda entry: F.struct(key(entry), value(entry))))
    last = F.transform(keys, lambda one: value(F.element_at(F.filter(entries, lambda entry: key(entry) == one), -1)))
    return F.when(F.size(keys) == F.size(entries), plain).otherwise(F.map_from_arrays(keys, last))


def _unframed(payload: Column) -> Iterable[_Verdict]:
    """Payloads without a schema id that could be one, in the words of `wire.parse`."""
    first, size = F.substring(payload, 1, 1), F.length(payload)
    yield size == 0, Reason.TOO_SHORT, F.lit(_words(b""))
    has_id = first == F.lit(b"\0")
    needed = F.when(has_id, F.lit(PREFIX_ID_SIZE)).when(first == F.lit(b"\1"), F.lit(PREFIX_GUID_SIZE))
    bytes_ = F.when(size == 1, F.lit("1 byte")).otherwise(F.concat(size.cast("string"), F.lit(" bytes")))
    yield size < needed, Reason.TOO_SHORT, _with("1 byte", bytes_, has_id, _words(b"\0"), _words(b"\1"))
    guid = F.lower(F.hex(F.substring(payload, 2, 16)))
    yield (
        first == F.lit(b"\1"),
        Reason.UNKNOWN_ID,
        F.concat(
            F.lit("The payload names its schema by the GUID "),
            guid,
            F.lit(
                ", and the jvm engine knows ids only. "
                + arrow_or(_NEWER, advice="Read these rows with the arrow engine.")
            ),
        ),
    )
    is_json = first.isin([F.lit(looks) for looks in _LIKE_JSON])
    like_json = _words(_LIKE_JSON[0]).replace(_LIKE_JSON[0].hex(), "02")
    yield ~has_id, Reason.BAD_MAGIC, _with("02", F.lower(F.hex(first)), is_json, like_json, _words(b"\2"))
    yield from _impossible(F.substring(payload, 1, PREFIX_ID_SIZE))


def _with(mark: str, shown: Column, holds: Column, text: str, other: str) -> Column:
    """One text or the other, what both share but once, and a column's value where they first have the mark."""
    (before, text), (_, other) = text.split(mark, 1), other.split(mark, 1)
    same = commonprefix([text, other])  # noqa: RUF071 - letter by letter, as these are no paths
    texts = [one.removeprefix(same) for one in (text, other)]
    behind = commonprefix([one[::-1] for one in texts])[::-1]  # noqa: RUF071
    its, others = (one.removesuffix(behind) for one in texts)
    return F.concat(
        F.lit(before), shown, F.lit(same), F.when(holds, F.lit(its)).otherwise(F.lit(others)), F.lit(behind)
    )


def _impossible(header: Column) -> Iterable[_Verdict]:
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
        F.lit(". " + arrow_or("Plan again.", advice=_PLAN_AGAIN)),
    )

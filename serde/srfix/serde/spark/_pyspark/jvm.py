"""The jvm engine: Spark's own Avro, with a branch for each shape of writer schemas. A row is read once (`jvm_rows`), after
a barrier or in a lambda's array; all else is computed from that result, and a good row costs only a check (`judged`)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import and_
from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import LongType, StructField, StructType

from srfix.serde.errors import Reason, WireError
from srfix.serde.spark._pyspark.strict import BEYOND_PYTHON, struct_type
from srfix.serde.spark.read.jvm.leaves import Bounds, EntriesToMap, Fix, OfFields, OfItems, OfValues, makes
from srfix.serde.spark.read.jvm.read import AFTER, MARK, MARKED, JvmRead, JvmShape
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

_Verdict: TypeAlias = tuple[Column, Reason, str]
"""Condition, reason and message, a text with `_arguments` in the notation of Java's Formatter (`%2$s`)."""
_MANY_IDS: Final = 10
_LIKE_JSON: Final = (b"{", b"[", b'"')
_FAILED: Final = (
    "Spark's Avro could not read the body under its writer schema, or bytes are left over after the last field. "
    f"{arrow_or('srfix decode', advice='The arrow engine')} shows what is wrong."
)
_NEWER: Final = (
    "Read these rows with Spark 4.1 or newer, whose arrow engine can read them, or show them with srfix decode."
)
_PLAN_AGAIN: Final = (
    'If this id is registered by now, plan.refreshed(registry) knows it. With unknown_ids="resolve" or engine="arrow", '
    "srfix asks the registry about such an id when it occurs."
)
_UNKNOWN: Final = "The plan does not know the schema id %4$s. " + arrow_or("Plan again.", advice=_PLAN_AGAIN)
_GUID: Final = "The payload names its schema by the GUID %3$s, but the jvm engine knows only ids. " + arrow_or(
    _NEWER, advice="Read these rows with the arrow engine."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Payload:
    """Payloads, and the parts that every branch uses. HotSpot does not compile methods of more than 8,000 bytes
    (`HugeMethodLimit`), and a query's stage may be one method. So a frame has the other two as separate columns
    (`in_columns`); otherwise each of tens of branches would contain their code."""

    bytes_: Column
    header: Column
    marked: Column
    header_name: str | None = None

    @classmethod
    def of(cls, bytes_: Column) -> Payload:
        header = F.substring(bytes_, 1, PREFIX_ID_SIZE)
        # This copies the bytes once; `concat` copies each of its arguments by a call of its own.
        marked = F.call_function("rpad", bytes_, F.length(bytes_) + len(AFTER), F.lit(AFTER))
        return cls(bytes_=bytes_, header=header, marked=marked)

    def in_columns(self, frame: DataFrame, header: str, marked: str) -> tuple[DataFrame, Payload]:
        frame = frame.withColumns({header: self.header, marked: self.marked})
        return frame, replace(self, header=F.col(header), marked=F.col(marked), header_name=header)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The first three expressions are short."""

    row: Column
    """Null for a bad payload or a tombstone."""
    is_bad: Column
    """Never null."""
    is_tombstone: Column
    """Never null."""
    why: Column
    """`struct<reason: string, message: string>` for a bad payload; undefined for others. Long."""
    words: Column


def judged(
    read: JvmRead,
    payload: Payload,
    *,
    fields: Sequence[Column],
    left: Column | None,
    is_good: Column,
    problem: Column | None = None,
) -> Judged:
    """`is_good` says whether there is a row whose values Python can all hold (`strict`); it is never null.
    `left` is what the fallback made; without a fallback, payloads of unknown schemas are bad rows."""
    is_tombstone = payload.bytes_.isNull() if problem is None else payload.bytes_.isNull() & problem.isNull()
    is_bad = ~is_good & ~is_tombstone
    verdicts = _verdicts(read, payload, left)
    if read.shapes:
        verdicts = [(is_read(fields), Reason.DECODE_FAILED, _template(BEYOND_PYTHON)), *verdicts]
    arguments = _arguments(payload)
    reason = case((condition, F.lit(reason.value)) for condition, reason, _ in verdicts)
    message = _formatted(((condition, text) for condition, _, text in verdicts), arguments)
    words = _formatted(((condition, f"{reason.value}: {text}") for condition, reason, text in verdicts), arguments)
    if problem is not None:
        is_problem = problem.isNotNull()
        reason = F.when(is_problem, F.lit(Reason.BAD_FRAMING.value)).otherwise(reason)
        message = F.coalesce(problem, message)
        words = F.when(is_problem, F.concat(F.lit(f"{Reason.BAD_FRAMING.value}: "), problem)).otherwise(words)
    why = _why(reason, message)
    if left is not None:
        is_bad = is_bad & left["row"].isNull()
        is_lefts, reason, message = left["reason"].isNotNull(), left["reason"], left["message"]
        why = F.when(is_lefts, _why(reason, message)).otherwise(why)
        words = F.when(is_lefts, in_words(reason, message)).otherwise(words)
    row = row_of(read, fields, left, is_good=is_good)
    return Judged(row=row, is_bad=is_bad, is_tombstone=is_tombstone, why=why, words=words)


def is_read(fields: Sequence[Column]) -> Column:
    """Whether Spark's Avro read a payload; never null."""
    return fields[-1].eqNullSafe(F.lit(MARKED))


def row_of(read: JvmRead, fields: Sequence[Column], left: Column | None, *, is_good: Column) -> Column:
    """The row that Spark's Avro read if it is good, otherwise the fallback's (null without a fallback)."""
    type_ = struct_type(read.row_schema)
    if read.is_wide:
        row = fields[0]
    else:
        row = F.struct(*(value.alias(field.name) for value, field in zip(fields[:-1], type_.fields, strict=True)))
    # The null carries the full type with its nullability, which no single shape has.
    return F.when(is_good, row).otherwise(F.lit(None).cast(type_) if left is None else left["row"])


def jvm_rows(read: JvmRead, payload: Payload) -> Column:
    """What Spark's Avro reads: a struct with the fields of `read.names`. There is one call of `from_avro` for each shape."""
    row = struct_type(read.row_schema)
    types = (*([row] if read.is_wide else [field.dataType for field in row]), LongType())
    type_ = StructType([StructField(*field) for field in zip(read.names, types, strict=True)])
    null = F.lit(None).cast(type_)
    if not read.shapes:
        return null
    return case((has_id(payload, shape.schema_ids), _read(shape, payload, type_)) for shape in read.shapes).otherwise(
        null
    )


def _verdicts(read: JvmRead, payload: Payload, left: Column | None) -> list[_Verdict]:
    """Why a payload that was not read is bad. The first true condition counts, and one is always true."""
    verdicts = [
        (has_id(payload, verdict.schema_ids), verdict.reason, _template(verdict.message))
        for verdict in read.verdicts
        if left is None or not verdict.is_refusal
    ]
    if left is None:
        verdicts += _unframed(payload)
        if read.shapes:
            verdicts.append((has_id(payload, read.shape_ids), Reason.DECODE_FAILED, _template(_FAILED)))
        verdicts.append((F.lit(True), Reason.UNKNOWN_ID, _UNKNOWN))
    else:
        verdicts.append((F.lit(True), Reason.DECODE_FAILED, _template(_FAILED)))
    return verdicts


def _why(reason: Column, message: Column) -> Column:
    return F.struct(reason.alias("reason"), message.alias("message"))


def _arguments(payload: Payload) -> tuple[Column, ...]:
    """1 the size, 2 the first byte, 3 a GUID, 4 a schema id, 5 the id as Java would read it."""
    size = F.length(payload.bytes_)
    schema_id = F.conv(F.hex(F.substring(payload.header, 2, PREFIX_ID_SIZE - 1)), 16, 10).cast("bigint")
    return (
        F.when(size == 1, F.lit("1 byte")).otherwise(F.concat(size.cast("string"), F.lit(" bytes"))),
        F.lower(F.hex(F.substring(payload.header, 1, 1))),
        F.lower(F.hex(F.substring(payload.bytes_, 2, 16))),
        schema_id,
        schema_id - F.lit(2**32),
    )


def _formatted(texts: Iterable[tuple[Column, str]], arguments: Sequence[Column]) -> Column:
    # One call for all texts, because of the size of a query's method (see `Payload`).
    return F.call_function("format_string", case((when, F.lit(text)) for when, text in texts), *arguments)


def _template(text: str, **named: int) -> str:
    """A format string: the text, with the first occurrence of each word replaced by the argument with its number."""
    text = text.replace("%", "%%")
    for words, number in named.items():
        before, behind = text.split(words, 1)
        text = f"{before}%{number}$s{behind}"
    return text


def in_words(reason: Column, message: Column) -> Column:
    return F.concat(reason, F.lit(": "), F.coalesce(message, F.lit("no more is known.")))


def case(cases: Iterable[tuple[Column, Column]]) -> Column:
    """The value of the first true condition, otherwise null."""
    first, *more = cases
    return reduce(lambda when, case: when.when(*case), more, F.when(*first))


def has_id(payload: Payload, schema_ids: Collection[SchemaId]) -> Column:
    if payload.header_name is not None and len(schema_ids) >= _MANY_IDS:
        # A JVM call for each literal would take seconds for a thousand literals.
        literals = ", ".join(f"X'{prefix_id_bytes(schema_id).hex()}'" for schema_id in schema_ids)
        return F.expr(f"{payload.header_name} IN ({literals})")
    headers = [F.lit(prefix_id_bytes(schema_id)) for schema_id in schema_ids]
    return payload.header == headers[0] if len(headers) == 1 else payload.header.isin(headers)


def _read(shape: JvmShape, payload: Payload, type_: StructType) -> Column:
    read = from_avro(
        payload.marked,
        shape.writer_schema,
        # With rebasing, an ancient date would differ from its number.
        {"mode": "PERMISSIVE", "avroSchema": shape.reader_schema, "datetimeRebaseMode": "CORRECTED"},
    )
    fix = shape.fix
    if fix is not None:
        # A lambda's variable is read once and can be used several times.
        good = F.filter(F.array(read), lambda one: _holds(fix, one))
        if makes(fix):
            assert isinstance(fix, OfFields)
            whole = replace(fix, fields=(*fix.fields, (MARK, None)))
            good = F.transform(good, lambda one: _made(whole, one))
        read = F.get(good, F.lit(0))
    return read if shape.is_exact else read.cast(type_)


def _holds(fix: Fix | None, value: Column) -> Column:
    """True for null."""
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
    # If a key occurs twice, `map_from_entries` raises an error or keeps the first entry, depending on the session.
    def key(entry: Column) -> Column:
        return entry.getField(fix.key).cast("string")

    def value(entry: Column) -> Column:
        return _made(fix.values, entry.getField(fix.value))

    keys = F.array_distinct(F.transform(entries, key))
    plain = F.map_from_entries(F.transform(entries, lambda entry: F.struct(key(entry), value(entry))))
    last = F.transform(keys, lambda one: value(F.element_at(F.filter(entries, lambda entry: key(entry) == one), -1)))
    return F.when(F.size(keys) == F.size(entries), plain).otherwise(F.map_from_arrays(keys, last))


def _unframed(payload: Payload) -> Iterable[_Verdict]:
    """With the messages of `wire.parse`."""
    first, size = F.substring(payload.header, 1, 1), F.length(payload.bytes_)
    has_id, has_guid = first == F.lit(b"\0"), first == F.lit(b"\1")
    yield size == 0, Reason.TOO_SHORT, _template(_words(b""))
    for has, prefix, needed in ((has_id, b"\0", PREFIX_ID_SIZE), (has_guid, b"\1", PREFIX_GUID_SIZE)):
        yield has & (size < needed), Reason.TOO_SHORT, _template(_words(prefix), **{"1 byte": 1})
    yield has_guid, Reason.UNKNOWN_ID, _GUID
    like_json = _LIKE_JSON[0]
    is_json = first.isin([F.lit(looks) for looks in _LIKE_JSON])
    yield is_json, Reason.BAD_MAGIC, _template(_words(like_json), **{like_json.hex(): 2})
    yield ~has_id, Reason.BAD_MAGIC, _template(_words(b"\2"), **{"02": 2})
    # Ids that no registry assigns. Bytes are compared as unsigned numbers, from the first byte on.
    below = payload.header < F.lit(prefix_id_bytes(MIN_SCHEMA_ID))
    yield below, Reason.BAD_ID, _template(_words(bytes(PREFIX_ID_SIZE)))
    first_id = MAX_SCHEMA_ID + 1
    words = _words(b"\0" + first_id.to_bytes(PREFIX_ID_SIZE - 1, "big"))
    above = payload.header > F.lit(prefix_id_bytes(MAX_SCHEMA_ID))
    yield above, Reason.BAD_ID, _template(words, **{str(first_id): 4, str(first_id - 2**32): 5})


def wire_words(read: Callable[..., object], *arguments: object) -> str:
    """The message with which a function of `wire` refuses its arguments."""
    try:
        read(*arguments)
    except WireError as error:
        return error.message
    raise AssertionError(arguments)


_words: Final = partial(wire_words, parse)

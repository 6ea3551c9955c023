"""Reads many payloads at a time, with bad rows as values.

| reason | of the error |
|---|---|
| `TOMBSTONE` | none: a null payload, or JSON's `null` instead of a row, deletes a row and is not an error |
| `TOO_SHORT`, `BAD_MAGIC`, `BAD_FRAMING` | `PayloadTooShortError`, `UnknownMagicByteError`, other `WireError` |
| `BAD_ID` | `ImpossibleSchemaIdError`: an id that no registry assigns, so srfix asks no registry for it |
| `UNKNOWN_ID`, `NOT_UNDER_SUBJECT` | `ResolveError`; `SubjectVersionError` and `DualSubjectError` |
| `BAD_SCHEMA`, `AMBIGUOUS_CASE` | `SchemaError`, `CasingError` |
| `TRUNCATED`, `TRAILING_BYTES`, `DECODE_FAILED` | `TruncatedBodyError`, `TrailingBytesError`, other `DecodeError` |
| `BEYOND_BOUNDS` | `PayloadBoundError`: the payload exceeds a limit (`srfix.serde.bounds`) |
| `NOTHING_FED`, `COLUMN_NOT_FED` | `NothingFedError`: the writer feeds none of the columns; `ColumnNotFedError` (`strict`) |
| `TYPE_MISMATCH`, `BAD_VALUE`, `OVERFLOW` | `IncompatibleTypeError`, `CoercionError`, `OutOfRangeError` |
| `ENCODE_FAILED` | `EncodeError` |
| `NO_PLAN` | none: on Spark, in a read of several topics, a row of a topic without a plan |

Every other error says nothing about the row, above all if a registry cannot be asked. Such an error is always raised.

    >>> from srfix.serde import AvroDeserializer, AvroSerializer, ById, SerdeContext, parse_columns
    >>> columns, users = parse_columns("ID BIGINT, NAME STRING"), SerdeContext("users")
    >>> payload = AvroSerializer(registry, columns)({"ID": 7, "NAME": "Ada"}, users)
    >>> read = AvroDeserializer(ById(registry), columns=columns)
    >>> good, tombstone, bad = deserialize_many([payload, None, payload[:-1]], users, read, on_error="quarantine")
    >>> good, tombstone, bad.position, bad.reason.value
    ({'ID': 7, 'NAME': 'Ada'}, None, 2, 'TRUNCATED')
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar, cast, get_args, overload

from srfix.serde.arguments import word
from srfix.serde.batches.rows import ROWS_AT_A_TIME, chunks_of_rows, error_at, usable_contexts, usable_payloads
from srfix.serde.interface import BadRow, Deserializer, GivenContexts, InstanceDeserializer, OnError, Payloads, Value

R = TypeVar("R")


@overload
def deserialize_many(
    payloads: Payloads | Iterable[bytes | None],
    ctx: GivenContexts,
    deserializer: InstanceDeserializer[R],
    *,
    on_error: OnError = "fail",
) -> Iterator[R | BadRow | None]: ...
@overload
def deserialize_many(
    payloads: Payloads | Iterable[bytes | None],
    ctx: GivenContexts,
    deserializer: Deserializer,
    *,
    on_error: OnError = "fail",
) -> Iterator[Value | BadRow]: ...
def deserialize_many(
    payloads: Payloads | Iterable[bytes | None],
    ctx: GivenContexts,
    deserializer: Any,
    *,
    on_error: OnError = "fail",
) -> Iterator[Any]:
    """The rows of payloads, in order; None for a tombstone.

    With `on_error="quarantine"` a row that cannot be read comes as a `BadRow`. If the registry refused a schema id,
    srfix does not ask for this id again in the same payloads (with an iterator: in the same 1,000), so garbage costs
    one request for each id. srfix reads up to 1,000 rows ahead. Keep no more rows than you need: many thousands of
    dicts at a time are slow, because Python's garbage collector walks them.

    :raises UsageError: if the number of contexts is neither 1 nor that of the payloads; if `on_error` is an unknown
        word; if `payloads` is a single payload, or a malformed Arrow array.
    :raises RegistryError: if the registry could not be asked, whatever `on_error` says.
    :raises SrfixError: any error of the deserializer, with the row's position (`.position`), unless in quarantine.

    >>> from srfix.serde import JsonDeserializer, SerdeContext
    >>> payloads = [b'{"a": 1}', None, b'{"a": ']
    >>> rows = list(deserialize_many(payloads, SerdeContext("users"), JsonDeserializer(), on_error="quarantine"))
    >>> rows[:2], rows[2].reason.value
    ([{'a': 1}, None], 'TRUNCATED')
    """
    word("on_error", on_error, get_args(OnError))
    payloads = usable_payloads(payloads)
    if isinstance(payloads, Iterator):
        if isinstance(usable_contexts(ctx), Sequence):
            payloads = list(payloads)
        else:
            return _raising(_chunks_ahead(payloads, ctx, deserializer), is_raised=on_error == "fail")
    return _raising(chunks_of_rows(cast("Payloads", payloads), ctx, deserializer), is_raised=on_error == "fail")


def _chunks_ahead(
    payloads: Iterator[bytes | None], ctx: GivenContexts, deserializer: Deserializer
) -> Iterator[list[Value | BadRow]]:
    start = 0
    while some := list(islice(payloads, ROWS_AT_A_TIME)):
        for rows in chunks_of_rows(some, ctx, deserializer):
            yield [replace(row, position=start + row.position) if isinstance(row, BadRow) else row for row in rows]
        start += len(some)


def _raising(chunks: Iterator[list[Value | BadRow]], *, is_raised: bool) -> Iterator[Value | BadRow]:
    for rows in chunks:
        for row in rows:
            if is_raised and isinstance(row, BadRow):
                raise error_at(row.error, row.position) from row.error
            yield row

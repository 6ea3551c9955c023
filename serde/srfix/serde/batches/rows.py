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

An error of any other kind says nothing about the row: for example, the registry did not answer. It is always raised.

    >>> from srfix.serde import AvroDeserializer, AvroSerializer, ById, SerdeContext, parse_columns
    >>> columns, users = parse_columns("ID BIGINT, NAME STRING"), SerdeContext("users")
    >>> payload = AvroSerializer(registry, columns)({"ID": 7, "NAME": "Ada"}, users)
    >>> read = AvroDeserializer(ById(registry), columns=columns)
    >>> good, tombstone, bad = deserialize_many([payload, None, payload[:-1]], users, read, on_error="quarantine")
    >>> good, tombstone, bad.position, bad.reason.value
    ({'ID': 7, 'NAME': 'Ada'}, None, 2, 'TRUNCATED')
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, starmap
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast, get_args, overload

from srfix.serde.arguments import type_words, usable_context, word
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.errors import ResolveError, SchemaError, SrfixError, UsageError, WireError
from srfix.serde.interface import (
    BadRow,
    Context,
    Contexts,
    Deserializer,
    GivenContexts,
    InstanceDeserializer,
    OnError,
    Payloads,
    Value,
)
from srfix.serde.wire import parse, prefix_of

if TYPE_CHECKING:
    import pyarrow as pa

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
    :raises SrfixError: any error of the deserializer, with the row's position (`.position`), unless
        `on_error` is `"quarantine"`.

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


def usable_payloads(payloads: object) -> Any:
    """A list, a tuple or a valid Arrow array of bytes unchanged; for any other iterable, an iterator."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(payloads, arrow.Array | arrow.ChunkedArray):
        return of_binary(payloads)
    if isinstance(payloads, list | tuple):
        return payloads
    if isinstance(payloads, Iterable) and not isinstance(payloads, str | bytes | bytearray | memoryview):
        return iter(payloads)
    raise UsageError(
        f"The payloads are {type_words(payloads)}; they must be a list, an iterator or an Arrow array of bytes."
    )


def of_binary(payloads: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    import pyarrow as pa

    for chunk in payloads.chunks if isinstance(payloads, pa.ChunkedArray) else [payloads]:
        refuse_malformed(chunk, "The payloads")
    types, type_ = pa.types, payloads.type
    if types.is_dictionary(type_):
        return of_binary(payloads.cast(type_.value_type))
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_fixed_size_binary(type_):
        return payloads
    if types.is_null(type_) or types.is_binary_view(type_):
        return payloads.cast(pa.binary())
    raise UsageError(f"Payloads must be bytes, but these have the Arrow type {type_}. Pass the binary column.")


def refuse_malformed(array: pa.Array, what: str) -> None:
    """pyarrow does not check an IPC stream: offsets may point into other memory. Bad UTF-8 concerns only its row."""
    import pyarrow as pa

    try:
        _check(array)
    except (pa.ArrowInvalid, IndexError) as error:
        raise UsageError(
            f"{what} come as a malformed Arrow array ({error}); srfix read nothing of it. Create the array again with the "
            "library that made it."
        ) from None


def _check(array: pa.Array) -> None:
    import pyarrow as pa

    types, type_ = pa.types, array.type
    array.validate()
    if types.is_struct(type_):
        for number in range(type_.num_fields):
            _check(array.field(number))
    elif types.is_map(type_):
        _check_offsets(array.offsets, len(array.keys))
        _check(array.keys)
        _check(array.items)
    elif types.is_list(type_) or types.is_large_list(type_):
        _check_offsets(array.offsets, len(array.values))
        _check(array.values)
    elif types.is_fixed_size_list(type_):
        _check(array.values)
    elif types.is_dictionary(type_):
        pa.DictionaryArray.from_arrays(array.indices, pa.nulls(len(array.dictionary))).validate(full=True)
        _check(array.dictionary)
    elif isinstance(type_, pa.BaseExtensionType):
        _check(array.storage)
    elif types.is_primitive(type_) or types.is_decimal(type_) or types.is_fixed_size_binary(type_):
        pass  # it has no offsets; whether a time is valid is a matter of its row
    elif types.is_string(type_):
        array.view(pa.binary()).validate(full=True)
    elif types.is_large_string(type_):
        array.view(pa.large_binary()).validate(full=True)
    else:
        array.validate(full=True)


def _check_offsets(offsets: pa.Array, values: int) -> None:
    import pyarrow as pa

    made = pa.LargeListArray if pa.types.is_int64(offsets.type) else pa.ListArray
    made.from_arrays(offsets, pa.nulls(values)).validate(full=True)


ROWS_AT_A_TIME: Final = 1000
"""The number of rows that are held together. With more dicts, Python's garbage collector would walk them again and
again."""


def error_at(error: SrfixError, position: int) -> SrfixError:
    located = copy.copy(error)
    located.args = (f"Row {position} of the batch: {error.message}", *error.args[1:])
    located.position = position  # type: ignore[attr-defined]
    return located


def usable_contexts(ctx: GivenContexts) -> Contexts:
    if isinstance(ctx, str) or not isinstance(ctx, Sequence):
        return usable_context(ctx)
    for context in ctx[:1]:  # checks only one of many, because they are all alike
        usable_context(context)
    return cast("Contexts", ctx)


def contexts_of(ctx: GivenContexts, rows: int) -> Sequence[Context]:
    contexts = usable_contexts(ctx)
    if not isinstance(contexts, Sequence):
        return [contexts] * rows
    if len(contexts) != rows:
        raise UsageError(
            f"There are {len(contexts)} contexts for {rows} rows. Pass one for all of them, or one for each."
        )
    return contexts


def chunks_of_rows(
    payloads: Payloads, ctx: GivenContexts, deserializer: Deserializer
) -> Iterator[list[Value | BadRow]]:
    """The rows in lists of 1,000, or of fewer large payloads, with bad rows as values."""
    contexts = contexts_of(ctx, len(payloads))
    # With one context the kernel reads many payloads in one call.
    read_ahead = None if isinstance(usable_contexts(ctx), Sequence) else getattr(deserializer, "_read_ahead", None)
    return _chunks(payloads, contexts, deserializer, read_ahead)


def _chunks(
    payloads: Payloads,
    contexts: Sequence[Context],
    deserialize: Deserializer,
    read_ahead: Callable[[Sequence[bytes | None], int, Context], list[Value]] | None,
) -> Iterator[list[Value | BadRow]]:
    refused = _Refused(deserialize)
    read: Callable[[bytes | None, Context], Value | BadRow] = deserialize
    start = 0
    while start < len(payloads):
        some = payloads_from(payloads, start)
        is_ahead = read_ahead is not None and isinstance(some, list)
        rows: list[Value | BadRow] = []
        while len(rows) < len(some):
            if read_ahead is not None and is_ahead:
                more = read_ahead(some, len(rows), contexts[start])
                rows += more
                is_ahead = bool(more)
            left = zip(some[len(rows) :], contexts[start + len(rows) : start + len(some)], strict=True)
            try:
                # The loop for good rows only calls the deserializer. A bad row ends it, and the loop starts again after
                # that row.
                for row in starmap(read, left):
                    rows.append(row)
                    if is_ahead:
                        break  # what the kernel does not read was one row; it may read the next
            except SrfixError as error:
                reason = error.row_reason
                if reason is None:
                    raise
                position = start + len(rows)
                payload = _as_bytes(some[len(rows)])
                bad = BadRow(position=position, reason=reason, error=without_frames(error), payload=payload)
                rows.append(bad)
                if refused.put(bad, contexts[position]):
                    read = refused
        yield rows
        start += len(some)


def payloads_from(payloads: Payloads, start: int) -> Sequence[bytes | None]:
    """The next 1,000 payloads as Python bytes; fewer large ones, because their rows may be much larger."""
    some: Sequence[bytes | None]
    if isinstance(payloads, Sequence):
        some = payloads[start : start + ROWS_AT_A_TIME]
    else:
        some = payloads.slice(start, ROWS_AT_A_TIME).to_pylist()
    left = payload_bounds().batch_bytes
    try:
        if sum(map(len, filter(None, some))) <= left:
            return some
    except TypeError:
        return some  # the deserializer will check the payload's type
    for count, payload in enumerate(some):
        left -= len(payload or b"")
        if left < 0:
            return some[: max(count, 1)]
    return some


class _Refused:
    def __init__(self, deserialize: Deserializer) -> None:
        self._deserialize = deserialize
        self._prefixes: dict[tuple[bytes, str, str], None] = {}
        self._by_framing: dict[tuple[bytes, str, str], SrfixError] = {}

    def __call__(self, payload: bytes | None, ctx: Context) -> Value:
        payload = _as_bytes(payload)
        # Headers may name another schema. A payload is parsed here only if a similar one was refused.
        if (
            isinstance(payload, bytes)
            and not ctx.headers
            and (prefix_of(payload), ctx.topic, ctx.field) in self._prefixes
        ):
            error = self._by_framing.get((_framing_of(payload), ctx.topic, ctx.field))
            if error is not None:
                raise error
        return self._deserialize(payload, ctx)

    def put(self, bad: BadRow, ctx: Context) -> bool:
        """Remembers an error that depends only on the id in front of the payload; True if it does."""
        if bad.payload is None or ctx.headers or not isinstance(bad.error, ResolveError | SchemaError):
            return False
        framing = _framing_of(bad.payload)
        if not framing:
            return False
        remember(self._by_framing, (framing, ctx.topic, ctx.field), bad.error, payload_bounds().refusals)
        remember(self._prefixes, (prefix_of(framing), ctx.topic, ctx.field), None, payload_bounds().refusals)
        return True


def _as_bytes(payload: bytes | None) -> bytes | None:
    """The payload as a key of a dict, and as no later write of the caller's can change it."""
    return bytes(payload) if isinstance(payload, bytearray | memoryview) else payload


def _framing_of(payload: bytes) -> bytes:
    try:
        frame = parse(payload)
    except WireError:
        return b""
    return b"" if frame is None else payload[: frame.body_offset]


def without_frames(error: SrfixError) -> SrfixError:
    """Drops tracebacks, because those of a thousand bad rows would keep a thousand stacks alive."""
    part: BaseException | None = error
    seen: set[int] = set()
    while part is not None and id(part) not in seen:  # an error may be its own cause
        seen.add(id(part))
        part.__traceback__ = None
        part = part.__cause__ or part.__context__
    return error

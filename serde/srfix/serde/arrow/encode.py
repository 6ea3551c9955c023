"""Arrow → payloads.

>>> import pyarrow
>>> from srfix.serde import AvroSerializer, SerdeContext, parse_columns
>>> write = AvroSerializer(registry, parse_columns("ID BIGINT, NAME STRING"))
>>> batch = pyarrow.RecordBatch.from_pydict({"ID": [7, 8], "NAME": ["Ada", "gone"]})
>>> payloads = from_arrow(batch, write, SerdeContext("users"), tombstones=[False, True])
>>> len(payloads), payloads.null_count
(2, 1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, overload

from srfix.serde.arrow.types import one_array, pyarrow, pyarrow_compute
from srfix.serde.arrow.values import Read, TimeUnit, struct_reader
from srfix.serde.batches.rows import (
    ROWS_AT_A_TIME,
    contexts_of,
    error_at,
    refuse_malformed,
    usable_contexts,
    without_frames,
)
from srfix.serde.engine import BatchEncode, EncodedBatch
from srfix.serde.errors import EncodeError, SrfixError, UsageError
from srfix.serde.formats.rows.value_check import Misfit, encode_error
from srfix.serde.interface import BadRow, Context, Contexts, GivenContexts, OnError, Serializer
from srfix.serde.native import NativeEncode, kernel
from srfix.serde.subjects.names import Role, role_of

if TYPE_CHECKING:
    import pyarrow as pa


Rows: TypeAlias = "pa.RecordBatch | pa.StructArray"
"""Some of an array's structs may be null."""
Tombstones: TypeAlias = "pa.BooleanArray | Sequence[bool]"
"""For each row, whether it is a tombstone. Its values then do not matter."""


EncodeEngine: TypeAlias = Callable[[Serializer, TimeUnit], BatchEncode]
"""Makes an encoder of batches, for a serializer and the finest unit of times."""


@overload
def from_arrow(
    rows: Rows,
    serializer: Serializer,
    ctx: GivenContexts,
    *,
    tombstones: Tombstones | None = None,
    on_error: Literal["fail"] = "fail",
    time_unit: TimeUnit = "us",
    engine: EncodeEngine | None = None,
) -> pa.BinaryArray: ...


@overload
def from_arrow(
    rows: Rows,
    serializer: Serializer,
    ctx: GivenContexts,
    *,
    tombstones: Tombstones | None = None,
    on_error: Literal["quarantine"],
    time_unit: TimeUnit = "us",
    engine: EncodeEngine | None = None,
) -> EncodedBatch: ...


def from_arrow(
    rows: Rows,
    serializer: Serializer,
    ctx: GivenContexts,
    *,
    tombstones: Tombstones | None = None,
    on_error: OnError = "fail",
    time_unit: TimeUnit = "us",
    engine: EncodeEngine | None = None,
) -> pa.BinaryArray | EncodedBatch:
    """The payloads of rows, in order: the serializer's bytes for each row. A row's fields are named like the Arrow
    fields.

    Every width of a type is accepted, and so are dictionary-encoded arrays. A value that Python or the column cannot
    hold exactly is refused, and never cut: a time finer than microseconds (with `time_unit="ms"`: finer than
    milliseconds, even if the serializer accepts it), a map with the same key twice. A timestamp without a zone is written
    as a local timestamp, never as an instant.

    A row becomes a tombstone (a null payload) only if `tombstones` says so. Otherwise a null struct is an error, and so
    is a value for which the serializer gives no payload. With `on_error="quarantine"` the rows that cannot be written
    are returned as bad rows, beside the payloads of the others.

    :param engine: the encoder. With None, srfix uses the native kernel if it is installed, the serializer writes Avro,
        and there is one context for all rows; otherwise srfix encodes row by row.
    :raises ColumnError: if no column type corresponds to a field's type, or two fields have the same name.
    :raises UsageError: if `rows` is neither a batch nor structs, or malformed; if the number of tombstones, or of
        contexts, is not that of the rows; if the payloads are more than one Arrow array can hold; if pyarrow is not
        installed.
    :raises RegistryError: if the registry could not be asked, or did not accept the schema, whatever `on_error` says.
    :raises EncodeError: if a row cannot be written, unless in quarantine; `.position` and `.paths` say where.
    :raises SrfixError: any other error of the serializer, with the row's position, unless in quarantine.

    >>> import pyarrow
    >>> from srfix.serde import JsonSerializer, SerdeContext, parse_columns
    >>> batch = pyarrow.RecordBatch.from_pydict({"ID": [7, None]})
    >>> from_arrow(batch, JsonSerializer(parse_columns("ID BIGINT")), SerdeContext("users")).to_pylist()
    [b'{"ID":7}', b'{"ID":null}']
    """
    pa = pyarrow()
    if isinstance(rows, pa.RecordBatch):
        rows = rows.to_struct_array()
    if not isinstance(rows, pa.StructArray):
        raise UsageError("Rows must be a pyarrow RecordBatch or StructArray. For a Table, write one batch at a time.")
    refuse_malformed(rows, "The rows")
    contexts = usable_contexts(ctx)
    if isinstance(contexts, Sequence):
        contexts = contexts_of(contexts, len(rows))
    mask = _mask(tombstones, len(rows))
    encode = (engine or EncodeKernelWise)(serializer, time_unit)
    encoded = encode(rows, contexts, tombstones=mask, until_bad=on_error == "fail")
    if on_error != "fail":
        return encoded
    if encoded.bad:
        first = encoded.bad[0]
        raise error_at(first.error, first.position) from first.error
    return encoded.payloads


def _mask(tombstones: Tombstones | None, rows: int) -> pa.BooleanArray | None:
    pa = pyarrow()
    if tombstones is None:
        return None
    if isinstance(tombstones, pa.BooleanArray) and len(tombstones) == rows and not tombstones.null_count:
        return tombstones
    mask = list(tombstones) if isinstance(tombstones, Sequence) else tombstones.to_pylist()
    if len(mask) != rows or not all(isinstance(is_tombstone, bool) for is_tombstone in mask):
        raise UsageError(
            f"tombstones= needs True or False for each of the {rows} rows; it has {len(mask)} values, and "
            f"{sum(value is None for value in mask)} of these are null."
        )
    return pa.array(mask, pa.bool_())


class EncodeRowWise:
    """The `BatchEncode` that works with every serializer. It turns some rows at a time into Python rows, and those into
    payloads."""

    def __init__(self, serializer: Serializer, time_unit: TimeUnit) -> None:
        self._serializer = serializer
        self._time_unit: TimeUnit = time_unit

    def reader(self, rows: pa.StructArray) -> Read:
        """A reader of Arrow rows.

        :raises ColumnError: if no column type corresponds to a field's type, or two fields have the same name.
        """
        return struct_reader(list(rows.type), "", self._time_unit)

    def __call__(
        self, rows: pa.StructArray, ctx: Contexts, /, *, tombstones: pa.BooleanArray | None, until_bad: bool
    ) -> EncodedBatch:
        pa = pyarrow()
        payloads: list[bytes | None] = []
        positions: list[int] = []
        bad: list[BadRow] = []
        contexts = ctx if isinstance(ctx, Sequence) else [ctx] * len(rows)
        is_tombstone = [False] * len(rows) if tombstones is None else tombstones.to_pylist()
        for position, row in enumerate(_rows(rows, self.reader(rows))):
            try:
                payload = None if is_tombstone[position] else _payload(row, self._serializer, contexts[position])
            except SrfixError as error:
                reason = error.row_reason
                if reason is None:
                    raise
                bad.append(BadRow(position=position, reason=reason, error=without_frames(error)))
                if until_bad:
                    break
            else:
                payloads.append(payload)
                positions.append(position)
        written = one_array([pa.array(payloads, pa.binary())], "the payloads")
        return EncodedBatch(payloads=written, positions=pa.array(positions, pa.int64()), bad=tuple(bad))


def _rows(rows: pa.StructArray, read: Read) -> Iterator[object]:
    """In place of a row that cannot be read comes its `Misfit`."""
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        some = rows.slice(start, ROWS_AT_A_TIME)
        try:
            yield from read(some)
        except Misfit:
            for number in range(len(some)):
                try:
                    yield from read(some.slice(number, 1))
                except Misfit as misfit:
                    yield misfit


def _payload(row: object, serializer: Serializer, ctx: Context) -> bytes | None:
    if isinstance(row, Misfit):
        raise encode_error(row) from row.group()
    if row is None:
        raise EncodeError(
            "The row is null but not marked as a tombstone. If it is written, it deletes its key. Mark it in "
            "tombstones=, or leave it out."
        )
    payload = serializer(row, ctx)
    if payload is None and role_of(ctx.field) is Role.VALUE:
        raise EncodeError(
            "The serializer gives no payload for the row, but the row is not marked as a tombstone. If it is written, "
            "it deletes its key. Mark it in tombstones=, or leave it out."
        )
    return payload


class EncodeKernelWise:
    """The `BatchEncode` of the kernel: the same payloads as `EncodeRowWise`.

    The first row of a context is written row-wise, because this decides schema and framing. The rows that the kernel
    does not write are written row-wise, too: bad rows, to get the error message, and correct rows of a kind that the
    kernel does not know.
    """

    def __init__(self, serializer: Serializer, time_unit: TimeUnit) -> None:
        self._row_wise = EncodeRowWise(serializer, time_unit)
        self._native_encode: Callable[[Context], NativeEncode | None] | None = (
            getattr(serializer, "native_encode", None) if kernel() else None
        )
        self._whole_millis = time_unit == "ms"

    def __call__(
        self, rows: pa.StructArray, ctx: Contexts, /, *, tombstones: pa.BooleanArray | None, until_bad: bool
    ) -> EncodedBatch:
        if self._native_encode is None or isinstance(ctx, Sequence):
            return self._row_wise(rows, ctx, tombstones=tombstones, until_bad=until_bad)
        self._row_wise.reader(rows)  # an unknown type raises its error before any row is written
        parts: list[tuple[int, EncodedBatch]] = []
        start = 0
        while start < len(rows) or not parts:
            native = self._native_encode(ctx)
            size = len(rows) if native is not None else ROWS_AT_A_TIME if start else 1
            some, marks = rows.slice(start, size), None if tombstones is None else tombstones.slice(start, size)
            if native is None:
                part = self._row_wise(some, ctx, tombstones=marks, until_bad=until_bad)
            else:
                part = self._natively(native, some, ctx, tombstones=marks, until_bad=until_bad)
            parts.append((start, part))
            if until_bad and part.bad:
                break
            start += size
        return _joined(parts)

    def _natively(
        self,
        native: NativeEncode,
        rows: pa.StructArray,
        ctx: Context,
        *,
        tombstones: pa.BooleanArray | None,
        until_bad: bool,
    ) -> EncodedBatch:
        pa = pyarrow()
        try:
            written, left = cast("Any", native.encoder).encode_rows(
                rows, tombstones, native.prefix, whole_millis=self._whole_millis, null_is_callers=native.is_bare
            )
        except (OverflowError, TypeError, ValueError):
            # The kernel does not accept the array, or one array cannot hold the payloads.
            return self._row_wise(rows, ctx, tombstones=tombstones, until_bad=until_bad)
        payloads = pa.array(written)
        if not left:
            return EncodedBatch(payloads=payloads, positions=_true(pa.nulls(len(rows)).is_null()), bad=())
        return _merged(payloads, left, self._encode_remainder(rows, left, ctx, until_bad=until_bad))

    def _encode_remainder(
        self, rows: pa.StructArray, left: Sequence[int], ctx: Context, *, until_bad: bool
    ) -> EncodedBatch:
        """Encodes the rows that the kernel left, given by their positions. It takes slices, because pyarrow's `take`
        does not work on views."""
        parts: list[tuple[int, EncodedBatch]] = []
        begin = 0
        while begin < len(left):
            end = begin + 1
            while end < len(left) and left[end] == left[end - 1] + 1:
                end += 1
            part = self._row_wise(rows.slice(left[begin], end - begin), ctx, tombstones=None, until_bad=until_bad)
            parts.append((begin, part))
            if until_bad and part.bad:
                break
            begin = end
        return _joined(parts)


def _merged(payloads: pa.BinaryArray, left: Sequence[int], remainder: EncodedBatch) -> EncodedBatch:
    pa = pyarrow()
    places: list[int | None] = list(range(len(payloads)))
    for position in left:
        places[position] = None
    for number, other in enumerate(remainder.positions.to_pylist(), len(payloads)):
        places[left[other]] = number
    good = pa.array(places, pa.int64())
    return EncodedBatch(
        payloads=one_array([payloads, remainder.payloads], "the payloads").take(good.drop_null()),
        positions=_true(good.is_valid()),
        bad=tuple(replace(row, position=left[row.position]) for row in remainder.bad),
    )


def _joined(parts: Sequence[tuple[int, EncodedBatch]]) -> EncodedBatch:
    """The parts, each with the position of its first row; the first one's is 0."""
    if len(parts) == 1:
        return parts[0][1]
    add = pyarrow_compute().add
    return EncodedBatch(
        payloads=one_array([part.payloads for _, part in parts], "the payloads"),
        positions=one_array([add(part.positions, start) for start, part in parts], "the positions"),
        bad=tuple(replace(row, position=row.position + start) for start, part in parts for row in part.bad),
    )


def _true(mask: pa.BooleanArray) -> pa.Int64Array:
    """The positions at which a mask is true; this is faster than an array from a range."""
    return pyarrow_compute().indices_nonzero(mask).cast(pyarrow().int64())

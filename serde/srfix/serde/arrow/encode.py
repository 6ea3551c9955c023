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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from srfix.serde.arrow.one_array import one_array
from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.arrow.values import Read, TimeUnit, struct_reader
from srfix.serde.batches import (
    ROWS_AT_A_TIME,
    BadRow,
    GivenContexts,
    OnError,
    contexts_of,
    error_at,
    reason_of,
    without_frames,
)
from srfix.serde.errors import EncodeError, SrfixError, UsageError
from srfix.serde.formats.rows import Misfit, encode_error
from srfix.serde.interface import Context, Serializer
from srfix.serde.subjects import Role, role_of

if TYPE_CHECKING:
    import pyarrow as pa

Rows: TypeAlias = "pa.RecordBatch | pa.StructArray"
"""Rows: a batch, or structs, of which one may be null."""
Tombstones: TypeAlias = "pa.BooleanArray | Sequence[bool]"
"""For each row, whether it is a tombstone, whatever it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedBatch:
    """Payloads, of the rows that could be written. A row that could not has none here, not even a null one: that would
    be a tombstone."""

    payloads: pa.BinaryArray
    """One for each good row; null for a tombstone."""
    positions: pa.Int64Array
    """Where these rows stand in the batch, from 0, ascending."""
    bad: tuple[BadRow, ...]
    """The other rows, by ascending position."""


@overload
def from_arrow(
    rows: Rows,
    serializer: Serializer,
    ctx: GivenContexts,
    *,
    tombstones: Tombstones | None = None,
    on_error: Literal["fail"] = "fail",
    time_unit: TimeUnit = "us",
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
) -> EncodedBatch: ...


def from_arrow(
    rows: Rows,
    serializer: Serializer,
    ctx: GivenContexts,
    *,
    tombstones: Tombstones | None = None,
    on_error: OnError = "fail",
    time_unit: TimeUnit = "us",
) -> pa.BinaryArray | EncodedBatch:
    """The payloads of rows, in order: what the serializer writes for each, whose fields are named as the Arrow fields.

    Any width of a type is taken, dictionary-encoded ones too. What Python or the column cannot hold exactly is refused,
    never cut: a time finer than microseconds (`time_unit="ms"`: than milliseconds, whatever the serializer takes), a map with
    one key twice. A timestamp without a zone is written as a local one, and as no instant.

    A row is a tombstone, a null payload, only where `tombstones` says so. A null struct without that is an error, and so
    is a value for which the serializer gives no payload. With `on_error="quarantine"` what cannot be written comes as
    bad rows beside the payloads of the others.

    :raises ColumnError: if a field's type is one that no column has, or two fields have the same name.
    :raises UsageError: if `rows` is neither; if there are not as many tombstones, or contexts, as rows; if the payloads
        are more than one Arrow array can hold; if pyarrow is not installed.
    :raises RegistryError: if the registry could not be asked, or did not take the schema, whatever `on_error` says.
    :raises EncodeError: if a row cannot be written: `.position` and `.paths` say where; unless in quarantine.
    :raises SrfixError: what else the serializer raises, with the row's position, unless in quarantine.

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
        raise UsageError("Rows come as a pyarrow RecordBatch or StructArray. Of a Table, write one batch at a time.")
    payloads: list[bytes | None] = []
    positions: list[int] = []
    bad: list[BadRow] = []
    contexts = contexts_of(ctx, len(rows))
    is_tombstone = _mask(tombstones, len(rows))
    for position, row in enumerate(_rows(rows, struct_reader(list(rows.type), "", time_unit))):
        try:
            payload = None if is_tombstone[position] else _payload(row, serializer, contexts[position])
        except SrfixError as error:
            reason = reason_of(error)
            if reason is None:
                raise
            if on_error == "fail":
                raise error_at(error, position) from error
            bad.append(BadRow(position=position, reason=reason, error=without_frames(error)))
        else:
            payloads.append(payload)
            positions.append(position)
    written = one_array([pa.array(payloads, pa.binary())], "the payloads")
    if on_error == "fail":
        return written
    return EncodedBatch(payloads=written, positions=pa.array(positions, pa.int64()), bad=tuple(bad))


def _mask(tombstones: Tombstones | None, rows: int) -> Sequence[bool]:
    if tombstones is None:
        return [False] * rows
    mask = list(tombstones) if isinstance(tombstones, Sequence) else tombstones.to_pylist()
    if len(mask) != rows or not all(isinstance(is_tombstone, bool) for is_tombstone in mask):
        raise UsageError(
            f"tombstones= needs True or False for each of the {rows} rows; it has {len(mask)} values, "
            f"{sum(value is None for value in mask)} of them null."
        )
    return mask


def _rows(rows: pa.StructArray, read: Read) -> Iterator[object]:
    """The rows; for one that cannot be read, its `Misfit`."""
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        some = rows.slice(start, ROWS_AT_A_TIME)
        try:
            yield from read(some)
        except Misfit:
            for number in range(len(some)):
                yield _row(some.slice(number, 1), read)


def _row(one: pa.StructArray, read: Read) -> object:
    try:
        (row,) = read(one)
    except Misfit as misfit:
        return misfit
    return row


def _payload(row: object, serializer: Serializer, ctx: Context) -> bytes | None:
    if isinstance(row, Misfit):
        raise encode_error(row) from row.group()
    if row is None:
        raise EncodeError(
            "The row is null, and not said to be a tombstone. Say so in tombstones=, or leave the row out: written, it "
            "would delete its key."
        )
    payload = serializer(row, ctx)
    if payload is None and role_of(ctx.field) is Role.VALUE:
        raise EncodeError(
            "The serializer gives no payload for the row, and it is not said to be a tombstone. Say so in tombstones=, "
            "or leave the row out: written, it would delete its key."
        )
    return payload

"""Payloads → Arrow, one typed column for each column.

>>> from srfix.serde import AvroDeserializer, AvroSerializer, ById, SerdeContext, parse_columns
>>> columns, users = parse_columns("ID BIGINT, NAME STRING"), SerdeContext("users")
>>> payload = AvroSerializer(registry, columns)({"ID": 7, "NAME": "Ada"}, users)
>>> read = AvroDeserializer(ById(registry), columns=columns)
>>> batch = to_arrow([payload, None, b"no frame"], users, read, on_error="quarantine")
>>> batch.select(["ID", "NAME", "_srfix_reason"]).to_pydict()
{'ID': [7, None, None], 'NAME': ['Ada', None, None], '_srfix_reason': [None, 'TOMBSTONE', 'BAD_MAGIC']}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from srfix.serde.arrow.misfits import misfits, row_error
from srfix.serde.arrow.one_array import one_array
from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.arrow.types import arrow_schema
from srfix.serde.batches import (
    BadRow,
    Contexts,
    GivenContexts,
    OnError,
    Payloads,
    Reason,
    chunks_of_rows,
    error_at,
    reason_of,
    usable_contexts,
)
from srfix.serde.column_sources import GivenColumns, given_columns
from srfix.serde.columns import Columns, half_of
from srfix.serde.engine import BatchDecode, DecodedBatch
from srfix.serde.errors import CoercionError, DecodeError, UsageError
from srfix.serde.interface import Deserializer, Row, Value
from srfix.serde.subjects import Role, role_of

if TYPE_CHECKING:
    import pyarrow as pa

BatchEngine: TypeAlias = Callable[[Deserializer, Columns, Role], BatchDecode]
"""Makes what decodes batches, for a deserializer and the columns of its rows, which are keys or values."""

REFUSED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What pyarrow raises for a value that its type does not hold: its own errors are among these."""


def to_arrow(
    payloads: Payloads,
    ctx: GivenContexts,
    deserializer: Deserializer,
    *,
    columns: GivenColumns | None = None,
    on_error: OnError = "fail",
    with_reason: bool = False,
    engine: BatchEngine | None = None,
) -> pa.RecordBatch:
    """The rows of framed payloads as one batch, of `arrow_schema(columns, on_error=…, with_reason=…)`.

    A tombstone is null in every column. With `on_error="quarantine"` a row that cannot be read is null in every column
    too, and three columns behind the others say of it: why (a `Reason`'s word; TOMBSTONE for tombstones), the error's
    words, and the bytes as they came (`reason_fields` has their names). With `with_reason` the first of them is there
    under `on_error="fail"` also, so that tombstones can be told from rows of nulls.

    A deserializer with a method `columns_of(role)` vouches for its rows: dicts of those columns, in their order, with
    values of their types. For any other, `columns=…` says what to expect, and each row is checked against it first,
    which is slow: nothing is converted or guessed. Of columns that are marked as KEY or not, those of the half are meant.

    :raises UsageError: if neither the deserializer nor the caller says the columns; if payloads are no bytes; if there
        are several contexts and not as many as payloads; if a column's values are more than one Arrow array can hold;
        if pyarrow is not installed.
    :raises ColumnError: if Arrow cannot hold a column, or no column is of the key, or of the value.
    :raises RegistryError: if the registry could not be asked, whatever `on_error` says.
    :raises SrfixError: what the deserializer raises, with the row's position, unless in quarantine.

    >>> from srfix.serde import JsonDeserializer, SerdeContext, parse_columns
    >>> deserializer = JsonDeserializer(parse_columns("ID INT, NAME STRING"))
    >>> to_arrow([b'{"id": 7}', b'{"id": null}'], SerdeContext("users"), deserializer).to_pydict()
    {'ID': [7, None], 'NAME': [None, None]}
    """
    contexts = usable_contexts(ctx)
    role = _role_of(contexts)
    given = columns
    columns = _vouched(deserializer, role) if given is None else half_of(given_columns(given), role, None).columns
    if columns is None:
        raise UsageError("The deserializer has no columns. Make it with columns=…, or pass them here (columns=…).")
    payloads = _of_binary(payloads)
    decoded = (engine or RowWise)(deserializer, columns, role)(payloads, contexts)
    if on_error == "fail" and decoded.bad:
        first = decoded.bad[0]
        raise error_at(first.error, first.position) from first.error
    if on_error == "fail" and not with_reason:
        return decoded.rows
    pa = pyarrow()
    about = _about(decoded, with_details=on_error == "quarantine")
    schema = arrow_schema(columns, on_error=on_error, with_reason=with_reason)
    return pa.RecordBatch.from_arrays([*decoded.rows.columns, *about], schema=schema)


def _of_binary(payloads: Payloads) -> Payloads:
    pa = pyarrow()
    if not isinstance(payloads, pa.Array | pa.ChunkedArray):
        return payloads
    types, type_ = pa.types, payloads.type
    if types.is_dictionary(type_):
        return _of_binary(payloads.cast(type_.value_type))
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_fixed_size_binary(type_):
        return payloads
    if types.is_null(type_) or types.is_binary_view(type_):
        return payloads.cast(pa.binary())
    raise UsageError(f"Payloads are bytes; these are of the Arrow type {type_}. Pass the binary column.")


def _about(decoded: DecodedBatch, *, with_details: bool) -> list[pa.Array]:
    pa = pyarrow()
    reasons: list[str | None] = [None] * decoded.rows.num_rows
    for position in decoded.tombstones:
        reasons[position] = Reason.TOMBSTONE.value
    for row in decoded.bad:
        reasons[row.position] = row.reason.value
    if not with_details:
        return [pa.array(reasons, pa.string())]
    messages: list[str | None] = [None] * len(reasons)
    originals: list[bytes | None] = [None] * len(reasons)
    for row in decoded.bad:
        messages[row.position], originals[row.position] = _printable(row.error.message), row.payload
    return [
        pa.array(reasons, pa.string()),
        pa.array(messages, pa.string()),
        one_array([pa.array(originals, pa.binary())], "the bad rows' payloads"),
    ]


def _printable(message: str) -> str:
    # An error may quote half of a surrogate pair, which no Arrow string holds.
    return message.encode(errors="backslashreplace").decode()


def _role_of(ctx: Contexts) -> Role:
    fields = {each.field for each in ctx} if isinstance(ctx, Sequence) else {ctx.field}
    if len(fields) > 1:
        raise UsageError("A batch is of keys or of values, not of both. Make two batches.")
    return role_of(fields.pop()) if fields else Role.VALUE


def _vouched(deserializer: object, role: Role) -> Columns | None:
    columns_of: Callable[[Role], Columns | None] | None = getattr(deserializer, "columns_of", None)
    return None if columns_of is None else columns_of(role)


def _same(one: Columns, other: Columns) -> bool:
    return [(column.name, column.type) for column in one] == [(column.name, column.type) for column in other]


class RowWise:
    """The `BatchDecode` that works with every deserializer: rows first, some at a time, then columns."""

    def __init__(self, deserializer: Deserializer, columns: Columns, role: Role) -> None:
        """:raises ColumnError: if Arrow cannot hold a column."""
        self._deserializer = deserializer
        # Such a deserializer gives dicts of exactly these columns, in this order, with values of their types.
        vouched = _vouched(deserializer, role)
        self.is_vouched_for = vouched is not None and _same(vouched, columns)
        self._columns = columns
        self.schema: pa.Schema = _schema_of(columns)
        self._types = [field.type for field in self.schema]
        names = [column.name for column in columns]
        self._nothing: Row = dict.fromkeys(names)
        self._values: Callable[[Row], Iterable[Value]]
        if self.is_vouched_for:
            self._values = dict.values
        else:
            self._values = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)

    def __call__(self, payloads: Payloads, ctx: Contexts, /) -> DecodedBatch:
        pa = pyarrow()
        parts: list[list[object]] = [[] for _ in self._types]
        bad: list[BadRow] = []
        tombstones: list[int] = []
        start = 0
        for rows in chunks_of_rows(payloads, ctx, self._deserializer):
            arrays = self._good(rows)
            if arrays is None:
                arrays, worse = self._arrays(rows, payloads, start)
                bad += worse
                tombstones += (position for position, row in enumerate(rows, start) if row is None)
            for part, array in zip(parts, arrays, strict=True):
                part.append(array)
            start += len(rows)
        arrays = [
            one_array(part or [pa.array([], field.type)], f"the column {field.name!r}")
            for field, part in zip(self.schema, parts, strict=True)
        ]
        return DecodedBatch(
            rows=pa.RecordBatch.from_arrays(arrays, schema=self.schema), bad=tuple(bad), tombstones=tuple(tombstones)
        )

    def _good(self, rows: list[Value | BadRow]) -> list[pa.Array] | None:
        """The columns of rows that are neither bad nor tombstones; None if they are not such. Of rows that are vouched
        for it is found out at no cost: others are no dicts, and refused."""
        if self.is_vouched_for:
            with suppress(*REFUSED):
                return self._transposed(cast("list[Row]", rows))
        return None

    def _arrays(
        self, read: list[Value | BadRow], payloads: Payloads, start: int
    ) -> tuple[list[pa.Array], list[BadRow]]:
        """The columns of some rows, and the bad ones among them."""
        bad = {row.position: row for row in read if isinstance(row, BadRow)}
        if self.is_vouched_for:
            with suppress(*REFUSED):
                return self._transposed(self._filled(read, start, bad)), list(bad.values())
        for position, row in enumerate(read, start):
            if row is not None and position not in bad and (errors := self._errors(row)):
                bad[position] = _bad_row(errors, position, payloads)
        return self._transposed(self._filled(read, start, bad)), [bad[position] for position in sorted(bad)]

    def _filled(self, read: list[Value | BadRow], start: int, bad: Collection[int]) -> list[Row]:
        """The rows, with nulls in all columns for tombstones and bad ones."""
        return [
            self._nothing if row is None or position in bad else cast("Row", row)
            for position, row in enumerate(read, start)
        ]

    def _errors(self, row: Value | BadRow) -> list[DecodeError]:
        """Why Arrow cannot hold the row."""
        pa = pyarrow()
        errors = list(misfits(self._columns, row))
        if errors:
            return errors
        try:
            for value, field in zip(self._values(cast("Row", row)), self.schema, strict=True):
                pa.array([value], field.type, from_pandas=False)
        except REFUSED as error:
            return [CoercionError(f"pyarrow refuses a value of it ({error})", path="", column_type="")]
        return []

    def _transposed(self, rows: list[Row]) -> list[pa.Array]:
        pa = pyarrow()
        # One list of all values and a slice for each column: no other way through Python's dicts is as quick.
        values = list(chain.from_iterable(map(self._values, rows)))
        count = len(self._types)
        if len(values) != count * len(rows):
            raise ValueError("a row has other columns")  # `_errors` finds it and says it better
        return [pa.array(values[number::count], type_, from_pandas=False) for number, type_ in enumerate(self._types)]


def _bad_row(errors: Sequence[DecodeError], position: int, payloads: Payloads) -> BadRow:
    error = row_error(errors)
    return BadRow(
        position=position,
        reason=reason_of(error) or Reason.DECODE_FAILED,
        error=error,
        payload=_payload_at(payloads, position),
    )


def _payload_at(payloads: Payloads, position: int) -> bytes | None:
    if isinstance(payloads, Sequence):
        return payloads[position]
    payload: bytes | None = payloads[position].as_py()
    return payload


@lru_cache(maxsize=64)
def _schema_of(columns: Columns) -> pa.Schema:
    return arrow_schema(columns)

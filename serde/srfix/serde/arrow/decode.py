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

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias, cast

from srfix.serde.arrow.kernel_wise import FaultyRows, KernelWise
from srfix.serde.arrow.row_wise import REFUSED, RowWise, vouched_columns, with_odd_rows
from srfix.serde.arrow.types import arrow_schema, one_array, pyarrow, pyarrow_compute
from srfix.serde.batches.rows import error_at, payloads_from, usable_contexts, usable_payloads
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.half import half_of
from srfix.serde.columns.types import Columns
from srfix.serde.connect.coercions import DAYS, MICROSECONDS
from srfix.serde.engine import BatchDecode, DecodedBatch
from srfix.serde.errors import DecodeError, Reason, SrfixError, UsageError
from srfix.serde.interface import Context, Contexts, Deserializer, GivenContexts, OnError, Payloads
from srfix.serde.subjects.names import Role, role_of
from srfix.serde.wire import PREFIX_ID_SIZE, prefix_of

if TYPE_CHECKING:
    import pyarrow as pa

    from srfix.serde.dataclass_deserializer import ColumnsDeserializer


_About: TypeAlias = "tuple[int, str | None, str | None, bytes | None]"
"""For a row: its position, reason, message and payload."""
_NOTHING: Final[_About] = (0, None, None, None)

BatchEngine: TypeAlias = Callable[[Deserializer, Columns, Role], BatchDecode]
"""Makes a decoder of batches, for a deserializer and the columns of its keys or values."""


def to_arrow(
    payloads: Payloads,
    ctx: GivenContexts,
    deserializer: Deserializer | ColumnsDeserializer,
    *,
    columns: GivenColumns | None = None,
    on_error: OnError = "fail",
    with_reason: bool = False,
    engine: BatchEngine | None = None,
) -> pa.RecordBatch:
    """The rows of framed payloads as one batch, of `arrow_schema(columns, on_error=…, with_reason=…)`.

    A tombstone is null in every column. With `on_error="quarantine"` a bad row is also null in every column. Three
    columns after the others then hold its reason (a `Reason`'s word; TOMBSTONE for tombstones), the error's message,
    and the original bytes (`reason_fields` has their names). With `with_reason` there is a column for the reason
    even under `on_error="fail"`, so that tombstones differ from rows of nulls.

    If a deserializer has a method `columns_of(role)`, srfix trusts its rows: dicts of those columns, in their order,
    with values of their types. For any other deserializer, pass `columns=…`. Each row is then checked against these
    columns, which is slow; nothing is converted or guessed. If some columns are marked as KEY, a batch has only the
    key's or only the value's columns.

    :raises UsageError: if neither the deserializer nor the caller names the columns; if payloads are not bytes, or
        malformed; if the number of contexts is neither 1 nor that of the payloads; if a column's values are more than
        one Arrow array can hold; if pyarrow is not installed.
    :raises ColumnError: if Arrow cannot hold a column, or there is no column for the key, or for the value.
    :raises RegistryError: if the registry could not be asked, whatever `on_error` says.
    :raises SrfixError: any error of the deserializer, with the row's position, unless in quarantine.

    >>> from srfix.serde import JsonDeserializer, SerdeContext, parse_columns
    >>> deserializer = JsonDeserializer(parse_columns("ID INT, NAME STRING"))
    >>> to_arrow([b'{"id": 7}', b'{"id": null}'], SerdeContext("users"), deserializer).to_pydict()
    {'ID': [7, None], 'NAME': [None, None]}
    """
    contexts = usable_contexts(ctx)
    halves = {context.field for context in contexts} if isinstance(contexts, Sequence) else {contexts.field}
    if len(halves) > 1:
        raise UsageError("A batch has keys or values, but not both. Make two batches.")
    role = role_of(halves.pop()) if halves else Role.VALUE
    if columns is None:
        half = vouched_columns(deserializer, role)
    else:
        half = half_of(given_columns(columns), role, None).columns
    if half is None:
        raise UsageError("The deserializer has no columns. Make it with columns=…, or pass them here (columns=…).")
    payloads = usable_payloads(payloads)
    if isinstance(payloads, Iterator):
        payloads = list(payloads)
    decoded = (engine or KernelWise)(cast("Deserializer", deserializer), half, role)(payloads, contexts)
    if on_error == "fail" and decoded.bad:
        first = decoded.bad[0]
        raise error_at(first.error, first.position) from first.error
    if on_error == "fail" and not with_reason:
        return decoded.rows
    pa = pyarrow()
    about = reason_columns(decoded, with_details=on_error == "quarantine")
    schema = arrow_schema(half, on_error=on_error, with_reason=with_reason)
    return pa.RecordBatch.from_arrays([*decoded.rows.columns, *about], schema=schema)


def reason_columns(decoded: DecodedBatch, *, with_details: bool) -> list[pa.Array]:
    """The rows' reasons; with details also their messages and payloads."""
    pa = pyarrow()
    if with_details and isinstance(decoded.bad, FaultyRows) and decoded.bad and not decoded.tombstones:
        columns = decoded.bad.columns()
        if columns is not None:
            return columns
    rows, text = decoded.rows.num_rows, pa.string()
    reasons: list[_About] = [(position, Reason.TOMBSTONE.value, None, None) for position in decoded.tombstones]
    entries: list[_About] = [
        (row.position, row.reason.value, arrow_text(row.message), row.payload)
        if with_details
        else (row.position, row.reason.value, None, None)
        for row in decoded.bad
    ]
    entries = sorted(reasons + entries) if reasons else entries
    types = (text, text, pa.binary()) if with_details else (text,)
    if not entries:
        return [pa.nulls(rows, type_) for type_ in types]
    return _sparse(entries, rows, types)


def _sparse(entries: Sequence[_About], rows: int, types: Sequence[pa.DataType]) -> list[pa.Array]:
    """Arrays that are null except in some rows, given by ascending position. The other rows cost no time."""
    pa = pyarrow()
    runs: list[_About] = []
    ends: list[int] = []
    begin = 0
    for one in entries:
        position = one[0]
        if position > begin:
            runs.append(_NOTHING)
            ends.append(position)
        runs.append(one)
        begin = position + 1
        ends.append(begin)
    if begin < rows:
        runs.append(_NOTHING)
        ends.append(rows)
    decode, run_ends = pyarrow_compute().run_end_decode, pa.array(ends, pa.int32())
    columns = list(zip(*runs, strict=True))[1:]
    return [
        decode(
            pa.RunEndEncodedArray.from_arrays(run_ends, one_array([pa.array(values, type_)], "the messages about rows"))
        )
        for values, type_ in zip(columns, types, strict=False)
    ]


def arrow_text(message: str) -> str:
    """An error may quote half of a surrogate pair, which an Arrow string cannot hold."""
    return message if message.isascii() else message.encode(errors="backslashreplace").decode()


_ValuesOf: TypeAlias = Callable[[bytes, int], Iterable[object]]
_Plans: TypeAlias = dict[bytes, _ValuesOf]


class ValueWise:
    """The `BatchDecode` for deserializers that read Avro into columns: the same batches as `RowWise`, in two thirds of
    the time.

    Every payload that is not clearly right is read row-wise, which finds the error message, or a correct row.
    """

    def __init__(self, deserializer: Deserializer, columns: Columns, role: Role) -> None:
        """:raises ColumnError: if Arrow cannot hold a column."""
        pa = pyarrow()
        self._row_wise = RowWise(deserializer, columns, role)
        self._deserializer = deserializer
        self._values_decode: Callable[[bytes, Context], _ValuesOf | None] | None = (
            getattr(deserializer, "values_decode", None) if self._row_wise.is_vouched_for else None
        )
        self._schema = self._row_wise.schema
        self._plans: dict[tuple[str, str], _Plans] = {}
        self._bounds = [
            MICROSECONDS if pa.types.is_timestamp(field.type) else DAYS if pa.types.is_date(field.type) else None
            for field in self._schema
        ]

    def __call__(self, payloads: Payloads, ctx: Contexts, /) -> DecodedBatch:
        if self._values_decode is None or isinstance(ctx, Sequence) or ctx.headers:
            return self._row_wise(payloads, ctx)
        pa = pyarrow()
        plans = self._plans.setdefault((ctx.topic, ctx.field), {})
        parts = [[pa.array([], field.type)] for field in self._schema]
        left: list[int] = []
        start = 0
        while start < len(payloads):
            some = payloads_from(payloads, start)
            values, odd = self._values(some, ctx, plans)
            arrays = self._arrays(values)
            if arrays is None:
                odd = list(range(len(some)))
                arrays = [pa.nulls(len(some), field.type) for field in self._schema]
            left += (start + position for position in odd)
            for part, array in zip(parts, arrays, strict=True):
                part.append(array)
            start += len(some)
        columns = [
            one_array(part, f"the column {field.name!r}") for field, part in zip(self._schema, parts, strict=True)
        ]
        return with_odd_rows(columns, left, payloads, ctx, self._row_wise)

    def _values(self, payloads: Sequence[bytes | None], ctx: Context, plans: _Plans) -> tuple[list[object], list[int]]:
        """The values of the payloads' columns, row by row, and the positions of odd rows, which have nulls."""
        values: list[object] = []
        odd: list[int] = []
        width, size = len(self._schema), PREFIX_ID_SIZE
        extend = values.extend
        left = iter(payloads)
        while len(values) < len(payloads) * width:
            try:
                # The loop for good rows. An odd row ends it, and the loop starts again after that row.
                for payload in left:
                    extend(plans[payload[:size]](payload, size))  # type: ignore[index, arg-type]
            except (SrfixError, KeyError, TypeError):
                position = len(values) // width
                decode = self._new_plan(payloads[position], ctx, plans)
                row: Iterable[object] = [None] * width
                try:
                    row = decode(payloads[position] or b"", size)
                except SrfixError:
                    odd.append(position)
                extend(row)
        return values, odd

    def _new_plan(self, payload: bytes | None, ctx: Context, plans: _Plans) -> _ValuesOf:
        """The plan for a new schema id; a plan that never matches, for any other payload."""
        if payload is None or prefix_of(payload) in plans:
            return _never
        assert self._values_decode is not None
        try:
            decode = self._values_decode(payload, ctx)
        except SrfixError as error:
            if error.row_reason is None:
                raise
            return _never
        decode = decode or partial(_values_of_row, self._deserializer, ctx)
        remember(plans, prefix_of(payload), decode, payload_bounds().plans)
        return decode

    def _arrays(self, values: Sequence[object]) -> list[pa.Array] | None:
        """The columns; None if a value does not fit its column."""
        pa = pyarrow()
        width = len(self._schema)
        arrays = []
        try:
            for number, (field, bounds) in enumerate(zip(self._schema, self._bounds, strict=True)):
                column = values[number::width]
                # A local time is always a datetime: it never comes as a number.
                is_instant = bounds is MICROSECONDS and field.type.tz is not None
                array = _instants(column) if is_instant else pa.array(column, field.type, from_pandas=False)
                if bounds is not None:
                    numbers = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
                    extremes = pyarrow_compute().min_max(numbers).as_py()
                    if extremes["min"] is not None and (extremes["min"] < bounds[0] or extremes["max"] > bounds[1]):
                        return None
                arrays.append(array)
        except REFUSED:
            return None
        return arrays


def _never(_payload: bytes, _offset: int) -> NoReturn:
    raise DecodeError("Only row-wise decoding can read it.")


def _values_of_row(deserialize: Deserializer, ctx: Context, payload: bytes, _offset: int) -> Iterable[object]:
    row = deserialize(payload, ctx)
    return row.values() if isinstance(row, dict) else _never(payload, 0)


def _instants(values: Sequence[object]) -> pa.Array:
    """Takes datetimes, and numbers of milliseconds since 1970."""
    pa = pyarrow()
    type_ = pa.timestamp("us", tz="UTC")
    with suppress(*REFUSED):
        # Converts the whole column at once if all values are numbers. A number beyond 64 bits in microseconds is
        # refused.
        return pa.array(values, pa.int64(), from_pandas=False).cast(pa.timestamp("ms", tz="UTC")).cast(type_)
    return pa.array([value * 1000 if type(value) is int else value for value in values], type_, from_pandas=False)

"""Payloads → Arrow without Python rows, if the values of a body can be read directly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, TypeAlias

from srfix.serde.arrow.row_wise import REFUSED, RowWise, with_odd_rows
from srfix.serde.arrow.types import one_array, pyarrow, pyarrow_compute
from srfix.serde.batches.rows import payloads_from, reason_of
from srfix.serde.bounds import payload_bounds, remember
from srfix.serde.columns.types import Columns
from srfix.serde.engine import DecodedBatch
from srfix.serde.errors import DecodeError, SrfixError
from srfix.serde.interface import Context, Contexts, Deserializer, Payloads
from srfix.serde.subjects.names import Role
from srfix.serde.wire import PREFIX_ID_SIZE, prefix_of

if TYPE_CHECKING:
    import pyarrow as pa

_ValuesOf: TypeAlias = Callable[[bytes, int], Iterable[object]]
_Plans: TypeAlias = dict[bytes, _ValuesOf]
# The range of Python's dates and times: 0001-01-01 to 9999-12-31.
_DAYS: Final = (-719_162, 2_932_896)
_MICROSECONDS: Final = (_DAYS[0] * 86_400_000_000, (_DAYS[1] + 1) * 86_400_000_000 - 1)


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
            _MICROSECONDS if pa.types.is_timestamp(field.type) else _DAYS if pa.types.is_date(field.type) else None
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
            if reason_of(error) is None:
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
                is_instant = bounds is _MICROSECONDS and field.type.tz is not None
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

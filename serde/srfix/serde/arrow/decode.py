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

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from srfix.serde.arrow.kernel_wise import KernelWise
from srfix.serde.arrow.row_wise import vouched_columns
from srfix.serde.arrow.types import arrow_schema, one_array, pyarrow, pyarrow_compute
from srfix.serde.batches.rows import error_at, usable_contexts, usable_payloads
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.half import half_of
from srfix.serde.columns.types import Columns
from srfix.serde.engine import BatchDecode, DecodedBatch
from srfix.serde.errors import Reason, UsageError
from srfix.serde.interface import Contexts, Deserializer, GivenContexts, OnError, Payloads
from srfix.serde.subjects.names import Role, role_of

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
    and the original bytes (`reason_fields` has their names). With `with_reason` the first of them is also there under
    `on_error="fail"`, so that tombstones differ from rows of nulls.

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
    role = _role_of(contexts)
    caller_columns = columns
    columns = (
        vouched_columns(deserializer, role)
        if caller_columns is None
        else half_of(given_columns(caller_columns), role, None).columns
    )
    if columns is None:
        raise UsageError("The deserializer has no columns. Make it with columns=…, or pass them here (columns=…).")
    payloads = usable_payloads(payloads)
    if isinstance(payloads, Iterator):
        payloads = list(payloads)
    decoded = (engine or KernelWise)(cast("Deserializer", deserializer), columns, role)(payloads, contexts)
    if on_error == "fail" and decoded.bad:
        first = decoded.bad[0]
        raise error_at(first.error, first.position) from first.error
    if on_error == "fail" and not with_reason:
        return decoded.rows
    pa = pyarrow()
    about = _about(decoded, with_details=on_error == "quarantine")
    schema = arrow_schema(columns, on_error=on_error, with_reason=with_reason)
    return pa.RecordBatch.from_arrays([*decoded.rows.columns, *about], schema=schema)


def _about(decoded: DecodedBatch, *, with_details: bool) -> list[pa.Array]:
    pa = pyarrow()
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


def _role_of(ctx: Contexts) -> Role:
    fields = {context.field for context in ctx} if isinstance(ctx, Sequence) else {ctx.field}
    if len(fields) > 1:
        raise UsageError("A batch is of keys or of values, not of both. Make two batches.")
    return role_of(fields.pop()) if fields else Role.VALUE

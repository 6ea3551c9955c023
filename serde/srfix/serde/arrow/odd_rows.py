"""The rows of a batch that its quick way did not read, put where they belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from srfix.serde.arrow.one_array import one_array
from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.arrow.row_wise import RowWise
from srfix.serde.engine import DecodedBatch
from srfix.serde.interface import Context, Payloads

if TYPE_CHECKING:
    import pyarrow as pa


def with_odd_rows(
    columns: Sequence[pa.Array], odd: Sequence[int], payloads: Payloads, ctx: Context, row_wise: RowWise
) -> DecodedBatch:
    """The batch, with the odd rows, which have nulls in the columns, as the row-wise way has them."""
    pa = pyarrow()
    schema = row_wise.schema
    rows = pa.RecordBatch.from_arrays(list(columns), schema=schema)
    if not odd:
        return DecodedBatch(rows=rows, bad=(), tombstones=())
    some = [payloads[position] for position in odd] if isinstance(payloads, Sequence) else payloads.take(pa.array(odd))
    read = row_wise(some, ctx)
    if len(read.bad) + len(read.tombstones) < len(odd):
        places = list(range(len(payloads)))
        for number, position in enumerate(odd, len(payloads)):
            places[position] = number
        both = [
            one_array([column, part], f"the column {field.name!r}").take(pa.array(places))
            for column, part, field in zip(rows.columns, read.rows.columns, schema, strict=True)
        ]
        rows = pa.RecordBatch.from_arrays(both, schema=schema)
    return DecodedBatch(
        rows=rows,
        bad=tuple(replace(row, position=odd[row.position]) for row in read.bad),
        tombstones=tuple(odd[position] for position in read.tombstones),
    )

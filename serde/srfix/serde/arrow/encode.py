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

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, overload

from srfix.serde.arrow.encoders import EncodeKernelWise
from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.arrow.values import TimeUnit
from srfix.serde.batches.rows import contexts_of, error_at, refuse_malformed, usable_contexts
from srfix.serde.engine import BatchEncode, EncodedBatch
from srfix.serde.errors import UsageError
from srfix.serde.interface import GivenContexts, OnError, Serializer

if TYPE_CHECKING:
    import pyarrow as pa

Rows: TypeAlias = "pa.RecordBatch | pa.StructArray"
"""Rows: a batch, or an array of structs, some of which may be null."""
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

    :param engine: the encoder. None takes the native kernel if it is installed, the serializer writes Avro, and there
        is one context for all rows; otherwise None encodes row by row.
    :raises ColumnError: if no column type corresponds to a field's type, or two fields have the same name.
    :raises UsageError: if `rows` is neither a batch nor structs, or malformed; if the number of tombstones, or of
        contexts, is not that of the rows; if the payloads are more than one Arrow array can hold; if pyarrow is not
        installed.
    :raises RegistryError: if the registry could not be asked, or did not accept the schema, whatever `on_error` says.
    :raises EncodeError: if a row cannot be written: `.position` and `.paths` say where; unless in quarantine.
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
        raise UsageError("Rows come as a pyarrow RecordBatch or StructArray. For a Table, write one batch at a time.")
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

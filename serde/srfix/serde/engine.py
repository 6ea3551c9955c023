"""The interface of a codec. A compiled codec can implement it, too.

Formats make plans (names, guards, coercions) and return these callables. At present fastavro (`formats.avro.engine`),
msgspec and orjson carry out the plans.

The payloads of a `BatchDecode` are bytes, or an Arrow array of a binary type, which may be sliced, chunked, empty, or
have nulls, with any mixture of schema ids. A null is a tombstone, and so is the format's own value for "no row" (JSON's
`null`). The rows of a `BatchEncode` may be sliced, have nulls, and have any width of a type in Arrow. A compiled kernel
must give the same result as the row-wise reader or writer, for each row:

- the deserializer's values, or the serializer's bytes: its columns, case rule, coercions and defaults, its schema
  (registered only with the first row that fits), its prefix or header. What the kernel cannot read or write exactly
  goes row-wise: a value (a finer time, a number beyond its bits or digits, two entries with the same key, text that is
  not UTF-8) is never approximated, cut or changed;
- it asks the deserializer's resolver once for each id, because the resolver may refuse an id;
- for every payload or row that is refused, a `BadRow` with the same reason or error, the position and the bytes, and
  this affects no other row. If a column's Arrow type cannot hold a value, the row is also bad (`OVERFLOW`);
- a null payload if `tombstones` says so, whatever the row holds, or if a key is null. Any other null row is a bad row;
- it trusts no length in a body and no offset in an array, checks limits before it allocates memory, limits its work by
  the content's own size (a slice costs less than its whole array), and notices surplus bytes;
- it keeps no reference to its input: the result owns its memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from srfix.serde.interface import Value

if TYPE_CHECKING:
    import pyarrow as pa

    from srfix.serde.interface import BadRow, Contexts, Payloads


class Decode(Protocol):
    """Body → value."""

    def __call__(self, payload: bytes, body_offset: int, /) -> Value:
        """The value. Its body starts at the offset and fills the rest of the payload."""


class Encode(Protocol):
    """Value → payload."""

    def __call__(self, value: object, prefix: bytes, /) -> bytes:
        """The prefix and the encoded value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBatch:
    """Payloads, decoded into columns."""

    rows: pa.RecordBatch
    """A row for each payload, in order, with the schema `arrow_schema(columns)`. Tombstones and bad rows are null in
    every column."""
    bad: Sequence[BadRow]
    """The rows that could not be read, by ascending position."""
    tombstones: tuple[int, ...]
    """The positions of the rows for which the deserializer gives None, ascending."""


class BatchDecode(Protocol):
    """Payloads → typed columns, for one set of columns and many batches."""

    def __call__(self, payloads: Payloads, ctx: Contexts, /) -> DecodedBatch: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedBatch:
    """The payloads of the rows that could be written. A bad row has no payload here, not even a null, which would be a
    tombstone."""

    payloads: pa.BinaryArray
    """One payload for each good row; null for a tombstone."""
    positions: pa.Int64Array
    """The positions of these rows in the batch, from 0, ascending."""
    bad: tuple[BadRow, ...]
    """The bad rows, by ascending position."""


class BatchEncode(Protocol):
    """Arrow's rows → payloads, for one serializer and many batches."""

    def __call__(
        self, rows: pa.StructArray, ctx: Contexts, /, *, tombstones: pa.BooleanArray | None, until_bad: bool
    ) -> EncodedBatch:
        """`until_bad`: the caller needs only the first bad row, so rows after it need not be written."""

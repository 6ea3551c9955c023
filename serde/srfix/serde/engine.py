"""What a codec owes its callers: the seam behind which a compiled one can stand.

Formats plan (names, guards, coercions) and give these callables. Today fastavro (`formats.avro.engine`), msgspec and orjson
run the plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from srfix.serde.interface import Value

if TYPE_CHECKING:
    import pyarrow as pa

    from srfix.serde.interface import BadRow, Contexts, Payloads


class Decode(Protocol):
    """Body → value."""

    def __call__(self, payload: bytes, body_offset: int, /) -> Value:
        """The value whose body starts at the offset and fills the rest of the payload."""


class Encode(Protocol):
    """Value → payload."""

    def __call__(self, value: object, prefix: bytes, /) -> bytes:
        """The prefix and the encoded value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodedBatch:
    """Payloads, decoded into columns."""

    rows: pa.RecordBatch
    """As many rows as payloads, in their order, of `arrow_schema(columns)`. A tombstone and a bad row are null in every
    column."""
    bad: tuple[BadRow, ...]
    """The rows that could not be read, by ascending position."""
    tombstones: tuple[int, ...]
    """The positions of the rows that the deserializer gives None for, ascending."""


class BatchDecode(Protocol):
    """Payloads → typed columns: the seam for a compiled kernel. Made for one set of columns, used for many batches."""

    def __call__(self, payloads: Payloads, ctx: Contexts, /) -> DecodedBatch:
        """The rows of framed payloads, of any mixture of schema ids.

        The payloads are bytes, or an Arrow array of a binary type: possibly sliced, chunked, empty, or with nulls. A
        null is a tombstone, and so is what the format itself has for no row (JSON's `null`).

        What a kernel owes its caller is what the row-wise way gives, row for row:

        - the values that the deserializer's rows hold: its columns, its case rule, its coercions; a schema or column
          that the kernel cannot read exactly goes the row-wise way, never an approximate one;
        - every payload resolved through the deserializer's resolver, once for each id: it may refuse the id;
        - bounds checked before memory is taken (no length in a body is believed), work bounded by the payload's size,
          bytes left over noticed, text checked to be UTF-8;
        - a `BadRow` with the same reason for every payload that the deserializer refuses, with its position and bytes,
          and no other row disturbed;
        - a value that the column's Arrow type cannot hold is a bad row too (`OVERFLOW`), never another value;
        - nothing kept of the payloads: the batch owns its memory.
        """


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


class BatchEncode(Protocol):
    """Arrow's rows → payloads: the seam for a compiled kernel. Made for one serializer, used for many batches."""

    def __call__(
        self, rows: pa.StructArray, ctx: Contexts, /, *, tombstones: pa.BooleanArray | None, until_bad: bool
    ) -> EncodedBatch:
        """The payloads of rows, possibly sliced, with nulls, of every width that a type has in Arrow.

        What a kernel owes its caller is what the row-wise way gives, row for row:

        - the bytes that the serializer writes for a row whose fields are named as the Arrow fields: its case rule, its
          defaults, its schema, registered with the first row that fits and with no other, its prefix or header;
        - a null payload where `tombstones` says so, whatever the row holds, and nowhere else but for a key that is null:
          a null row is a bad one;
        - a `BadRow` with the same error for every row that the serializer refuses, with its position, and no other row
          disturbed; a value that the schema cannot hold exactly (a finer time, a number beyond its bits or digits, two
          entries of one key, text that is not UTF-8) is never cut, and never written as another;
        - no offset in an array believed, and work bounded by what the rows hold: a slice costs what it has, not what it is
          a slice of;
        - nothing kept of the rows: the payloads own their memory.

        :param until_bad: the caller wants no more than the first bad row: what is behind it need not be written.
        """

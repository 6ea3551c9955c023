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

    from srfix.serde.batches import BadRow, Contexts, Payloads


class Decode(Protocol):
    """Body → value."""

    def __call__(self, payload: bytes, body_offset: int, /) -> Value:
        """The value whose body starts at the offset and fills the rest of the payload.

        :raises TruncatedBodyError: if the payload ends too early.
        :raises TrailingBytesError: if bytes are left over.
        :raises DecodeError: if the body is not what its schema says in any other way.
        """


class Encode(Protocol):
    """Value → payload."""

    def __call__(self, value: object, prefix: bytes, /) -> bytes:
        """The prefix and the encoded value.

        :raises EncodeError: if the value does not fit the schema.
        """


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

        :raises RegistryError: if the registry could not be asked: no row is at fault then.
        :raises UsageError: if a column's values of this batch are more than one Arrow array can hold.
        """

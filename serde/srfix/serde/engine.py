"""The seam behind which a compiled codec can stand: what turns a body into a value and a value into a
payload.

Today fastavro does. An engine gets a schema that is planned (fields renamed, guards decided) and gives a
callable; what it owes its caller is in the two protocols.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Protocol, TypeAlias, cast

import fastavro

from srfix.serde.errors import EncodeError, OutOfRangeError, TrailingBytesError
from srfix.serde.interface import Value

if TYPE_CHECKING:
    import pyarrow as pa

    from srfix.serde.batches import BadRow, Contexts

__all__ = [
    "BatchDecode",
    "BodyCheck",
    "Decode",
    "DecodedBatch",
    "Encode",
    "ParsedSchema",
    "fastavro_decoder",
    "fastavro_encoder",
    "shortest",
]

ParsedSchema: TypeAlias = dict[str | int, object]
"""A type in fastavro's parsed form; a root is marked as parsed."""
BodyCheck: TypeAlias = Callable[[bytes, int], object]
"""Called with a payload and the body's offset; raises a DecodeError if the body must not be, or could not be,
read."""


_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


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


def shortest(schema: ParsedSchema) -> object:
    """A type as another one refers to it: fastavro is quicker with a bare name where that is all there is."""
    return schema["type"] if len(schema) == 1 and schema["type"] in _PRIMITIVES else schema


def fastavro_decoder(
    schema: ParsedSchema,
    *,
    explain: BodyCheck,
    guard: BodyCheck | None = None,
    finish: Callable[[Value], Value] | None = None,
) -> Decode:
    """A decoder on fastavro's reader.

    `guard` runs before the reader, `explain` after it failed: it raises what it finds wrong. `finish` makes
    the row out of what the reader gives, or raises a DecodeError.
    """
    # Locals of a closure are the cheapest names that Python has; this runs once per record.
    read = fastavro.schemaless_reader
    parsed = cast("dict[object, object]", schema)

    def decode(payload: bytes, body_offset: int) -> Value:
        if guard is not None:
            guard(payload, body_offset)
        body = BytesIO(payload)
        body.seek(body_offset)
        try:
            value: Value = read(body, parsed, None)
        except Exception as error:
            explain(payload, body_offset)
            # The bytes are well-formed: a logical type's value is out of Python's range.
            raise OutOfRangeError(
                f"The body is well-formed, but a value of it cannot be represented ({type(error).__name__}: {error})."
            ) from error
        left = len(payload) - body.tell()
        if not left:
            return value if finish is None else finish(value)
        raise TrailingBytesError(
            f"{left} bytes are left over behind the last field, of a body of {len(payload) - body_offset}: "
            "it was written under "
            "another schema, or is corrupt."
        )

    return decode


def fastavro_encoder(
    schema: ParsedSchema | list[ParsedSchema],
    *,
    prepare: Callable[[object], object],
    explain: Callable[[object], object],
) -> Encode:
    """An encoder on fastavro's writer.

    `prepare` checks the value and says which branch of each union it takes; whatever it or the writer raises,
    `explain` is asked for the words: it raises what it finds wrong.
    """
    write = fastavro.schemaless_writer
    parsed = cast("dict[object, object]", schema)

    def encode(value: object, prefix: bytes) -> bytes:
        out = BytesIO()
        out.write(prefix)
        try:
            write(out, parsed, prepare(value))
        except Exception as error:
            explain(value)
            raise EncodeError(f"The row cannot be written ({type(error).__name__}: {error}).") from error
        return out.getvalue()

    return encode


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

    def __call__(self, payloads: Sequence[bytes | None] | pa.Array | pa.ChunkedArray, ctx: Contexts, /) -> DecodedBatch:
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

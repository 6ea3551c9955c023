"""Keys or values as typed columns of Arrow, decoded many at a time: by the kernel where it reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from srfix.recovery.facts.decoding import RecordDecoder
from srfix.serde.errors import Reason
from srfix.serde.interface import SerdeContext
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Headers, SchemaId

if TYPE_CHECKING:
    import pyarrow as pa

    from srfix.serde.columns.types import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedColumn:
    """The keys, or the values, of many rows."""

    rows: pa.StructArray
    """What the reader sees, a field for each column; null for a tombstone, and where it could not be read."""
    reasons: pa.Array
    """Why a row is null, a `Reason`'s word; null where there is a row."""
    errors: frozenset[int]
    """The places of those that could not be read."""
    schema_ids: Sequence[SchemaId | None]
    """The ids that the payloads carry; None where they carry none."""


def typed_columns(decoder: RecordDecoder) -> dict[Role, Columns]:
    """The halves of a record that a decoder can give typed, with their columns."""
    return {role: columns for role in Role if (columns := decoder.columns_of(role)) is not None}


def typed_column(
    decoder: RecordDecoder,
    topic: str,
    role: Role,
    payloads: Sequence[bytes | None],
    headers: Sequence[Headers] | None = None,
) -> TypedColumn:
    """Decodes a column.

    :param headers: of each record; None if none has any.
    :raises RegistryError: if the registry could not be asked.
    :raises UsageError: if the decoder has no columns for the role, or pyarrow is not installed.
    """
    from srfix.serde.arrow.decode import to_arrow

    context = SerdeContext(topic, role)
    contexts = context if headers is None else [SerdeContext(topic, role, each) for each in headers]
    found = to_arrow(payloads, contexts, decoder.deserializer(role), on_error="quarantine")
    *columns, reasons, _message, _payload = found.columns
    mask = reasons.is_valid()
    return TypedColumn(
        rows=_struct(columns, list(found.schema)[: len(columns)], mask),
        reasons=reasons,
        errors=frozenset(
            place for place, reason in enumerate(reasons.to_pylist()) if reason not in (None, Reason.TOMBSTONE.value)
        )
        if reasons.null_count < len(reasons)
        else frozenset(),
        schema_ids=decoder.schema_ids(role, payloads, headers),
    )


def _struct(columns: list[Any], fields: list[Any], mask: Any) -> pa.StructArray:
    import pyarrow as pa

    return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)

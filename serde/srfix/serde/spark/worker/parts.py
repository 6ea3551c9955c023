"""The common code of the workers for reading, judging and writing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict, cast

from srfix.serde.interface import BadRow, Contexts, SerdeContext
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    import pyarrow as pa


class _Header(TypedDict):
    key: str
    value: bytes | None


def contexts_with(headers: pa.Array, topic: str, role: Role) -> Contexts:
    """One context for all records if none has headers."""
    plain = SerdeContext(topic, role)
    if not len(headers.flatten()):
        return plain
    header_lists = cast("list[Sequence[_Header] | None]", headers.to_pylist())
    pairs = ([(header["key"], header["value"]) for header in record_headers or ()] for record_headers in header_lists)
    return [SerdeContext(topic, role, headers=record_headers) if record_headers else plain for record_headers in pairs]


def words_of(bad: BadRow) -> str:
    """The error's message. An error may quote half of a surrogate pair, which an Arrow string cannot hold."""
    return bad.error.message.encode(errors="backslashreplace").decode()

"""One record as the broker holds it, not decoded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from confluent_kafka import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecord:
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None = field(repr=False)
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None
    """Milliseconds since the epoch; None if it has none."""


def raw_record(message: Message, *, partition: int, offset: int) -> RawRecord:
    """The record of a consumed message, which must not be an error. A consumed message knows its partition and offset."""
    _, timestamp = message.timestamp()
    return RawRecord(
        partition=partition,
        offset=offset,
        key=message.key(),
        value=message.value(),
        headers=headers_of(message),
        timestamp=timestamp if timestamp >= 0 else None,
    )


def headers_of(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    headers = message.headers()
    # a list of names and bytes; only producers may use the other types that the client allows
    return tuple(cast("list[tuple[str, bytes | None]]", headers)) if headers else ()

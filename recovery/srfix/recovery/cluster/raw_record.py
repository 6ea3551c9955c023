"""One record as the broker holds it, nothing decoded."""

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
    """A consumed message that is no error; a message that was consumed knows where it was."""
    _, timestamp = message.timestamp()
    # a list of names and bytes, whatever else the client's types allow for producing
    headers = cast("list[tuple[str, bytes | None]] | None", message.headers())
    return RawRecord(
        partition=partition,
        offset=offset,
        key=message.key(),
        value=message.value(),
        headers=tuple(headers or ()),
        timestamp=timestamp if timestamp >= 0 else None,
    )

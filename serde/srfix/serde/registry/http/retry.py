"""How often a request to a registry is repeated, and with which waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from srfix.serde.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Uses full jitter: the wait before repetition n is random between 0 and min(max_wait_s, initial_wait_s *
    2**(n-1)).

    A Retry-After header replaces the random wait, up to `max_wait_s`. A write that finds a registry without a leader
    (50003, 50004: Karapace for 15 s after its start, Confluent during an election) is repeated beyond `max_attempts`,
    until the waits have added up to `leader_patience_s`. A request is repeated after a transport error, except a
    refused TLS certificate, and after the statuses 408, 429 and 5xx.

    :raises UsageError: if a number makes no sense.
    """

    max_attempts: int = 4
    """The number of attempts, including the first one. An attempt tries each URL of the list once."""
    initial_wait_s: float = 1.0
    """The upper limit of the first wait, in seconds."""
    max_wait_s: float = 20.0
    """The longest single wait, in seconds, whatever Retry-After says."""
    leader_patience_s: float = 30.0
    """The total seconds that a write waits for a leader; with 0, only `max_attempts` counts for such a write."""
    sleep: Callable[[float], None] = time.sleep
    """The function that waits; tests pass one that does not."""
    clock: Callable[[], float] = time.time
    """Gives seconds since the epoch; called only for a Retry-After date in an answer without a Date header."""

    def __post_init__(self) -> None:
        if self.max_attempts < 1 or min(self.initial_wait_s, self.max_wait_s, self.leader_patience_s) < 0:
            raise UsageError(
                f"A retry policy needs at least one attempt and waits of 0 s or more; this one has "
                f"max_attempts={self.max_attempts}, initial_wait_s={self.initial_wait_s:g}, "
                f"max_wait_s={self.max_wait_s:g}, leader_patience_s={self.leader_patience_s:g}."
            )


def retry_after_s(headers: Mapping[str, str], clock: Callable[[], float]) -> float | None:
    """The seconds of an answer's Retry-After (RFC 9110, 10.2.3), from the answer's own Date on; None if unreadable."""
    value = headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    until = seconds_since_epoch(value)
    if until is None:
        return None
    now = seconds_since_epoch(headers.get("Date", ""))
    return max(0.0, until - (clock() if now is None else now))


def seconds_since_epoch(http_date: str) -> float | None:
    try:
        return parsedate_to_datetime(http_date).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None

"""The time of day, for plans and journals: the default of every `clock`. Recovery reads the time only here."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")

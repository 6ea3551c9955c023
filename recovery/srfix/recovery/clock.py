"""The time of day, for plans and journals, and beside records' timestamps. Recovery reads the time only here."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def now() -> str:
    """ISO 8601, UTC, to the second: the default of every `clock`."""
    return datetime.fromtimestamp(now_ms() // 1000, UTC).isoformat()


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000

"""Which RocksDB comes with which Kafka Streams (rocksdbjni in the poms of its releases)."""

from __future__ import annotations

import re
from typing import Final

_STREAMS: Final = (
    ("5.18.3", "Streams 2.3 to 2.5"),
    ("5.18.4", "Streams 2.6 to 2.8"),
    ("6.19.3", "Streams 3.0"),
    ("6.22.1", "Streams 3.1"),
    ("6.29.4", "Streams 3.2 and 3.3"),
    ("7.1.2", "Streams 3.4 and 3.5"),
    ("7.9.2", "Streams 3.6 to 3.9"),
    ("9.7.3", "Streams 4.0 and 4.1"),
    ("10.1.3", "Streams 4.2 and later"),
)
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


def streams_by_rocksdb(version: str) -> str | None:
    """The Streams releases that come with this RocksDB, in words; None for a version that none of those known has."""
    found = _VERSION.match(version)
    return None if found is None else next((streams for known, streams in _STREAMS if known == found[0]), None)

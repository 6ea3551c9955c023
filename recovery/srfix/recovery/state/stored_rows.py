"""A row of a key-value store as RocksDB holds it, taken apart: which part of it is the serde's.

| column family | value |
|---|---|
| `default` | the serde's bytes: a plain store, or a row from before 2.3 that a timestamped one has not upgraded yet |
| `keyValueWithTimestamp` | 8 bytes of timestamp, then the serde's bytes (`ValueAndTimestampSerializer`) |
| `keyValueWithTimestampAndHeaders` | size of the headers, headers, 8 bytes of timestamp, the serde's bytes (4.3 and later) |

The forms are those of `state.formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from srfix.recovery.state.formats.values import StoredValue, decode_timestamped, decode_with_headers

PLAIN: Final = "default"
"""The column family of a plain store, which every database has."""
TIMESTAMPED: Final = "keyValueWithTimestamp"
"""The one of a store with timestamps: all tables of the DSL from Kafka Streams 2.3 on."""
WITH_HEADERS: Final = "keyValueWithTimestampAndHeaders"
"""The one of a store with timestamps and headers, from 4.3 on."""


def stored_value(family: str, value: bytes) -> StoredValue:
    """Takes a row's value apart.

    :param family: the column family that it is in, one of `ROW_FAMILIES`.
    :raises FormatError: if it has not the form that its column family promises; in a clause, for the caller knows which
        database it is.
    """
    return _PARSERS[family](value)


def _plain(value: bytes) -> StoredValue:
    return StoredValue(payload=value)


_PARSERS: Final[Mapping[str, Callable[[bytes], StoredValue]]] = {
    PLAIN: _plain,
    TIMESTAMPED: decode_timestamped,
    WITH_HEADERS: decode_with_headers,
}
ROW_FAMILIES: Final = tuple(_PARSERS)
"""The column families whose rows are read."""

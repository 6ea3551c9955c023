"""Rows of windows and sessions that lie beyond the retention.

They lie there until their whole segment goes. Kafka Streams from 3.5 on hides them all the same: what is older than the newest
window of the store by the retention or more (`AbstractRocksDBSegmentedBytesStore.getActualFrom`). The newest window that a
store has seen is taken for the newest that lies in it.
"""

from __future__ import annotations

from srfix.recovery.state.formats.windows import StoredWindow
from srfix.recovery.state.stores.store import StateStore


class Retention:
    """Tells which rows are beyond it."""

    def __init__(self, retention_ms: int) -> None:
        """:param retention_ms: how long the store keeps a window, in milliseconds."""
        self._retention_ms = retention_ms
        self._newest_ms: dict[str, int | None] = {}

    def is_beyond(self, store: StateStore, window: StoredWindow | None) -> bool | None:
        """Whether a row of that window is; None where it has none."""
        place = store.directory.path
        if place not in self._newest_ms:
            self._newest_ms[place] = store.newest_window_ms()
        newest_ms = self._newest_ms[place]
        if window is None or newest_ms is None:
            return None
        return window.last_ms <= newest_ms - self._retention_ms

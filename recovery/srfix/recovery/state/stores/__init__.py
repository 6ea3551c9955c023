"""The rows of the stores in a state directory, as an application would see them: keys, values, times, windows, versions."""

from srfix.recovery.state.stores.batches import RowBatch
from srfix.recovery.state.stores.detection import (
    SESSION_WITH_HEADERS,
    WINDOW_WITH_HEADERS,
    Detected,
    StoreFormat,
    databases,
    detect_format,
)
from srfix.recovery.state.stores.rows import StateRow, StoredWindow
from srfix.recovery.state.stores.store import StateStore, StoreDamage, open_store, open_stores

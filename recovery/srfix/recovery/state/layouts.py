"""The table of the row layouts of stores, on which reading, seeking, detection, writing and comparing are based.

| form | stored key | windows | value |
|---|---|---|---|
| plain-kv, timestamped-kv, headers-kv | key | | as its column family says |
| plain-, timestamped-, headers-window, join-window | key, start, number | a window's | as its column family says |
| session, headers-session | key, end, start | a session's | as its column family says |
| time-first-window | `00`, start, key, number; an index | a window's | in `default` 8 bytes of timestamp before it |
| time-first-session | `00`, end, start, key; an index | a session's | bare, in headers mode too |
| versioned | segment, key | | a version, or all of a segment |
| list-value | time, side, key | | a list |
| subscription | foreign key, primary key | | a hash, after the bytes of its column family |

`formats` has the bytes of each part, `writing.kinds` the parts of a new store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import Final

from srfix.recovery.state.formats.values import BARE, PLAIN, STAMPED, VALUES, ValueForm
from srfix.recovery.state.formats.windows import SESSIONS, WINDOWS, WindowedKeys


class KeyOrder(Enum):
    """The first part of stored keys, by which rows can be sought."""

    KEY = auto()
    """The key, with nothing after it."""
    KEY_AND_TIMES = auto()
    """The key, and the times of its window."""
    TIMES_AND_KEY = auto()
    """The times, after a zero; the same column family may have an index."""
    SEGMENT_AND_KEY = auto()
    """The segment of versions."""
    OTHER = auto()
    """The time or the foreign key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    order: KeyOrder
    windows: WindowedKeys | None = None
    """The format of the windows beside the keys, also in the changelog; None if there are none."""
    values: Mapping[str, ValueForm] = field(default_factory=lambda: VALUES)


class StoreFormat(Enum):
    """How the rows of a store are laid out."""

    PLAIN_KV = "plain-kv"
    TIMESTAMPED_KV = "timestamped-kv"
    HEADERS_KV = "headers-kv"
    VERSIONED = "versioned"
    LIST_VALUE = "list-value"
    SUBSCRIPTION = "subscription"
    PLAIN_WINDOW = "plain-window"
    TIMESTAMPED_WINDOW = "timestamped-window"
    HEADERS_WINDOW = "headers-window"
    JOIN_WINDOW = "join-window"
    TIME_FIRST_WINDOW = "time-first-window"
    SESSION = "session"
    HEADERS_SESSION = "headers-session"
    TIME_FIRST_SESSION = "time-first-session"

    @cached_property
    def layout(self) -> Layout:
        return _LAYOUTS[self]

    @property
    def is_key_value(self) -> bool:
        """True for stores that have one row of a key: plain, with timestamps, with headers."""
        return self.layout.order is KeyOrder.KEY

    @property
    def is_windowed(self) -> bool:
        """True for stores whose rows belong to windows, except sessions."""
        return self.layout.windows is WINDOWS

    @property
    def is_of_sessions(self) -> bool:
        return self.layout.windows is SESSIONS


_KEY_VALUE: Final = Layout(order=KeyOrder.KEY)
_WINDOW: Final = Layout(order=KeyOrder.KEY_AND_TIMES, windows=WINDOWS)
_SESSION: Final = Layout(order=KeyOrder.KEY_AND_TIMES, windows=SESSIONS)
_LAYOUTS: Final[Mapping[StoreFormat, Layout]] = {
    StoreFormat.PLAIN_KV: _KEY_VALUE,
    StoreFormat.TIMESTAMPED_KV: _KEY_VALUE,
    StoreFormat.HEADERS_KV: _KEY_VALUE,
    StoreFormat.PLAIN_WINDOW: _WINDOW,
    StoreFormat.TIMESTAMPED_WINDOW: _WINDOW,
    StoreFormat.HEADERS_WINDOW: _WINDOW,
    StoreFormat.JOIN_WINDOW: _WINDOW,
    StoreFormat.TIME_FIRST_WINDOW: Layout(
        order=KeyOrder.TIMES_AND_KEY, windows=WINDOWS, values={**VALUES, PLAIN: STAMPED}
    ),
    StoreFormat.SESSION: _SESSION,
    StoreFormat.HEADERS_SESSION: _SESSION,
    StoreFormat.TIME_FIRST_SESSION: Layout(
        order=KeyOrder.TIMES_AND_KEY, windows=SESSIONS, values=dict.fromkeys(VALUES, BARE)
    ),
    StoreFormat.VERSIONED: Layout(order=KeyOrder.SEGMENT_AND_KEY),
    StoreFormat.LIST_VALUE: Layout(order=KeyOrder.OTHER),
    StoreFormat.SUBSCRIPTION: Layout(order=KeyOrder.OTHER),
}

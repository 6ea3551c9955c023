"""What kind of store a directory holds: told from where it lies, its column families, its name, and the form of its rows.

| where | column family | kind |
|---|---|---|
| `rocksdb/<store>` | `keyValueWithTimestampAndHeaders` | key-value with headers, 4.3 and later |
| `rocksdb/<store>` | `keyValueWithTimestamp` | key-value with timestamps; a subscription store by its name |
| `rocksdb/<store>` | `default` alone | plain key-value; a list store by its name; versioned by a key of its latest values |
| segments | `keyValueWithTimestamp`, `…AndHeaders` | windows with timestamps, and headers |
| segments | `sessionKeyValueWithHeaders` | sessions with headers |
| segments | `windowKeyValueWithHeaders` | windows, time first, with headers |
| segments | `default` alone | windows, sessions, or either time first: the times in the keys must fit the segment |

What only names or rows tell is not certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from pathlib import Path
from typing import Final

from srfix.recovery.errors import FormatError, StateDirectoryError
from srfix.recovery.internal_topics import JoinStore, join_store
from srfix.recovery.state.directory import StoreDirectory, StoreKind
from srfix.recovery.state.formats import (
    decode_key_first_session_key,
    decode_key_first_window_key,
    decode_session_key,
    decode_time_first_session_key,
    decode_time_first_window_key,
    decode_window_store_key,
)
from srfix.recovery.state.rocksdb import OpenedDatabase, opened
from srfix.recovery.state.stored_rows import PLAIN, TIMESTAMPED, WITH_HEADERS

SESSION_WITH_HEADERS: Final = "sessionKeyValueWithHeaders"
"""The column family of sessions with headers."""
WINDOW_WITH_HEADERS: Final = "windowKeyValueWithHeaders"
"""The column family of windows with headers that are kept time first."""

_LATEST_OF_VERSIONED: Final = b"\xff" * 8
_ROWS: Final = 64
"""Rows of a segment whose keys are looked at."""
_SEGMENTS: Final = 3
"""Segments that are looked at, the newest first."""
_LONGEST_SEGMENT_MS: Final = 100 * 366 * 24 * 3600 * 1000
"""No segment covers more time."""


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

    @property
    def is_key_value(self) -> bool:
        """True for stores that have one row of a key: plain, with timestamps, with headers."""
        return self in _KEY_VALUE

    @property
    def is_windowed(self) -> bool:
        """True for stores whose rows belong to windows, sessions not among them."""
        return self in _WINDOWED

    @property
    def is_of_sessions(self) -> bool:
        """True for session stores."""
        return self in _OF_SESSIONS


_KEY_VALUE: Final = frozenset((StoreFormat.PLAIN_KV, StoreFormat.TIMESTAMPED_KV, StoreFormat.HEADERS_KV))
_WINDOWED: Final = frozenset(
    (
        StoreFormat.PLAIN_WINDOW,
        StoreFormat.TIMESTAMPED_WINDOW,
        StoreFormat.HEADERS_WINDOW,
        StoreFormat.JOIN_WINDOW,
        StoreFormat.TIME_FIRST_WINDOW,
    )
)
_OF_SESSIONS: Final = frozenset((StoreFormat.SESSION, StoreFormat.HEADERS_SESSION, StoreFormat.TIME_FIRST_SESSION))


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    """What a store was taken for."""

    format: StoreFormat
    """The form of its rows."""
    why: str
    """What shows it, in a clause."""
    is_certain: bool
    """False if only its name or the form of some rows says so."""


def detect_format(store: StoreDirectory) -> Detected:
    """The form of a store's rows.

    :raises LibraryMissingError: if rocksdict is not installed.
    :raises StateDirectoryError: if none of its databases can be read, or it is of another make.
    """
    if store.kind is StoreKind.KEY_VALUE:
        with opened(Path(store.path)) as database:
            return _key_value(store.name, database)
    segments = databases(store)
    if not segments:
        raise StateDirectoryError(
            f"{store.path} has no segment in it, nor is it a key-value store of Kafka Streams: it was made empty, or by a "
            "store of the application's own."
        )
    return _segmented(store, segments)


def databases(store: StoreDirectory) -> tuple[Path, ...]:
    """The directories of a store's databases; of a segmented one its segments, oldest first."""
    if store.kind is StoreKind.KEY_VALUE:
        return (Path(store.path),)
    found = [
        path for path in Path(store.path).iterdir() if path.is_dir() and segment_start(path, store.name) is not None
    ]
    return tuple(sorted(found, key=lambda path: segment_start(path, store.name) or 0))


def segments(
    store: StoreDirectory, *, from_ms: int | None = None, to_ms: int | None = None
) -> Iterator[tuple[Path, int | None]]:
    """Those databases in which Kafka Streams looks for rows of some times, and a time that is beyond the times of each.

    A segment begins at a multiple of their interval, which is not stored: it ends where the next one that is there begins, at
    the latest (`AbstractSegments.segmentId`). The time is the start of windows and the end of sessions.

    :param from_ms: from when on, inclusive; None for all.
    :param to_ms: until when, inclusive.
    """
    paths = databases(store)
    starts = [segment_start(path, store.name) for path in paths]
    for path, start, following in zip(paths, starts, [*starts[1:], None], strict=True):
        if start is None:
            yield path, None
            continue
        is_over = from_ms is not None and following is not None and following <= from_ms
        if not is_over and (to_ms is None or start <= to_ms):
            yield path, start + _LONGEST_SEGMENT_MS


def segment_start(path: Path, store: str) -> int | None:
    """From when on a segment holds rows, in milliseconds since the epoch; None where its name does not say so."""
    behind = path.name.removeprefix(f"{store}.")
    return int(behind) if behind != path.name and behind.isascii() and behind.isdecimal() else None


def _key_value(name: str, database: OpenedDatabase) -> Detected:
    role = join_store(name)
    if WITH_HEADERS in database.families or TIMESTAMPED in database.families:
        family = WITH_HEADERS if WITH_HEADERS in database.families else TIMESTAMPED
        if role is JoinStore.SUBSCRIPTIONS:
            return Detected(
                format=StoreFormat.SUBSCRIPTION, why="its name is that of a foreign-key join's", is_certain=False
            )
        form = StoreFormat.HEADERS_KV if family == WITH_HEADERS else StoreFormat.TIMESTAMPED_KV
        return Detected(format=form, why=f"it has the column family {family}", is_certain=True)
    if role is JoinStore.LIST:
        return Detected(format=StoreFormat.LIST_VALUE, why="its name is that of a join's list store", is_certain=False)
    if PLAIN not in database.families:
        raise StateDirectoryError(
            f"store {name} has none of the column families of a key-value store, but "
            f"{', '.join(sorted(database.families)) or 'none'}: it is none of Kafka Streams, or of a later version."
        )
    first = next(database.rows(PLAIN, start=_LATEST_OF_VERSIONED), None)
    if first is not None and first[0].startswith(_LATEST_OF_VERSIONED) and len(first[0]) > len(_LATEST_OF_VERSIONED):
        return Detected(format=StoreFormat.VERSIONED, why="it has keys as latest values have them", is_certain=False)
    return Detected(
        format=StoreFormat.PLAIN_KV, why="it has no column family but that of a plain store", is_certain=first is None
    )


def _segmented(store: StoreDirectory, segments: Sequence[Path]) -> Detected:
    is_join = join_store(store.name) is JoinStore.WINDOW
    problem: StateDirectoryError | None = None
    fitting: set[StoreFormat] | None = None
    for path in list(reversed(segments))[:_SEGMENTS]:
        try:
            with opened(path) as database:
                told = _by_family(database, is_join=is_join)
                if told is not None:
                    return told
                if PLAIN not in database.families:
                    continue
                keys = [key for key, _value in islice(database.rows(PLAIN), _ROWS)]
        except StateDirectoryError as error:
            problem = error
            continue
        here = {
            form
            for form, fits in _FORMS.items()
            if all(fits(key, segment_start(path, store.name) or 0) for key in keys)
        }
        if keys:
            fitting = here if fitting is None else fitting & here
    if is_join:
        return Detected(format=StoreFormat.JOIN_WINDOW, why="its name is that of a join's window", is_certain=False)
    if fitting is None and problem is not None:
        raise problem
    if not fitting:
        form = StoreFormat.PLAIN_WINDOW
        why = "its segments are empty" if fitting is None else "its keys are none of a known form"
        return Detected(format=form, why=f"{why}, and it lies as a window store does", is_certain=False)
    form = next(form for form in _FORMS if form in fitting)
    others = (
        ""
        if len(fitting) == 1
        else f"; they would fit {', '.join(f.value for f in _FORMS if f in fitting - {form})}, too"
    )
    return Detected(format=form, why=f"the times in its keys fit its segments{others}", is_certain=len(fitting) == 1)


def _by_family(database: OpenedDatabase, *, is_join: bool) -> Detected | None:
    for family, form in _BY_FAMILY.items():
        if family in database.families:
            if is_join:
                form = StoreFormat.JOIN_WINDOW
            elif family == SESSION_WITH_HEADERS and _is_time_first(database.rows(family)):
                form = StoreFormat.TIME_FIRST_SESSION
            return Detected(format=form, why=f"it has the column family {family}", is_certain=not is_join)
    return None


_BY_FAMILY: Final = {
    WITH_HEADERS: StoreFormat.HEADERS_WINDOW,
    TIMESTAMPED: StoreFormat.TIMESTAMPED_WINDOW,
    WINDOW_WITH_HEADERS: StoreFormat.TIME_FIRST_WINDOW,
    SESSION_WITH_HEADERS: StoreFormat.HEADERS_SESSION,
}


def _is_time_first(rows: Iterator[tuple[bytes, bytes]]) -> bool:
    keys = [key for key, _value in islice(rows, _ROWS)]
    return bool(keys) and all(_fits_time_first_session(key, 0) for key in keys)


def _is_within(time_ms: int, segment: int) -> bool:
    return segment <= time_ms < segment + _LONGEST_SEGMENT_MS


def _fits_window(key: bytes, segment: int) -> bool:
    try:
        told = decode_window_store_key(key)
    except FormatError:
        return False
    return _is_within(told.start_ms, segment) and told.sequence_number == 0


def _fits_session(key: bytes, segment: int) -> bool:
    try:
        return _is_within(decode_session_key(key).end_ms, segment)
    except FormatError:
        return False


def _fits_time_first_window(key: bytes, segment: int) -> bool:
    try:
        told = decode_key_first_window_key(key) if key[:1] == b"\1" else decode_time_first_window_key(key)
    except FormatError:
        return False
    return _is_within(told.start_ms, segment) and told.sequence_number == 0


def _fits_time_first_session(key: bytes, segment: int) -> bool:
    try:
        told = decode_key_first_session_key(key) if key[:1] == b"\1" else decode_time_first_session_key(key)
    except FormatError:
        return False
    return _is_within(told.end_ms, segment)


_FORMS: Final[dict[StoreFormat, Callable[[bytes, int], bool]]] = {
    StoreFormat.TIME_FIRST_SESSION: _fits_time_first_session,
    StoreFormat.TIME_FIRST_WINDOW: _fits_time_first_window,
    StoreFormat.SESSION: _fits_session,
    StoreFormat.PLAIN_WINDOW: _fits_window,
}
"""What only the rows tell, the strictest first."""

"""Detects what kind of store a directory holds, by its place, its column families, its name, and the form of its rows.

| where | column family | kind |
|---|---|---|
| `rocksdb/<store>` | `keyValueWithTimestampAndHeaders` | key-value with headers, 4.3 and later |
| `rocksdb/<store>` | `keyValueWithTimestamp` | key-value with timestamps; a subscription store by its name and its rows |
| `rocksdb/<store>` | only `default` | plain key-value; a list store by its name and its rows; versioned by its rows |
| segments | `keyValueWithTimestamp`, `…AndHeaders` | windows with timestamps, and headers |
| segments | `sessionKeyValueWithHeaders` | sessions with headers |
| segments | `windowKeyValueWithHeaders` | windows, time first, with headers |
| segments | only `default` | windows, sessions, or either time first: the times in the keys must fit the segment |

A kind is not certain if only the name shows it, or if rows of another kind could look the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from srfix.recovery.errors import FormatError, StateDirectoryError
from srfix.recovery.internal_topics import JoinStore, join_store
from srfix.recovery.state.directory import StoreDirectory, StoreKind, segment_start
from srfix.recovery.state.formats.joins import (
    decode_combined_key,
    decode_join_side_key,
    decode_list,
    decode_sided_value,
    decode_subscription,
)
from srfix.recovery.state.formats.values import (
    PLAIN,
    SESSION_WITH_HEADERS,
    TIMESTAMPED,
    VALUES,
    WINDOW_WITH_HEADERS,
    WITH_HEADERS,
)
from srfix.recovery.state.formats.versioned import decode_latest, decode_versioned_key, decode_versioned_segment
from srfix.recovery.state.formats.windows import INDEX, WINDOWS
from srfix.recovery.state.layouts import KeyOrder, StoreFormat
from srfix.recovery.state.rocksdb import OpenedDatabase, Opening, opened

_ROWS: Final = 64
"""How many rows of a segment are looked at."""
_SEGMENTS: Final = 3
"""How many segments are looked at, the newest first."""
_LONGEST_SEGMENT_MS: Final = 100 * 366 * 24 * 3600 * 1000
"""No segment covers more time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detected:
    format: StoreFormat
    why: str
    is_certain: bool
    """False if only its name shows it, or if rows of another kind could look the same."""


_IsRow: TypeAlias = Callable[[bytes, bytes, str], bool]


def detect_format(store: StoreDirectory, *, opening: Opening = opened) -> Detected:
    """The form of a store's rows; with `salvaged` as `opening`, of the rows that can be saved from a damaged store."""
    if store.kind is StoreKind.KEY_VALUE:
        with opening(Path(store.path)) as database:
            return _key_value(store.name, database)
    segments = store.databases()
    if not segments and is_empty(store):
        why = "its folder is empty, which is normal for a window, session or join store whose partition has no rows yet"
        return Detected(format=StoreFormat.PLAIN_WINDOW, why=why, is_certain=False)
    if not segments:
        raise StateDirectoryError(
            f"{store.path} has files but no segment, and is not a key-value store of Kafka Streams: probably a "
            "custom store of the application made it."
        )
    return _segmented(store, segments, opening)


def is_empty(store: StoreDirectory) -> bool:
    """True if there is nothing in a store's directory: no segment yet (`AbstractSegments` makes them with the first rows)."""
    try:
        return not any(Path(store.path).iterdir())
    except OSError:
        return False


def segments(
    store: StoreDirectory, *, from_ms: int | None = None, to_ms: int | None = None
) -> Iterator[tuple[Path, int | None]]:
    """The databases in which Kafka Streams looks for rows between two times, both inclusive, each with a time after its
    last one: the next segment's begin, as the interval is not stored (`AbstractSegments.segmentId`)."""
    paths = store.databases()
    starts = [segment_start(path, store.name) for path in paths]
    for path, start, following in zip(paths, starts, [*starts, None][1:], strict=True):
        if start is None:
            yield path, None
            continue
        is_over = from_ms is not None and following is not None and following <= from_ms
        if not is_over and (to_ms is None or start <= to_ms):
            yield path, start + _LONGEST_SEGMENT_MS


def _key_value(name: str, database: OpenedDatabase) -> Detected:
    role = join_store(name)
    if WITH_HEADERS in database.families or TIMESTAMPED in database.families:
        family = WITH_HEADERS if WITH_HEADERS in database.families else TIMESTAMPED
        form = StoreFormat.HEADERS_KV if family == WITH_HEADERS else StoreFormat.TIMESTAMPED_KV
        detection = Detected(format=form, why=f"it has the column family {family}", is_certain=True)
        if role is JoinStore.SUBSCRIPTIONS:
            form = StoreFormat.SUBSCRIPTION
            return _by_name(database, family, form, is_subscription, "a join's subscription store", detection)
        return detection
    if PLAIN not in database.families:
        raise StateDirectoryError(
            f"store {name} does not have the column families of a key-value store; it has "
            f"{', '.join(sorted(database.families)) or 'none'}. Kafka Streams did not write it, or a version "
            "that srfix does not know wrote it."
        )
    detection = _plain(database)
    if role is JoinStore.LIST:
        return _by_name(database, PLAIN, StoreFormat.LIST_VALUE, is_list, "a join's list store", detection)
    return detection


def _by_name(
    database: OpenedDatabase, family: str, form: StoreFormat, is_row: _IsRow, whose: str, else_: Detected
) -> Detected:
    """The format of a store with the name of a join's own: its rows must fit, else a person has given the name."""
    fits = [is_row(key, value, family) for key, value in islice(database.rows(family), _ROWS)]
    if fits and not any(fits):
        return replace(else_, why=f"{else_.why}. Its name is that of {whose}, but its rows do not fit this name")
    if fits and all(fits):
        return Detected(format=form, why=f"its name and its rows are those of {whose}", is_certain=True)
    return Detected(format=form, why=f"its name is that of {whose}", is_certain=False)


def _plain(database: OpenedDatabase) -> Detected:
    first = list(islice(database.rows(PLAIN), _ROWS))
    latest = list(islice(database.rows(PLAIN, start=LATEST_OF_VERSIONED), _ROWS))
    fits = [
        *(is_versioned_segment(key, value) for key, value in first if not key.startswith(LATEST_OF_VERSIONED)),
        *(is_latest(key, value) for key, value in latest),
    ]
    if fits and all(fits):
        return Detected(format=StoreFormat.VERSIONED, why="its rows are those of a versioned store", is_certain=True)
    if any(fits) or any(len(key) > len(LATEST_OF_VERSIONED) for key, _value in latest):
        return Detected(
            format=StoreFormat.VERSIONED,
            why="some of its rows look like those of a versioned store",
            is_certain=False,
        )
    why = "its only column family is that of a plain store" if first else "it has no rows, so it may also be versioned"
    return Detected(format=StoreFormat.PLAIN_KV, why=why, is_certain=bool(first))


def _segmented(store: StoreDirectory, segments: Sequence[Path], opening: Opening) -> Detected:
    problem: StateDirectoryError | None = None
    fitting_: set[StoreFormat] | None = None
    of_join: list[bool] = []
    for path in list(reversed(segments))[:_SEGMENTS]:
        span = _span(path, store, segments)
        try:
            with opening(path) as database:
                detection = _by_family(database, span, store)
                if detection is not None:
                    return detection
                if PLAIN not in database.families:
                    continue
                rows = list(islice(database.rows(PLAIN), _ROWS))
                forms = [form for form in _FORMS if form is not StoreFormat.TIME_FIRST_SESSION or _has_index(database)]
        except StateDirectoryError as error:
            problem = error
            continue
        of_join += [is_join_window(key, span) for key, _value in rows]
        if rows:
            here = {form for form in forms if all(is_in_segment(form, key, value, span) for key, value in rows)}
            fitting_ = here if fitting_ is None else fitting_ & here
    if join_store(store.name) is JoinStore.WINDOW:
        return _join_window(of_join)
    if fitting_ is None and problem is not None:
        raise problem
    if not fitting_:
        form = StoreFormat.PLAIN_WINDOW
        why = "its segments are empty" if fitting_ is None else "its keys have no known form"
        return Detected(format=form, why=f"{why}, and its folder is laid out like a window store's", is_certain=False)
    form, *others = [form for form in _FORMS if form in fitting_]
    besides = f"; with the format {' or '.join(other.value for other in others)} they would also fit" if others else ""
    return Detected(format=form, why=f"the times in its keys fit its segments{besides}", is_certain=not others)


def _span(path: Path, store: StoreDirectory, segments: Sequence[Path]) -> Span:
    starts = [segment_start(segment, store.name) or 0 for segment in segments]
    longest = min((later - earlier for earlier, later in pairwise(starts)), default=_LONGEST_SEGMENT_MS)
    start = segment_start(path, store.name) or 0
    return Span(start, start + longest)


def _join_window(fits: Sequence[bool]) -> Detected:
    if fits and all(fits):
        why = "its name is that of a join's window store, and its keys have numbers, like keys of such a store"
        return Detected(format=StoreFormat.JOIN_WINDOW, why=why, is_certain=True)
    return Detected(format=StoreFormat.JOIN_WINDOW, why="its name is that of a join's window store", is_certain=False)


def _by_family(database: OpenedDatabase, span: Span, store: StoreDirectory) -> Detected | None:
    for family, form in _BY_FAMILY.items():
        if family not in database.families:
            continue
        rows = list(islice(database.rows(family), _ROWS))
        if join_store(store.name) is JoinStore.WINDOW:
            return _join_window([is_join_window(key, span) for key, _value in rows])
        is_time_first = rows and all(
            is_in_segment(StoreFormat.TIME_FIRST_SESSION, key, value, span) for key, value in rows
        )
        if family == SESSION_WITH_HEADERS and is_time_first and _has_index(database, family):
            form = StoreFormat.TIME_FIRST_SESSION
        return Detected(format=form, why=f"it has the column family {family}", is_certain=True)
    return None


def _has_index(database: OpenedDatabase, family: str = PLAIN) -> bool:
    """True if rows begin with 01, as only in the index of a time-first store: framed keys begin with a zero."""
    first = next(database.rows(family, start=INDEX), None)
    return first is not None and first[0].startswith(INDEX)


_BY_FAMILY: Final = {
    WITH_HEADERS: StoreFormat.HEADERS_WINDOW,
    TIMESTAMPED: StoreFormat.TIMESTAMPED_WINDOW,
    WINDOW_WITH_HEADERS: StoreFormat.TIME_FIRST_WINDOW,
    SESSION_WITH_HEADERS: StoreFormat.HEADERS_SESSION,
}
_FORMS: Final = (
    StoreFormat.TIME_FIRST_SESSION,
    StoreFormat.TIME_FIRST_WINDOW,
    StoreFormat.SESSION,
    StoreFormat.PLAIN_WINDOW,
)
"""The formats that only the rows show, the strictest test first."""


LATEST_OF_VERSIONED: Final = b"\xff" * 8
"""The first bytes of the key of a versioned store's latest rows: the segment id -1 (`RocksDBVersionedStore`)."""
_SOME_DAY: Final = range(978_307_200_000, 4_102_444_800_000)
"""The years 2001 to 2099, in milliseconds since the epoch."""


class Span(NamedTuple):
    start_ms: int
    """Inclusive."""
    end_ms: int
    """Exclusive; not before the end of the segment."""

    def has(self, time_ms: int) -> bool:
        return self.start_ms <= time_ms < self.end_ms


def is_versioned_segment(key: bytes, value: bytes) -> bool:
    """True for old versions of a key: all bytes of the value must fit each other."""
    try:
        decode_versioned_key(key)
        decode_versioned_segment(value)
    except FormatError:
        return False
    return True


def is_latest(key: bytes, value: bytes) -> bool:
    """True for the latest version of a key: a time before the value, and key bytes that no other store uses."""
    try:
        return len(key) > len(LATEST_OF_VERSIONED) and decode_latest(value).valid_from_ms in _SOME_DAY
    except FormatError:
        return False


def is_subscription(key: bytes, value: bytes, family: str) -> bool:
    """True for a subscription of a foreign-key join: key and value have the same primary key."""
    try:
        subscription = decode_subscription(VALUES[family].decode(value).payload)
        return subscription.primary_key == decode_combined_key(key).primary_key
    except FormatError:
        return False


def is_list(key: bytes, value: bytes, _family: str) -> bool:
    try:
        decode_join_side_key(key)
        entries = decode_list(value)
        return bool(entries) and all(entry is not None and decode_sided_value(entry) for entry in entries)
    except FormatError:
        return False


def is_join_window(key: bytes, span: Span) -> bool:
    """True for a record of a stream-stream join, which keeps several records for a key and time, numbered from 1 on."""
    try:
        _key, window = WINDOWS.decode(key)
    except FormatError:
        return False
    return span.has(window.start_ms) and window.sequence_number > 0


def is_in_segment(form: StoreFormat, key: bytes, value: bytes, span: Span) -> bool:
    """True for a row of a window or session store in the column family of plain stores, or for a row of its index. A
    time-first session store has an index, which the caller looks for. Framed keys begin with a zero, like time-first
    keys, and their next bytes may look like a time. So times must lie in the segment, and the time of a value must not
    be before its window.
    """
    layout = form.layout
    assert layout.windows is not None
    is_time_first = layout.order is KeyOrder.TIMES_AND_KEY
    is_index = is_time_first and key.startswith(INDEX)
    stamp: int | None = None
    try:
        if is_index:
            _key, window = layout.windows.decode_key_first(key)
        elif is_time_first:
            _key, window = layout.windows.decode_time_first(key)
            stamp = layout.values[PLAIN].decode(value).timestamp_ms
        else:
            _key, window = layout.windows.decode(key)
    except FormatError:
        return False
    if form.is_windowed and is_index and value:
        return False
    is_not_before = stamp is None or window.start_ms <= stamp
    return span.has(window.last_ms) and window.sequence_number == 0 and is_not_before

"""A store beside its topic, both read in order from the disk: the same as two dicts beside each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.values import TIMESTAMPED, encode_timestamped
from srfix.recovery.state.formats.windows import WINDOWS, StoredWindow
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.store import StateStore, open_stores
from srfix.recovery.stores.difference_kinds import Difference, DifferenceKind
from srfix.recovery.stores.differences import compared, in_window
from srfix.serde.wire import prefix_id_bytes
from tests.recovery.state.reading.test_batches import SEGMENT_MS, Database, opened

VALUES: Final = (b"", b"x", prefix_id_bytes(1) + b"a", prefix_id_bytes(1) + b"b", prefix_id_bytes(2) + b"a")
IDS: Final = (None, None, 1, 1, 2)
STAMPS: Final = (None, 5, 6)


def window_key(key: bytes, start_ms: int) -> bytes:
    return WINDOWS.encode(key, StoredWindow(start_ms))


KEYS: Final = {
    StoreFormat.TIMESTAMPED_KV: (b"", b"a", b"ab", b"b", b"\xff"),
    StoreFormat.TIMESTAMPED_WINDOW: tuple(window_key(key, at) for key in (b"a", b"b") for at in (7, SEGMENT_MS + 7)),
}
"""By what they are called in the changelog; those of windows lie by segments, in another order."""


@pytest.fixture(
    scope="module",
    params=[StoreFormat.TIMESTAMPED_WINDOW, pytest.param(StoreFormat.TIMESTAMPED_KV, marks=pytest.mark.slow)],
)
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> StateStore:
    form = request.param
    rows = {
        key: encode_timestamped(VALUES[place % len(VALUES)], STAMPS[place % len(STAMPS)])
        for place, key in enumerate(KEYS[form])
    }
    starts = (0, SEGMENT_MS) if form.is_windowed else (0,)
    databases = [
        Database(start, {TIMESTAMPED: {key: row for key, row in rows.items() if bool(start) == (b"\xea\x67" in key)}})
        for start in starts
    ]
    return opened(tmp_path_factory.mktemp("state"), form, databases)


def expected(store: StateStore, records: Sequence[RawRecord]) -> tuple[int, list[Difference]]:
    here = {}
    for row in store.rows():
        key = row.key if row.window is None else window_key(row.key, row.window.start_ms)
        here[key] = (row.value, row.timestamp_ms)
    said = {each.key: (each.value, each.timestamp) for each in records if each.key is not None}
    same, found = 0, []
    for key in sorted({*here, *(key for key, (value, _) in said.items() if value is not None)}):
        value, stamp = here.get(key, (None, None))
        topic, topic_stamp = said.get(key, (None, None))
        if value == topic:
            same += 1
            continue
        store_id, topic_id = (None if each is None else IDS[VALUES.index(each)] for each in (value, topic))
        if value is None or topic is None:
            kind = DifferenceKind.MISSING if value is None else DifferenceKind.EXTRA
        elif stamp is not None and topic_stamp is not None and stamp < topic_stamp:
            kind = DifferenceKind.STALE
        else:
            other_id = store_id is not None and topic_id is not None and store_id != topic_id
            kind = DifferenceKind.OTHER_ID if other_id else DifferenceKind.OTHER_BYTES
        found.append(Difference(kind=kind, key=key, store_id=store_id, topic_id=topic_id))
    return same, found


class TestLetGo:
    """Kafka Streams drops the oldest segments; the changelog still has their windows."""

    FORM: Final = StoreFormat.TIMESTAMPED_WINDOW

    def records(self, *starts: int) -> list[RawRecord]:
        return [
            RawRecord(partition=0, offset=offset, key=window_key(b"a", start), value=b"x", timestamp=5)
            for offset, start in enumerate(starts)
        ]

    def test_windows_before_the_oldest_segment_are_not_known(self, tmp_path: Path) -> None:
        row = {window_key(b"a", 2 * SEGMENT_MS): encode_timestamped(b"x", 5)}
        store = opened(tmp_path, self.FORM, [Database(2 * SEGMENT_MS, {TIMESTAMPED: row})])
        found = compared(store, self.records(SEGMENT_MS + 7, 2 * SEGMENT_MS, 2 * SEGMENT_MS + 1))
        assert found.same == 1
        assert [(each.kind.value, in_window(self.FORM, each.key)) for each in found.shown] == [
            ("not-known", (b"a", (SEGMENT_MS + 7, None, 0))),
            ("missing", (b"a", (2 * SEGMENT_MS + 1, None, 0))),
        ]

    def test_of_a_store_without_segments_the_newest_is_missing(self, tmp_path: Path) -> None:
        (tmp_path / "shop" / "0_0" / "users").mkdir(parents=True)
        (state,) = read_state_directory(tmp_path)
        (store,) = open_stores(state, form=self.FORM)
        found = compared(store, self.records(7, SEGMENT_MS))
        assert [each.kind.value for each in found.shown] == ["not-known", "missing"]
        assert compared(store, []).shown == ()


@settings(max_examples=12)
@given(data=st.data())
def test_it_is_two_dicts_beside_each_other(store: StateStore, data: st.DataObject) -> None:
    more = window_key(b"c", 7) if store.format.is_windowed else b"c"
    each = st.tuples(
        st.sampled_from([*KEYS[store.format], more, None]), st.sampled_from([*VALUES, None]), st.sampled_from(STAMPS)
    )
    records = [
        RawRecord(partition=0, offset=offset, key=key, value=value, timestamp=timestamp)
        for offset, (key, value, timestamp) in enumerate(data.draw(st.lists(each, max_size=10)))
    ]
    found = compared(store, records)
    same, differences = expected(store, records)
    assert (found.same, list(found.shown)) == (same, differences)
    assert Counter({kind: count for kind, count in found.counts.items() if count}) == Counter(
        difference.kind for difference in differences
    )

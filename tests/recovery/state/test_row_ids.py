"""The ids in the rows of databases: real ones of four Streams versions, ones of our own, and damaged ones."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parts.state_directory import TIMESTAMPED, write_database
from srfix.recovery import LibraryMissingError, StateDirectoryError
from srfix.recovery.state.directory import ApplicationState, StoreDirectory, StoreKind, Task, Traces
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.joins import CombinedKey, Subscription
from srfix.recovery.state.formats.values import PLAIN, WITH_HEADERS
from srfix.recovery.state.formats.versioned import (
    LATEST_SEGMENT,
    VersionedRecord,
    encode_latest,
    encode_versioned_key,
    encode_versioned_segment,
)
from srfix.recovery.state.formats.windows import SESSIONS, WINDOWS, StoredWindow
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.database import some_rows
from srfix.recovery.state.reading.store import open_store, open_stores
from srfix.recovery.state.rocksdb import read_column_family
from srfix.recovery.state.row_ids import RowIds, count_row_ids
from srfix.serde import Role
from srfix.serde.wire import frame_guid, frame_id
from srfix.serde.wire_peek import SchemaIdPeek
from tests.recovery.state.encoding import encode_combined_key, encode_subscription
from tests.recovery.state.reading.test_real_directories import raw_rows

REAL = Path(__file__).parent / "data/rows"
VERSIONS = ("2.6.3", "3.9.2", "4.3.1", "4.3.1-headers")
ONE_AT_FIRST = [pytest.param(v, marks=pytest.mark.slow if v in VERSIONS[:3] else ()) for v in VERSIONS]
SKIPPED_BYTES = {"default": 0, "keyValueWithTimestamp": 8, "keyValueWithTimestampAndHeaders": 9}
"""What stands before the serde's bytes in the real rows, whose headers are empty."""
TS = bytes(8)
NOW = 1_795_252_020_000


def told(version: str) -> Iterator[tuple[str, Counter[str], int]]:
    """Per database of `rows.txt` what the values begin with, and its rows: read by hand, not by the parser under test."""
    for database, raw in raw_rows(REAL / version).items():
        values = [value[SKIPPED_BYTES[family] :] for family, _key, value in raw.rows() if family in SKIPPED_BYTES]
        ids = Counter(value[1:5].hex() for value in values if value.startswith(b"\0") and len(value) >= 5)
        yield database, ids, len(values)


def count(path: Path, *, give_up_at: float | None = None) -> RowIds:
    """Of one store that lies anywhere."""
    kind = StoreKind.SEGMENTED if any(path.glob(f"{path.name}.*")) else StoreKind.KEY_VALUE
    store = StoreDirectory(name=path.name, kind=kind, path=str(path))
    task = Task(name="0_0", path=str(path.parent), subtopology=0, partition=0, stores=(store,))
    traces = Traces(
        has_process_metadata=False, has_task_locks=False, has_position_files=False, has_offsets_column_families=False
    )
    state = ApplicationState(application="shop", path=str(path.parent), tasks=(task,), traces=traces, is_in_use=None)
    return count_row_ids(open_store(state, task, store), give_up_at=give_up_at)


def counted(path: Path) -> tuple[int, dict[int, int], dict[int, int]]:
    found = count(path)
    keys, values = ({int(i): n for i, n in found.schema_ids[role].items()} for role in (Role.KEY, Role.VALUE))
    return found.rows, keys, values


class TestRealDirectories:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_rows_and_ids_are_those_that_streams_itself_answered(self, version: str) -> None:
        seen = 0
        for database, ids, rows in told(version):
            found = count(REAL / version / database)
            assert (found.stopped, found.uncertain, found.is_damaged) == (None, None, False)
            if database.endswith("/ver"):
                assert found.rows == 4, "versions, in 3 rows"
                continue
            assert found.rows == rows
            if database.endswith("-subscription-store"):
                # A subscription of version 0 begins as a framed payload does; it is none.
                assert (found.schema_ids[Role.VALUE], found.unframed) == ({}, {Role.KEY: rows})
                continue
            if not database.endswith("-join-store"):
                assert found.schema_ids[Role.VALUE] == {int(i, 16): n for i, n in ids.items() if 0 < int(i, 16) < 2**31}
            seen += rows
        assert seen >= 8

    @pytest.mark.parametrize("version", ONE_AT_FIRST)
    def test_stores_of_every_kind_are_counted_and_none_of_their_rows_seems_framed(self, version: str) -> None:
        # The application's serdes wrote text: what begins as a framed payload is a time, a size or a hash of Streams' own.
        (state,) = read_state_directory(REAL.parent / "kinds" / version / "state")
        formats = Counter[StoreFormat]()
        for store in open_stores(state):
            found = count_row_ids(store)
            assert (found.stopped, found.uncertain) == (None, None), store.name
            assert found.rows == sum(1 for _ in store) > 0, store.name
            assert found.schema_ids == {Role.KEY: {}, Role.VALUE: {}}, store.name
            formats[store.format] += 1
        assert len(formats) >= 7

    @pytest.mark.parametrize("version", VERSIONS)
    def test_whole_rows_are_given_too(self, version: str) -> None:
        rows = some_rows(REAL / version / "1_0/rocksdb/ts", most=10)
        assert {key: value.payload for key, value in rows.items()} == {b"t1": b"tv1", b"t2": b"tv2"}


class TestCountRowIds:
    def test_ids_guids_and_what_is_unframed_are_told_apart(self, tmp_path: Path) -> None:
        rows = {b"a": frame_id(1, b"x"), b"b": frame_id(1, b"y"), frame_id(9, b"c"): frame_id(2, b"z")}
        rows |= {b"d": frame_guid(UUID(int=7)), b"e": b"{}"}
        write_database(tmp_path / "db", {TIMESTAMPED: {key: TS + value for key, value in rows.items()}})
        found = count(tmp_path / "db")
        assert found == RowIds(
            rows=5,
            schema_ids={Role.KEY: {9: 1}, Role.VALUE: {1: 2, 2: 1}},  # type: ignore[dict-item]
            guids={Role.VALUE: 1},
            unframed={Role.KEY: 4, Role.VALUE: 1},
            form=StoreFormat.TIMESTAMPED_KV,
        )

    def test_a_guid_in_the_headers_beside_a_row_counts(self, tmp_path: Path) -> None:
        name, guid = b"__value_schema_id", frame_guid(UUID(int=7))
        headers = b"\x02" + bytes([2 * len(name)]) + name + bytes([2 * len(guid)]) + guid
        row = bytes([2 * len(headers)]) + headers + TS + b"body"
        write_database(tmp_path / "db", {WITH_HEADERS: {b"a": row, b"b": b"\x00" + TS + frame_id(5, b"x")}})
        found = count(tmp_path / "db")
        assert (found.guids, found.schema_ids[Role.VALUE]) == ({Role.VALUE: 1}, {5: 1})

    @settings(max_examples=25, deadline=None)
    @given(
        schema_id=st.integers(1, 2**31 - 1) | st.integers(400, 1_200),  # these look like times of this century
        inner=st.binary(max_size=20),
        is_session=st.booleans(),
    )
    @example(schema_id=500, inner=b"1234", is_session=False)
    @example(schema_id=500, inner=b"1234", is_session=True)
    def test_a_framed_key_of_a_window_or_session_is_never_taken_for_one_that_begins_with_a_time(
        self, tmp_path_factory: pytest.TempPathFactory, schema_id: int, inner: bytes, is_session: bool
    ) -> None:
        path = tmp_path_factory.mktemp("any") / "s"
        key, value = frame_id(schema_id, inner), frame_id(3, b"12345678")
        stored = WINDOWS.encode(key, StoredWindow(NOW))
        if is_session:
            stored = SESSIONS.encode(key, StoredWindow(NOW, NOW))
        write_database(path / f"s.{NOW}", {PLAIN: {stored: value}})
        assert counted(path) == (1, {schema_id: 1}, {3: 1})

    def test_every_version_of_a_key_counts_and_a_tombstone_has_no_value(self, tmp_path: Path) -> None:
        key = frame_id(9, b"k")
        latest = VersionedRecord(payload=frame_id(4, b"x"), valid_from_ms=NOW + 30, valid_to_ms=None)
        older = (
            VersionedRecord(payload=None, valid_from_ms=NOW + 20, valid_to_ms=NOW + 30),
            VersionedRecord(payload=frame_id(3, b"x"), valid_from_ms=NOW + 10, valid_to_ms=NOW + 20),
        )
        rows = {
            encode_versioned_key(key, LATEST_SEGMENT): encode_latest(latest),
            encode_versioned_key(key, 7): encode_versioned_segment(older),
        }
        write_database(tmp_path / "db", {PLAIN: rows})
        assert counted(tmp_path / "db") == (3, {9: 3}, {3: 1, 4: 1})
        assert not count(tmp_path / "db").unframed

    def test_old_versions_alone_are_no_plain_store_though_they_begin_as_framed_payloads_do(
        self, tmp_path: Path
    ) -> None:
        record = VersionedRecord(payload=b"v", valid_from_ms=NOW, valid_to_ms=NOW + 1)
        key = encode_versioned_key(b"k", 7)
        value = encode_versioned_segment((record,))
        write_database(tmp_path / "db", {PLAIN: {key: value}})
        assert SchemaIdPeek()([value]) == [0x1A1FD], "the times in it look like an id"
        assert counted(tmp_path / "db") == (1, {}, {})

    def test_of_a_subscription_the_primary_key_counts_and_there_is_no_value(self, tmp_path: Path) -> None:
        key = CombinedKey(foreign_key=frame_id(8, b"f"), primary_key=frame_id(9, b"k"))
        value = Subscription(version=0, instruction=1, hash=bytes(16), primary_key=key.primary_key)
        rows = {encode_combined_key(key): TS + encode_subscription(value)}
        write_database(tmp_path / "fk-subscription-store", {TIMESTAMPED: rows})
        found = count(tmp_path / "fk-subscription-store")
        assert (found.rows, found.schema_ids[Role.KEY]) == (1, {9: 1})
        assert (found.schema_ids[Role.VALUE], found.unframed, found.form) == ({}, {}, StoreFormat.SUBSCRIPTION)

    def test_a_table_that_somebody_named_as_a_join_s_own_store_is_a_table(self, tmp_path: Path) -> None:
        write_database(tmp_path / "my-subscription-store", {TIMESTAMPED: {b"a": TS + frame_id(5, b"x")}})
        found = count(tmp_path / "my-subscription-store")
        assert (found.schema_ids[Role.VALUE], found.form, found.uncertain) == ({5: 1}, StoreFormat.TIMESTAMPED_KV, None)

    def test_what_is_not_certain_is_said(self, tmp_path: Path) -> None:
        write_database(tmp_path / "win/win.60000", {PLAIN: {b"k" * 20: frame_id(3, b"x")}})
        found = count(tmp_path / "win")
        assert "it was read as plain-window" in (found.uncertain or "")

    def test_nothing_is_counted_of_a_store_that_was_taken_for_the_wrong_kind(self, tmp_path: Path) -> None:
        write_database(tmp_path / "win/win.60000", {PLAIN: {b"k": frame_id(3, b"x"), b"k" * 20: frame_id(3, b"x")}})
        found = count(tmp_path / "win")
        assert (found.rows, found.schema_ids[Role.VALUE], found.is_damaged) == (0, {}, False)
        assert "but not every row has that form" in (found.stopped or "")

    def test_a_store_of_another_make_is_not_read(self, tmp_path: Path) -> None:
        write_database(tmp_path / "db", {"sessionKeyValueWithHeaders": {b"a": b"x"}})
        assert count(tmp_path / "db").schema_ids[Role.VALUE] == {}

    def test_it_stops_when_the_time_is_over_and_keeps_what_it_has(self, tmp_path: Path) -> None:
        rows = {b"%04d" % number: frame_id(1, b"x") for number in range(2_500)}
        write_database(tmp_path / "db", {PLAIN: rows})
        found = count(tmp_path / "db", give_up_at=time.monotonic())
        assert (found.stopped, found.is_damaged) == ("the time limit (--deadline) was reached", False)
        assert 1_000 <= found.rows < len(rows)

    def test_without_the_library_it_says_what_to_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_database(tmp_path / "db", {PLAIN: {b"a": frame_id(1, b"x")}})
        monkeypatch.setitem(sys.modules, "rocksdict", None)
        with pytest.raises(LibraryMissingError, match="needs the package rocksdict"):
            count(tmp_path / "db")


class TestDamage:
    """What precedes damage is kept, and the reason names the file."""

    @pytest.fixture
    def database(self, tmp_path: Path) -> Path:
        rows = {b"%06d" % number: TS + frame_id(1, b"x" * 40) for number in range(5_000)}
        write_database(tmp_path / "db", {TIMESTAMPED: rows})
        return tmp_path / "db"

    def test_a_flipped_byte_ends_the_read_where_it_is(self, database: Path) -> None:
        (table,) = database.glob("*.sst")
        content = bytearray(table.read_bytes())
        content[len(content) // 2] ^= 1
        table.write_bytes(content)
        found = count(database)
        assert found.is_damaged
        assert found.stopped is not None
        assert "block checksum mismatch" in found.stopped
        assert f"in {table}" in found.stopped
        assert 2_000 < found.rows < 3_000
        assert found.schema_ids[Role.VALUE] == {1: found.rows}
        with pytest.raises(StateDirectoryError, match="block checksum mismatch"):
            read_column_family(database, TIMESTAMPED)

    @pytest.mark.parametrize("pattern", ["MANIFEST-*", "*.sst"])
    @pytest.mark.parametrize("is_there", [True, False])
    def test_a_file_that_is_missing_or_cut_short_is_named(self, database: Path, pattern: str, is_there: bool) -> None:
        (path,) = database.glob(pattern)
        if is_there:
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 10])
        else:
            path.unlink()
        found = count(database)
        assert (found.rows, found.is_damaged) == (0, True)
        assert str(path if pattern == "*.sst" or not is_there else database) in (found.stopped or "")

    def test_a_directory_without_a_database_is_no_rocksdb(self, tmp_path: Path) -> None:
        assert "no file CURRENT" in (count(tmp_path).stopped or "")

    def test_a_row_of_another_form_is_left_out(self, tmp_path: Path) -> None:
        rows = {b"a": TS + frame_id(1, b"x"), b"b": b"short", b"c": TS + frame_id(1, b"x"), b"d": b"no"}
        write_database(tmp_path / "db", {TIMESTAMPED: rows})
        found = count(tmp_path / "db")
        assert (found.rows, found.is_damaged) == (2, True)
        assert found.stopped is not None
        assert "key 62: a value has 5 bytes" in found.stopped
        assert "(1 more such place)" in found.stopped

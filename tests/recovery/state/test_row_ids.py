"""The ids in the rows of databases: real ones of four Streams versions, ones of our own, and damaged ones."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srfix.fixtures.state_directory import TIMESTAMPED, write_database
from srfix.recovery.errors import LibraryMissingError, StateDirectoryError
from srfix.recovery.state.rocksdb import read_column_family
from srfix.recovery.state.row_ids import RowIds, count_row_ids
from srfix.recovery.state.some_rows import some_rows
from srfix.recovery.state.stored_rows import PLAIN, WITH_HEADERS
from srfix.serde.subjects.names import Role
from srfix.serde.wire import frame_guid, frame_id

REAL = Path(__file__).parent / "data/rows"
VERSIONS = ("2.6.3", "3.9.2", "4.3.1", "4.3.1-headers")
SKIPPED_BYTES = {"default": 0, "keyValueWithTimestamp": 8, "keyValueWithTimestampAndHeaders": 9}
"""What stands before the serde's bytes in the real rows, whose headers are empty."""
TS = bytes(8)


def told(version: str) -> Iterator[tuple[str, Counter[str], int]]:
    """Per database of `rows.txt` what the values begin with, and its rows: read by hand, not by the parser under test."""
    database, family = "", ""
    found: dict[str, list[str]] = {}
    for line in (REAL / version / "rows.txt").read_text().splitlines():
        if line.startswith("DB "):
            database = line[3:]
            found[database] = []
        elif line.startswith("   ["):
            family = line.split("[")[1].split("]")[0]
        elif family in SKIPPED_BYTES:
            value = line.split("=")[1].strip()
            found[database].append(value[2 * SKIPPED_BYTES[family] :])
    for database, values in found.items():
        ids = Counter(value[2:10] for value in values if value.startswith("00") and len(value) >= 10)
        yield database, ids, len(values)


def counted(path: Path) -> tuple[int, dict[int, int], dict[int, int]]:
    found = count_row_ids(path)
    return (
        found.rows,
        {int(schema_id): count for schema_id, count in found.schema_ids[Role.KEY].items()},
        {int(schema_id): count for schema_id, count in found.schema_ids[Role.VALUE].items()},
    )


class TestRealDirectories:
    @pytest.mark.parametrize("version", VERSIONS)
    def test_a_join_s_subscriptions_carry_no_ids_though_they_begin_as_framed_payloads_do(self, version: str) -> None:
        at = REAL.parent / "kinds" / version / "state" / "5_0" / "rocksdb" / "fkj-subscription-store"
        found = count_row_ids(at)
        assert found.stopped is not None
        assert "a join's own store" in found.stopped
        assert (found.rows, found.is_damaged) == (0, False)

    @pytest.mark.parametrize("version", VERSIONS)
    def test_rows_and_ids_are_those_that_streams_itself_answered(self, version: str) -> None:
        seen = 0
        for database, ids, rows in told(version):
            found = count_row_ids(REAL / version / database)
            if database.endswith("/ver"):
                assert found.stopped is not None
                assert "looks like a versioned store" in found.stopped
                assert not found.rows
                assert not found.is_damaged
                continue
            if database.endswith(("-join-store", "-subscription-store")):
                assert "a join's own store" in (found.stopped or "")
                continue
            assert (found.rows, found.stopped) == (rows, None)
            assert found.schema_ids[Role.VALUE] == {int(i, 16): n for i, n in ids.items() if 0 < int(i, 16) < 2**31}
            seen += rows
        assert seen == 8

    @pytest.mark.parametrize("version", VERSIONS)
    def test_whole_rows_are_given_too(self, version: str) -> None:
        rows = some_rows(REAL / version / "1_0/rocksdb/ts", most=10)
        assert {key: value.payload for key, value in rows.items()} == {b"t1": b"tv1", b"t2": b"tv2"}


class TestCountRowIds:
    def test_ids_guids_and_what_is_unframed_are_told_apart(self, tmp_path: Path) -> None:
        guid = UUID(int=7)
        write_database(
            tmp_path / "db",
            {
                TIMESTAMPED: {
                    b"a": TS + frame_id(1, b"x"),
                    b"b": TS + frame_id(1, b"y"),
                    frame_id(9, b"c"): TS + frame_id(2, b"z"),
                    b"d": TS + frame_guid(guid),
                    b"e": TS + b"{}",
                }
            },
        )
        found = count_row_ids(tmp_path / "db")
        assert found == RowIds(
            rows=5,
            schema_ids={Role.KEY: {9: 1}, Role.VALUE: {1: 2, 2: 1}},  # type: ignore[dict-item]
            guids={Role.VALUE: 1},
            unframed={Role.KEY: 4, Role.VALUE: 1},
        )

    def test_rows_that_a_timestamped_store_has_not_upgraded_yet_count(self, tmp_path: Path) -> None:
        families = {PLAIN: {b"old": frame_id(3, b"x")}, TIMESTAMPED: {b"new": TS + frame_id(4, b"y")}}
        write_database(tmp_path / "db", families)
        assert counted(tmp_path / "db") == (2, {}, {3: 1, 4: 1})

    def test_a_guid_in_the_headers_beside_a_row_counts(self, tmp_path: Path) -> None:
        name, guid = b"__value_schema_id", frame_guid(UUID(int=7))
        headers = b"\x02" + bytes([2 * len(name)]) + name + bytes([2 * len(guid)]) + guid
        row = bytes([2 * len(headers)]) + headers + TS + b"body"
        write_database(tmp_path / "db", {WITH_HEADERS: {b"a": row, b"b": b"\x00" + TS + frame_id(5, b"x")}})
        found = count_row_ids(tmp_path / "db")
        assert (found.guids, found.schema_ids[Role.VALUE]) == ({Role.VALUE: 1}, {5: 1})

    @settings(max_examples=15, deadline=None)
    @given(
        rows=st.dictionaries(
            st.binary(min_size=1, max_size=6).filter(lambda key: key[0] != 0),
            st.integers(1, 2**31 - 1),
            max_size=30,
        )
    )
    def test_every_id_that_was_written_is_counted(
        self, tmp_path_factory: pytest.TempPathFactory, rows: dict[bytes, int]
    ) -> None:
        path = tmp_path_factory.mktemp("any") / "db"
        write_database(path, {TIMESTAMPED: {key: TS + frame_id(i, b"") for key, i in rows.items()}})
        found = count_row_ids(path)
        assert (found.rows, found.schema_ids[Role.VALUE]) == (len(rows), dict(Counter(rows.values())))

    def test_a_store_of_another_form_is_not_read(self, tmp_path: Path) -> None:
        write_database(tmp_path / "db", {"sessionKeyValueWithHeaders": {b"a": b"x"}})
        assert count_row_ids(tmp_path / "db").rows == 0

    def test_it_stops_when_the_time_is_over_and_keeps_what_it_has(self, tmp_path: Path) -> None:
        rows = {b"%04d" % number: frame_id(1, b"x") for number in range(2_500)}
        write_database(tmp_path / "db", {PLAIN: rows})
        found = count_row_ids(tmp_path / "db", give_up_at=time.monotonic())
        assert (found.stopped, found.is_damaged) == ("the time for it (--deadline) was over", False)
        assert 1_000 <= found.rows < len(rows)

    def test_nothing_in_the_directory_changes(self, tmp_path: Path) -> None:
        write_database(tmp_path / "db", {PLAIN: {b"a": frame_id(1, b"x")}})
        before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in (tmp_path / "db").iterdir()}
        count_row_ids(tmp_path / "db")
        assert {p.name: (p.stat().st_mtime_ns, p.read_bytes()) for p in (tmp_path / "db").iterdir()} == before

    def test_without_the_library_it_says_what_to_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_database(tmp_path / "db", {PLAIN: {b"a": frame_id(1, b"x")}})
        monkeypatch.setitem(sys.modules, "rocksdict", None)
        with pytest.raises(
            LibraryMissingError, match=r"^reading RocksDB needs the package rocksdict; install it with: "
        ):
            count_row_ids(tmp_path / "db")


class TestDamage:
    """What precedes damage is kept, and the reason names the file."""

    @pytest.fixture
    def database(self, tmp_path: Path) -> Path:
        rows = {b"%06d" % number: TS + frame_id(1, b"x" * 40) for number in range(5_000)}
        write_database(tmp_path / "db", {TIMESTAMPED: rows})
        return tmp_path / "db"

    def table(self, database: Path) -> Path:
        (found,) = database.glob("*.sst")
        return found

    def test_a_flipped_byte_ends_the_read_where_it_is(self, database: Path) -> None:
        table = self.table(database)
        content = bytearray(table.read_bytes())
        content[len(content) // 2] ^= 1
        table.write_bytes(content)
        found = count_row_ids(database)
        assert found.is_damaged
        assert found.stopped is not None
        assert found.stopped.startswith(f"{database} cannot be read as a RocksDB: Corruption: block checksum mismatch")
        assert f"in {table}" in found.stopped
        assert 2_000 < found.rows < 3_000
        assert found.schema_ids[Role.VALUE] == {1: found.rows}

    def test_a_column_family_that_is_damaged_is_not_taken_for_a_shorter_one(self, database: Path) -> None:
        table = self.table(database)
        content = bytearray(table.read_bytes())
        content[len(content) // 2] ^= 1
        table.write_bytes(content)
        with pytest.raises(StateDirectoryError, match="block checksum mismatch"):
            read_column_family(database, TIMESTAMPED)

    def test_a_truncated_table_is_damage(self, database: Path) -> None:
        table = self.table(database)
        table.write_bytes(table.read_bytes()[:10_000])
        found = count_row_ids(database)
        assert (found.rows, found.is_damaged) == (0, True)
        assert found.stopped is not None
        assert f"Sst file size mismatch: {table}" in found.stopped

    @pytest.mark.parametrize("pattern", ["MANIFEST-*", "*.sst"])
    def test_a_missing_file_is_damage_that_names_it(self, database: Path, pattern: str) -> None:
        (missing,) = database.glob(pattern)
        missing.unlink()
        found = count_row_ids(database)
        assert (found.rows, found.is_damaged) == (0, True)
        assert found.stopped is not None
        assert str(missing) in found.stopped

    def test_a_directory_without_a_database_is_no_rocksdb(self, tmp_path: Path) -> None:
        found = count_row_ids(tmp_path)
        assert found.stopped == f"{tmp_path} is no RocksDB: there is no file CURRENT in it"

    def test_a_row_of_another_form_ends_the_read(self, tmp_path: Path) -> None:
        rows = {b"a": TS + frame_id(1, b"x"), b"b": b"short", b"c": TS + frame_id(1, b"x")}
        write_database(tmp_path / "db", {TIMESTAMPED: rows})
        found = count_row_ids(tmp_path / "db")
        assert (found.rows, found.is_damaged) == (1, True)
        assert found.stopped == (
            f"{tmp_path}/db, column family keyValueWithTimestamp: a value has 5 bytes, and its timestamp alone needs 8. It is "
            "damaged, or not written by Kafka Streams"
        )

    def test_other_databases_are_not_concerned(self, database: Path, tmp_path: Path) -> None:
        shutil.copytree(database, tmp_path / "other")
        self.table(database).unlink()
        assert count_row_ids(tmp_path / "other").rows == 5_000

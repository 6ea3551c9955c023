"""RocksDB's LOG files: what is in them, and what hurts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocksdict import Options, Rdict

from srfix.recovery.state_report import log_that_hurts, parse_log, read_logs

CREATED = (
    '2026/11/21-09:08:12.5 7f EVENT_LOG_v1 {"time_micros": 1, "job": 2, "event": "table_file_creation", "file_number": %d, '
    '"table_properties": {"num_entries": 10, "num_deletions": %d}}'
)


class TestParseLog:
    def test_it_counts_stalls_by_their_cause(self) -> None:
        log = parse_log(
            [
                "x [WARN] [default] Stalling writes because we have 4 level-0 files rate 16777216",
                "x [WARN] [default] Stalling writes because we have 20 level-0 files rate 16777216",
                "x [WARN] [default] Stopping writes because we have 2 immutable memtables (waiting for flush)",
            ]
        )
        assert log.stalls == {"stalling: level-0 files": 2, "stopping: immutable memtables": 1}
        assert log.most_level_0_files == 20

    def test_tables_have_their_tombstones(self) -> None:
        log = parse_log([CREATED % (7, 9), 'x EVENT_LOG_v1 {"event": "flush_started"}', "x EVENT_LOG_v1 {"])
        assert log.tombstones == {7: (10, 9)}

    @given(st.lists(st.text()))
    def test_any_lines_are_passed_over(self, lines: list[str]) -> None:
        log_that_hurts(parse_log(lines), ())


class TestLogThatHurts:
    def test_only_tables_that_are_there_count(self) -> None:
        log = parse_log([CREATED % (7, 9), CREATED % (8, 0)])
        assert log_that_hurts(log, (8,)) == ()
        assert log_that_hurts(log, (7,)) == (
            "9 of 10 entries in its tables are tombstones: iterating and ranges walk over them all.",
        )

    def test_errors_are_quoted(self) -> None:
        log = parse_log(["x [ERROR] Corruption: block checksum mismatch"])
        assert log_that_hurts(log, ()) == ("RocksDB logged: x [ERROR] Corruption: block checksum mismatch",)


class TestRealLogs:
    @pytest.mark.parametrize("streams", ["2.6.3", "3.9.2", "4.3.1"])
    def test_streams_logs_errors_alone_so_a_good_run_tells_nothing(self, streams: str) -> None:
        log = read_logs(Path(__file__).parent / "data" / streams)
        assert log is not None
        assert (log.stalls, log.most_level_0_files, log.errors, log.tombstones) == ({}, 0, (), {})

    def test_what_rocksdb_itself_writes_is_read(self, tmp_path: Path) -> None:
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_level_zero_file_num_compaction_trigger(4)
        options.set_level_zero_slowdown_writes_trigger(4)
        options.set_level_zero_stop_writes_trigger(40)
        database = Rdict(str(tmp_path / "db"), options)
        for table in range(8):
            for number in range(50):
                database[b"%d-%d" % (table % 2, number)] = b"v" * 100
            for number in range(40):
                del database[b"%d-%d" % (table % 2, number)]
            database.flush()
        database.close()
        log = read_logs(tmp_path / "db")
        assert log is not None
        assert set(log.stalls) == {"stalling: level-0 files"}
        assert log.most_level_0_files >= 4
        assert list(log.tombstones.values()).count((50, 40)) == 8, "one table for each flush"
        said = log_that_hurts(log, log.tombstones)
        assert any("are tombstones: iterating and ranges walk over them all" in each for each in said)

    def test_an_error_that_rocksdb_itself_writes_is_quoted(self, tmp_path: Path) -> None:
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        database = Rdict(str(tmp_path / "db"), options)
        database[b"a"] = b"b" * 100
        database.flush()
        database.close()
        for table in (tmp_path / "db").glob("*.sst"):
            table.write_bytes(table.read_bytes()[:-30])
        with pytest.raises(Exception, match="Corruption"):
            Rdict(str(tmp_path / "db"), options)
        log = read_logs(tmp_path / "db")
        assert log is not None
        assert log.errors


class TestReadLogs:
    def test_old_ones_are_read_too(self, tmp_path: Path) -> None:
        (tmp_path / "LOG.old.1").write_text(CREATED % (7, 9))
        (tmp_path / "LOG").write_text(CREATED % (8, 1))
        log = read_logs(tmp_path)
        assert log is not None
        assert set(log.tombstones) == {7, 8}

    def test_there_may_be_none(self, tmp_path: Path) -> None:
        assert read_logs(tmp_path) is None

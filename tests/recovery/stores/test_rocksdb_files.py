"""RocksDB's OPTIONS and LOG files: what is in them, and what hurts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocksdict import DBCompactionStyle, DBCompressionType, Options, Rdict

from srfix.recovery.stores.listing import streams_by_rocksdb
from srfix.recovery.stores.rocksdb_files import (
    log_that_hurts,
    newest_options,
    options_that_hurt,
    parse_log,
    parse_options,
    read_logs,
)

DATA = Path(__file__).parent / "data"
"""What Kafka Streams of three generations left beside a table: OPTIONS of 5.18.4, 7.9.2 and 10.1.3, and their LOG."""
OF_STREAMS = (DATA / "2.6.3" / "OPTIONS-000010").read_text()
CREATED = (
    '2026/11/21-09:08:12.5 7f EVENT_LOG_v1 {"time_micros": 1, "job": 2, "event": "table_file_creation", "file_number": %d, '
    '"table_properties": {"num_entries": 10, "num_deletions": %d}}'
)


def database_options() -> Options:
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    return options


class TestOptions:
    @pytest.mark.parametrize(
        ("streams", "rocksdb", "families"),
        [
            ("2.6.3", "5.18.4", {"default", "keyValueWithTimestamp"}),
            ("3.9.2", "7.9.2", {"default", "keyValueWithTimestamp"}),
            ("4.3.1", "10.1.3", {"default", "keyValueWithTimestamp", "offsets"}),
        ],
    )
    def test_those_of_streams_are_read_whole_and_do_not_hurt(
        self, streams: str, rocksdb: str, families: set[str]
    ) -> None:
        options = newest_options(DATA / streams)
        assert options is not None
        assert (options.rocksdb_version, set(options.families)) == (rocksdb, families)
        assert (options.compressions, options.compactions) == (("none",), ("universal",))
        assert options.logs_errors_alone
        assert options.database["max_open_files"] == "-1"
        for family in ("default", "keyValueWithTimestamp"):
            of = options.families[family]
            assert (of["write_buffer_size"], of["max_write_buffer_number"]) == ("16777216", "3")
            assert (of["table.block_size"], of["table.no_block_cache"]) == ("4096", "false")
        assert options_that_hurt(options) == ()

    def test_what_a_config_setter_changed_is_told(self, tmp_path: Path) -> None:
        changed = database_options()
        changed.set_compression_type(DBCompressionType.lz4())
        changed.set_compaction_style(DBCompactionStyle.fifo())
        changed.set_disable_auto_compactions(True)
        Rdict(str(tmp_path / "db"), changed).close()
        options = newest_options(tmp_path / "db")
        assert options is not None
        assert (options.compressions, options.compactions, options.logs_errors_alone) == (("lz4",), ("fifo",), False)
        assert len(options_that_hurt(options)) == 2

    @pytest.mark.parametrize(
        ("before", "after", "said"),
        [
            ("disable_auto_compactions=false", "disable_auto_compactions=true", "compaction is switched off"),
            ("kCompactionStyleUniversal", "kCompactionStyleNone", "there is no compaction"),
            ("kCompactionStyleUniversal", "kCompactionStyleFIFO", "deletes the oldest files"),
            ("no_block_cache=false", "no_block_cache=true", "no block cache"),
            ("write_buffer_size=16777216", "write_buffer_size=4096", "4,096 bytes"),
            ("max_write_buffer_number=3", "max_write_buffer_number=1", "one memtable"),
            ("max_open_files=-1", "max_open_files=20", "max_open_files is 20"),
        ],
    )
    def test_each_that_hurts_is_said(self, before: str, after: str, said: str) -> None:
        assert said in options_that_hurt(parse_options(OF_STREAMS.replace(before, after)))[0]

    def test_the_highest_number_counts_and_there_may_be_none(self, tmp_path: Path) -> None:
        (tmp_path / "OPTIONS-000009").write_text(OF_STREAMS.replace("5.18.4", "5.18.3"))
        (tmp_path / "OPTIONS-000010").write_text(OF_STREAMS)
        found = newest_options(tmp_path)
        assert found is not None
        assert found.rocksdb_version == "5.18.4"
        assert newest_options(tmp_path / "nothing") is None

    @pytest.mark.parametrize(
        ("version", "streams"), [("5.18.4", "Streams 2.6 to 2.8"), ("6.22.1.1", "Streams 3.1"), ("8.0.0", None)]
    )
    def test_a_rocksdb_comes_with_some_streams(self, version: str, streams: str | None) -> None:
        assert streams_by_rocksdb(version) == streams


@given(st.lists(st.text()))
def test_any_text_is_passed_over(lines: list[str]) -> None:
    log_that_hurts(parse_log(lines), ())
    options_that_hurt(parse_options("\n".join(lines)))


class TestLog:
    def test_it_counts_stalls_by_their_cause_and_the_tombstones_of_tables(self) -> None:
        lines = [
            "x [WARN] [default] Stalling writes because we have 4 level-0 files rate 16777216",
            "x [WARN] [default] Stalling writes because we have 20 level-0 files rate 16777216",
            "x [WARN] [default] Stopping writes because we have 2 immutable memtables (waiting for flush)",
        ]
        log = parse_log([*lines, CREATED % (7, 9), 'x EVENT_LOG_v1 {"event": "flush_started"}', "x EVENT_LOG_v1 {"])
        assert log.stalls == {"stalling: level-0 files": 2, "stopping: immutable memtables": 1}
        assert (log.most_level_0_files, log.tombstones) == (20, {7: (10, 9)})

    def test_only_tables_that_are_there_count(self) -> None:
        log = parse_log([CREATED % (7, 9), CREATED % (8, 0)])
        assert log_that_hurts(log, (8,)) == ()
        (said,) = log_that_hurts(log, (7,))
        assert "9 of 10 entries in its tables are tombstones" in said

    @pytest.mark.parametrize("streams", ["2.6.3", "3.9.2", "4.3.1"])
    def test_streams_logs_errors_alone_so_a_good_run_tells_nothing(self, streams: str) -> None:
        log = read_logs(DATA / streams)
        assert log is not None
        assert (log.stalls, log.most_level_0_files, log.errors, log.tombstones) == ({}, 0, (), {})

    def test_what_rocksdb_itself_writes_is_read(self, tmp_path: Path) -> None:
        options = database_options()
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

    def test_an_error_that_rocksdb_itself_writes_is_quoted(self, tmp_path: Path) -> None:
        database = Rdict(str(tmp_path / "db"), database_options())
        database[b"a"] = b"b" * 100
        database.flush()
        database.close()
        for table in (tmp_path / "db").glob("*.sst"):
            table.write_bytes(table.read_bytes()[:-30])
        with pytest.raises(Exception, match="Corruption"):
            Rdict(str(tmp_path / "db"), database_options())
        log = read_logs(tmp_path / "db")
        assert log is not None
        assert log.errors
        assert any(log.errors[0] in said for said in log_that_hurts(log, ()))

    def test_old_ones_are_read_too_and_there_may_be_none(self, tmp_path: Path) -> None:
        assert read_logs(tmp_path) is None
        (tmp_path / "LOG.old.1").write_text(CREATED % (7, 9))
        (tmp_path / "LOG").write_text(CREATED % (8, 1))
        log = read_logs(tmp_path)
        assert log is not None
        assert set(log.tombstones) == {7, 8}

"""RocksDB's OPTIONS files: what is in them, and what hurts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rocksdict import DBCompactionStyle, DBCompressionType, Options, Rdict

from srfix.recovery.state_report import newest_options, options_that_hurt, parse_options
from srfix.recovery.state_report.generations import streams_by_rocksdb

OF_STREAMS = """\
# This is a RocksDB option file.
[Version]
  rocksdb_version=5.18.4
  options_file_version=1.1

[DBOptions]
  max_open_files=-1
  unordered_write=false

[CFOptions "default"]
  compression=kNoCompression
  compaction_style=kCompactionStyleUniversal
  write_buffer_size=16777216
  max_write_buffer_number=3
  disable_auto_compactions=false

[TableOptions/BlockBasedTable "default"]
  no_block_cache=false
  block_size=4096

[CFOptions "keyValueWithTimestamp"]
  compaction_style=kCompactionStyleUniversal
"""


DATA = Path(__file__).parent / "data"
"""What Kafka Streams of three generations left beside a table: OPTIONS of 5.18.4, 7.9.2 and 10.1.3, and their LOG."""


class TestRealOptions:
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
        assert (options.compressions, options.compactions, options.logs_errors_alone) == (
            ("none",),
            ("universal",),
            True,
        )
        for family in ("default", "keyValueWithTimestamp"):
            of = options.families[family]
            assert (of["write_buffer_size"], of["max_write_buffer_number"]) == ("16777216", "3")
            assert (of["table.block_size"], of["table.no_block_cache"]) == ("4096", "false")
        assert options_that_hurt(options) == ()

    def test_what_a_config_setter_changed_is_told(self, tmp_path: Path) -> None:
        told = Options(raw_mode=True)
        told.create_if_missing(True)
        told.set_compression_type(DBCompressionType.lz4())
        told.set_compaction_style(DBCompactionStyle.fifo())
        told.set_disable_auto_compactions(True)
        Rdict(str(tmp_path / "db"), told).close()
        options = newest_options(tmp_path / "db")
        assert options is not None
        assert (options.compressions, options.compactions, options.logs_errors_alone) == (("lz4",), ("fifo",), False)
        assert len(options_that_hurt(options)) == 2


class TestParseOptions:
    def test_it_has_the_version_and_the_options_by_family(self) -> None:
        options = parse_options(OF_STREAMS)
        assert options.rocksdb_version == "5.18.4"
        assert options.database["max_open_files"] == "-1"
        assert set(options.families) == {"default", "keyValueWithTimestamp"}
        assert options.families["default"]["table.block_size"] == "4096"

    @given(st.text())
    def test_any_text_is_passed_over(self, text: str) -> None:
        options_that_hurt(parse_options(text))


class TestOptionsThatHurt:
    def test_those_of_streams_do_not(self) -> None:
        assert options_that_hurt(parse_options(OF_STREAMS)) == ()

    @pytest.mark.parametrize(
        ("before", "after", "said"),
        [
            ("disable_auto_compactions=false", "disable_auto_compactions=true", "compaction is switched off"),
            ("kCompactionStyleUniversal", "kCompactionStyleNone", "there is no compaction"),
            ("kCompactionStyleUniversal", "kCompactionStyleFIFO", "it deletes the oldest files"),
            ("no_block_cache=false", "no_block_cache=true", "no block cache"),
            ("write_buffer_size=16777216", "write_buffer_size=4096", "memtables have 4,096 bytes"),
            ("max_write_buffer_number=3", "max_write_buffer_number=1", "there is one memtable"),
            ("max_open_files=-1", "max_open_files=20", "max_open_files is 20"),
        ],
    )
    def test_each_is_said(self, before: str, after: str, said: str) -> None:
        assert said in options_that_hurt(parse_options(OF_STREAMS.replace(before, after)))[0]


class TestNewestOptions:
    def test_the_highest_number_counts(self, tmp_path: Path) -> None:
        (tmp_path / "OPTIONS-000009").write_text(OF_STREAMS.replace("5.18.4", "5.18.3"))
        (tmp_path / "OPTIONS-000010").write_text(OF_STREAMS)
        found = newest_options(tmp_path)
        assert found is not None
        assert found.rocksdb_version == "5.18.4"

    def test_there_may_be_none(self, tmp_path: Path) -> None:
        assert newest_options(tmp_path) is None
        assert newest_options(tmp_path / "nothing") is None


@pytest.mark.parametrize(
    ("version", "streams"), [("5.18.4", "Streams 2.6 to 2.8"), ("6.22.1.1", "Streams 3.1"), ("8.0.0", None)]
)
def test_a_rocksdb_comes_with_some_streams(version: str, streams: str | None) -> None:
    assert streams_by_rocksdb(version) == streams

"""The offsets that a store of Streams 4.3 and later keeps itself, in a real RocksDB of 4.3.1 too."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import pytest

from srfix.recovery import LibraryMissingError, StateDirectoryError
from srfix.recovery.state.checkpoints import OFFSETS_COLUMN_FAMILY, decode_position, parse_offsets
from srfix.recovery.state.rocksdb import linked_view, opened, read_column_family
from tests.recovery.state.test_checkpoints import entry

APPLICATION = Path(__file__).parent / "data/4.3.1/x3bc6f6-app"
TABLE = APPLICATION / "1_0/rocksdb/ts"
POSITION = bytes.fromhex("000000000100000005757365727300000001000000000000000000000029") + bytes(175)
"""The golden vector: users-0=41, padded to 205 bytes."""


def packed(position: dict[str, dict[int, int]]) -> bytes:
    out = struct.pack(">bi", 0, len(position))
    for topic, pairs in position.items():
        name = topic.encode()
        out += struct.pack(f">i{len(name)}si", len(name), name, len(pairs))
        out += b"".join(struct.pack(">iq", *pair) for pair in pairs.items())
    return out


def snapshot(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


class TestParseOffsets:
    def test_a_real_store_names_the_source_topic_that_it_restores_from(self) -> None:
        rows = read_column_family(TABLE, OFFSETS_COLUMN_FAMILY)
        assert rows is not None
        offsets = parse_offsets(rows, path="p")
        assert offsets.entries == (entry("x3bc6f6-ts", 0, 1),)
        assert offsets.position == (entry("x3bc6f6-ts", 0, 1),)
        assert not offsets.is_open

    def test_a_real_global_store_has_no_position(self) -> None:
        rows = read_column_family(APPLICATION / "global/rocksdb/glob", OFFSETS_COLUMN_FAMILY)
        assert rows is not None
        assert parse_offsets(rows, path="p").position is None

    def test_a_row_says_topic_partition_and_offset_and_whether_the_store_is_open(self) -> None:
        rows = {b"orders-2024-7": bytes(7) + b"\x05", b"t-0": struct.pack(">q", -4)}
        offsets = parse_offsets(rows, path="p")
        assert offsets.entries == (entry("orders-2024", 7, 5), entry("t", 0, None))
        assert not offsets.is_open
        assert parse_offsets({b"status": bytes(7) + b"\x01"}, path="p").is_open

    def test_one_with_rows_and_no_topic_to_restore_from_logs_nothing(self) -> None:
        rows = {b"position": packed({"users": {0: 0}}), b"status": bytes(8)}
        assert parse_offsets(rows, path="p").restores_from_nowhere
        still_open = rows | {b"status": (1).to_bytes(8, "big")}
        without_rows = rows | {b"position": packed({})}
        for told_of_nothing in (still_open, without_rows, rows | {b"users-0": bytes(8)}):
            assert not parse_offsets(told_of_nothing, path="p").restores_from_nowhere

    @pytest.mark.parametrize(
        ("rows", "problem"),
        [
            ({b"t-0": b"1"}, "b't-0' has 1 byte instead of 8"),
            ({b"t": bytes(8)}, "b't' is not named <topic>-<partition>"),
            ({b"t-0": struct.pack(">q", -1)}, "offset -1 of b't-0' is negative"),
            ({b"position": b"\x01"}, "version 1 instead of 0"),
            ({b"position": b""}, "position is empty"),
        ],
    )
    def test_another_form_is_an_error_that_names_the_store(self, rows: dict[bytes, bytes], problem: str) -> None:
        with pytest.raises(StateDirectoryError, match=rf"^D/0_0/s, column family offsets: .*{re.escape(problem)}"):
            parse_offsets(rows, path="D/0_0/s")


def test_the_padding_behind_the_counts_of_a_position_is_ignored() -> None:
    assert decode_position(POSITION) == (entry("users", 0, 41),)


class TestReadColumnFamily:
    def test_every_column_family_is_seen_and_the_original_keeps_every_byte_and_gets_no_file(self) -> None:
        before = snapshot(TABLE)
        with opened(TABLE) as database:
            assert database.families == {"default", "keyValueWithTimestamp", "offsets"}
        assert read_column_family(TABLE, OFFSETS_COLUMN_FAMILY) is not None
        assert read_column_family(TABLE, "nosuch") is None
        assert snapshot(TABLE) == before

    def test_nothing_is_left_of_the_view(self) -> None:
        with linked_view(TABLE) as view:
            assert (view / "CURRENT").exists()
        assert not view.exists()

    def test_what_is_no_database_is_an_error_and_not_created(self, tmp_path: Path) -> None:
        with pytest.raises(StateDirectoryError, match=r"is not a RocksDB database: it has no file CURRENT"):
            read_column_family(tmp_path, OFFSETS_COLUMN_FAMILY)
        assert list(tmp_path.iterdir()) == []

    def test_a_damaged_database_is_an_error_with_what_rocksdb_says(self, tmp_path: Path) -> None:
        (tmp_path / "CURRENT").write_text("MANIFEST-000001\n")
        with pytest.raises(StateDirectoryError, match=rf"cannot be read as a RocksDB: .*{tmp_path}/MANIFEST-000001"):
            read_column_family(tmp_path, OFFSETS_COLUMN_FAMILY)

    def test_without_the_library_the_error_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "rocksdict", None)
        with pytest.raises(LibraryMissingError, match=r"pip install 'srfix\[state\]'$"):
            read_column_family(TABLE, OFFSETS_COLUMN_FAMILY)

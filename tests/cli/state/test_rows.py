"""`srfix state get`, `scan`, `export`, `size` and `where` on directories that real Kafka Streams left."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.state.formats.values import PLAIN
from srfix.recovery.state.layouts import StoreFormat
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import srfix
from tests.recovery.state.reading.test_batches import Database, opened

KINDS = Path(__file__).parents[2] / "recovery" / "state" / "data" / "kinds"
OLD = str(KINDS / "2.6.3" / "state")
NEW = str(KINDS / "4.3.1" / "state")
LONG = ("--value-format", "kafka", "--value-columns", "N BIGINT")
TS = 1795252020000


def lines(*arguments: str, code: int = 0) -> list[Any]:
    done = srfix("state", *arguments, "--output", "json")
    assert done.returncode == code, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def keys(rows: list[Any]) -> list[str]:
    return [row["key"]["text"] for row in rows]


class TestGet:
    @pytest.mark.parametrize("directory", [OLD, NEW])
    def test_it_prints_the_row_with_its_timestamp_split_off(self, directory: str) -> None:
        (row,) = lines("get", directory, "t1", "--store", "ts")
        assert (row["value"]["text"], row["timestamp"], row["task"]) == ("tv1", TS, "1_0")

    def test_each_half_may_be_delimited_by_a_character_of_its_own(self) -> None:
        key = ("--key-format", "delimited", "--key-columns", "K STRING, N INT", "--key-delimiter", "t")
        value = ("--value-format", "delimited", "--value-columns", "V STRING, N INT", "--value-delimiter", "v")
        (row,) = lines("get", NEW, "t1", "--store", "ts", *key, *value)
        assert (row["key"], row["value"]) == ({"K": None, "N": 1}, {"V": "t", "N": 1})
        (row,) = lines("get", NEW, "t1", "--store", "ts", "--key-format", "none")
        assert row["key"] is None

    def test_a_windowed_key_has_a_row_for_each_window(self) -> None:
        rows = lines("get", OLD, "e1", "--store", "win", *LONG)
        assert [(row["window"]["start_ms"], row["value"]) for row in rows] == [(TS, {"N": 2}), (TS + 60_000, {"N": 1})]

    def test_a_key_that_is_none_is_refused(self) -> None:
        done = srfix("state", "get", OLD, "long:x", "--store", "ts")
        assert done.returncode == 2
        assert "write text:long:x" in done.stderr

    def test_the_bytes_that_were_looked_for_are_said(self) -> None:
        done = srfix("state", "get", OLD, "nobody", "--store", "ts")
        assert (done.returncode, done.stdout) == (1, "There is no row.\n")
        assert (
            "srfix looked for the bytes 0x6e6f626f6479. If the stored keys begin with a schema id, write hex:"
            in done.stderr
        )

    def test_bytes_as_srfix_prints_them_are_a_text_which_is_said(self) -> None:
        done = srfix("state", "get", OLD, "0x7431", "--store", "ts")
        assert (done.returncode, done.stdout) == (1, "There is no row.\n")
        assert "srfix took '0x7431' as a text. For the bytes, write hex:0x7431." in done.stderr
        assert srfix("state", "get", OLD, "hex:0x7431", "--store", "ts").returncode == 0

    def test_a_store_that_cannot_be_read_is_not_said_to_be_without_the_row(self, tmp_path: Path) -> None:
        shutil.copytree(OLD, tmp_path / "app")
        for table in (tmp_path / "app" / "1_0" / "rocksdb" / "ts").glob("*.sst"):
            table.unlink()
        done = srfix("state", "get", str(tmp_path), "t1", "--store", "ts")
        assert (done.returncode, done.stdout) == (
            1,
            "srfix found no row in the part that it could read; the store is damaged.\n",
        )


class TestTypedKeys:
    """A key as its reader sees it, whichever id it was written under."""

    SCHEMA: Final = '{"type":"record","name":"K","fields":[{"name":"%s","type":"long"}]}'

    @pytest.fixture
    def where(self, tmp_path: Path) -> Iterator[tuple[str, ...]]:
        with FixtureRegistry() as registry:
            first, second = (registry.seed("users-key", self.SCHEMA % name) for name in ("id", "ID"))
            keys = {
                frame_id(first, b"\x08"): b"a",
                frame_id(second, b"\x08"): b"b",
                frame_id(first, b"\x0a"): b"c",
                b"4": b"d",
            }
            opened(tmp_path, StoreFormat.PLAIN_KV, [Database(0, {PLAIN: keys})])
            yield str(tmp_path), "--store", "users", "--registry", registry.url

    def get(self, key: str, *arguments: str, code: int = 0) -> list[str]:
        directory, *where = arguments
        done = srfix("state", "get", directory, key, *where, "--output", "json")
        assert done.returncode == code, done.stderr
        return sorted(json.loads(line)["value"]["text"] for line in done.stdout.splitlines())

    def test_it_may_be_a_row_or_the_value_of_its_one_column(self, where: tuple[str, ...]) -> None:
        assert self.get('{"id": 4}', *where, "--key-format", "avro") == ["a"]
        assert self.get('{"ID": 4}', *where, "--key-format", "schema") == ["b"]
        assert self.get("5", *where, "--key-format", "avro") == ["c"]
        both = ["a", "b", "d"]  # and the key of the one byte "4", which is no Avro
        assert self.get("4", *where, "--key-format", "avro", code=1) == both
        assert self.get('{"id": 6}', *where, "--key-format", "avro", code=1) == []

    def test_bytes_are_still_bytes(self, where: tuple[str, ...]) -> None:
        assert self.get("4", *where) == ["d"]
        assert self.get("hex:000000000108", *where, "--key-format", "avro") == ["a"]


class TestScan:
    def test_it_is_bounded_by_keys_windows_and_a_limit(self) -> None:
        assert keys(lines("scan", OLD, "--store", "ts")) == ["t1", "t2"]
        assert keys(lines("scan", OLD, "--store", "ts", "--from", "t2")) == ["t2"]
        assert keys(lines("scan", OLD, "--store", "ts", "--to", "t1")) == ["t1"]
        assert keys(lines("scan", OLD, "--store", "ts", "--prefix", "t", "--limit", "1")) == ["t1"]
        assert keys(lines("scan", OLD, "--store", "ts", "--prefix", "x")) == []
        later = lines("scan", OLD, "--store", "win", "--window-from", str(TS + 1))
        assert {row["window"]["start_ms"] for row in later} == {TS + 60_000}
        earlier = lines("scan", OLD, "--store", "win", "--window-to", str(TS))
        assert {row["window"]["start_ms"] for row in earlier} == {TS}

    @pytest.mark.parametrize(
        ("store", "bounds", "said"),
        [
            ("ts", ("--from", "int:-1", "--to", "int:9"), "--from is above --to. Keys are compared by their bytes"),
            ("ts", ("--window-to", "1"), "The store ts (timestamped-kv) has no windows: leave out --window-from"),
            ("win", ("--window-from", "2", "--window-to", "1"), "--window-from is above --window-to: swap them."),
        ],
    )
    def test_a_range_that_no_row_can_be_in_is_refused(self, store: str, bounds: tuple[str, ...], said: str) -> None:
        done = srfix("state", "scan", OLD, "--store", store, *bounds)
        assert (done.returncode, said in " ".join(done.stderr.split())) == (2, True), done.stderr

    def test_a_session_may_begin_before_the_one_time_and_end_after_the_other(self) -> None:
        rows = lines("scan", OLD, "--store", "sess", "--window-from", str(TS + 2), "--window-to", str(TS + 1))
        assert (rows[0]["window"]["start_ms"], rows[0]["window"]["end_ms"]) == (TS, TS + 1000)

    def test_what_is_beyond_the_retention_is_marked(self) -> None:
        for retention, marks in ((60_000, {TS: True, TS + 60_000: False}), (60_001, {TS: False, TS + 60_000: False})):
            rows = lines("scan", OLD, "--store", "win", "--retention-ms", str(retention))
            assert {row["window"]["start_ms"]: row["is_beyond_retention"] for row in rows} == marks
        assert "is_beyond_retention" not in lines("scan", OLD, "--store", "win")[0]
        (first, *_) = lines("get", OLD, "t1", "--store", "ts", "--retention-ms", "1")
        assert first["is_beyond_retention"] is None
        table = srfix("state", "scan", OLD, "--store", "sess", "--retention-ms", "1").stdout
        assert ("beyond retention" in table, " yes" in table, " no" in table) == (True, True, True)

    def test_a_session_has_its_end(self) -> None:
        first = lines("scan", OLD, "--store", "sess")[0]
        assert (first["window"]["start_ms"], first["window"]["end_ms"]) == (TS, TS + 1000)

    def test_a_version_has_its_time(self) -> None:
        rows = lines("scan", NEW, "--store", "ver")
        assert rows[0]["valid_from_ms"] is not None
        assert any(row["valid_to_ms"] is not None for row in rows)

    @pytest.mark.parametrize("option", ["--key-columns", "--value-columns"])
    def test_columns_that_cannot_be_read_are_named_by_their_option(self, option: str) -> None:
        done = srfix("state", "scan", OLD, "--store", "win", option, "ID")
        assert (done.returncode, f'"{option}" cannot be read' in done.stderr) == (2, True)

    def test_what_is_not_decoded_is_a_finding(self) -> None:
        with FixtureRegistry() as registry:
            rows = lines("scan", OLD, "--store", "ts", "--value-format", "schema", "--registry", registry.url, code=1)
        assert [error["role"] for row in rows for error in row["errors"]] == ["value", "value"]

    def test_damage_is_named_and_the_directory_stays_as_it_is(self, tmp_path: Path) -> None:
        shutil.copytree(OLD, tmp_path / "app")
        store = tmp_path / "app" / "1_0" / "rocksdb" / "ts"
        (table,) = store.glob("*.sst")
        table.write_bytes(table.read_bytes()[:-10])
        before = {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}
        done = srfix("state", "scan", str(tmp_path), "--store", "ts")
        assert done.returncode == 1
        assert "Damaged: store ts of task 1_0" in done.stderr
        assert {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))} == before


class TestExport:
    def test_parquet_and_arrow_hold_bytes_and_decoded_values(self, tmp_path: Path) -> None:
        for form in ("parquet", "arrow"):
            done = srfix("state", "export", OLD, "--store", "win", "--to", form, "--out", str(tmp_path), *LONG)
            assert (done.returncode, done.stdout) == (0, f"{tmp_path / 'win-3_0'}.{form}\n"), done.stderr
        rows = pq.ParquetFile(tmp_path / "win-3_0.parquet").read().to_pylist()
        first = next(row for row in rows if row["key"] == b"e1")
        assert (first["value"], first["value_json"], first["window_start_ms"]) == (bytes(7) + b"\2", '{"N": 2}', TS)
        with pa.ipc.open_file(str(tmp_path / "win-3_0.arrow")) as file:
            assert file.read_all().to_pylist() == rows

    @pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "jsonl"])
    def test_what_is_beyond_the_retention_is_marked(self, form: str, tmp_path: Path) -> None:
        where = ("--store", "win", "--to", form, "--out", str(tmp_path), "--retention-ms", "60000")
        done = srfix("state", "export", OLD, *where)
        assert done.returncode == 0, done.stderr
        path = tmp_path / f"win-3_0.{form}"
        if form in {"csv", "jsonl"}:
            lines = path.read_text().splitlines()
            rows: list[Any] = list(csv.DictReader(lines)) if form == "csv" else list(map(json.loads, lines))
            found = {str(row.get("window_start_ms") or row["window"]["start_ms"]): row for row in rows}
        else:
            table = pq.ParquetFile(path).read() if form == "parquet" else pa.ipc.open_file(str(path)).read_all()
            found = {str(row["window_start_ms"]): row for row in table.to_pylist()}
        marks = {start: str(row["is_beyond_retention"]) for start, row in found.items()}
        assert marks == {str(TS): "True", str(TS + 60_000): "False"}

    def test_csv_and_json_lines_in_one_file(self, tmp_path: Path) -> None:
        for form in ("csv", "jsonl"):
            where = ("--out", str(tmp_path), "--one-file")
            assert srfix("state", "export", OLD, "--store", "ts", "--to", form, *where).returncode == 0
        rows = list(csv.DictReader((tmp_path / "ts.csv").read_text().splitlines()))
        assert [(row["key"], row["value"]) for row in rows] == [("7431", b"tv1".hex()), ("7432", b"tv2".hex())]
        assert keys([json.loads(line) for line in (tmp_path / "ts.jsonl").read_text().splitlines()]) == ["t1", "t2"]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["ts.csv", "ts.jsonl"]

    def test_in_csv_null_is_nothing_and_what_is_empty_a_pair_of_quotes(self, tmp_path: Path) -> None:
        state, out = tmp_path / "state", tmp_path / "out"
        opened(state, StoreFormat.PLAIN_KV, [Database(0, {PLAIN: {b"": b"x", b"k": b""}})])
        assert srfix("state", "export", str(state), "--to", "csv", "--out", str(out)).returncode == 0
        head, *lines = (out / "users-0_0.csv").read_text().splitlines()
        assert head.startswith('"task","partition","key","value","timestamp_ms"')
        assert [line.split(",")[:5] for line in lines] == [
            ['"0_0"', "0", '""', '"78"', ""],
            ['"0_0"', "0", '"6b"', '""', ""],
        ]

    @pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
    def test_a_row_that_cannot_be_decoded_is_there_in_bytes(self, tmp_path: Path, form: str) -> None:
        where = ("--store", "ts", "--to", form, "--out", str(tmp_path), "--value-format", "json")
        done = srfix("state", "export", OLD, *where)
        assert done.returncode == 1
        assert "2 rows in 1 file, 2 of them not decoded." in done.stderr
        if form == "parquet":
            rows = pq.ParquetFile(tmp_path / "ts-1_0.parquet").read().to_pylist()
            assert [(row["value"], row["value_json"]) for row in rows] == [(b"tv1", None), (b"tv2", None)]

    def test_typed_columns_hold_what_the_json_says(self, tmp_path: Path) -> None:
        for form in ("parquet", "arrow"):
            where = ("--store", "win", "--to", form, "--out", str(tmp_path), "--typed")
            assert srfix("state", "export", OLD, *where, *LONG).returncode == 0
        table = pq.ParquetFile(tmp_path / "win-3_0.parquet").read()
        assert table.schema.field("value_row").type == pa.struct([("N", pa.int64())])
        assert {"key_json"} == {name for name in table.column_names if name.endswith("_json")}
        rows = table.to_pylist()
        assert [row["value_row"] for row in rows] == [{"N": int.from_bytes(row["value"], "big")} for row in rows]
        assert {row["value_reason"] for row in rows} == {None}
        with pa.ipc.open_file(str(tmp_path / "win-3_0.arrow")) as file:
            assert file.read_all().to_pylist() == rows

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--to", "csv", *LONG), "csv cannot hold typed columns. Only parquet and arrow can."),
            (("--to", "arrow"), "--typed needs the columns: give --value-columns, --key-columns or both."),
        ],
    )
    def test_types_need_columns_and_a_form_that_holds_them(
        self, tmp_path: Path, arguments: tuple[str, ...], said: str
    ) -> None:
        done = srfix("state", "export", OLD, "--store", "win", "--out", str(tmp_path), "--typed", *arguments)
        assert done.returncode == 2
        assert said in done.stderr

    def test_no_row_loses_what_tells_it_from_another(self, tmp_path: Path) -> None:
        for store in ("fkj-subscription-store", "oj-outer-shared-join-store", "oj-outer-this-join-store"):
            assert (
                srfix("state", "export", NEW, "--store", store, "--to", "csv", "--out", str(tmp_path)).returncode == 0
            )
        found = {
            path.name.rsplit("-", 1)[0]: list(csv.DictReader(path.read_text().splitlines()))
            for path in tmp_path.iterdir()
        }
        assert [row["foreign_key"] for row in found["fkj-subscription-store"]] == [b"b1".hex()]
        assert [row["side"] for row in found["oj-outer-shared-join-store"]] == ["left", "right", "left", "left"]
        assert [row["sequence_number"] for row in found["oj-outer-this-join-store"]] == ["1", "2", "3", "4", "5"]

    def test_nothing_is_written_over(self, tmp_path: Path) -> None:
        (tmp_path / "ts-1_0.csv").write_text("mine")
        done = srfix("state", "export", OLD, "--store", "ts", "--to", "csv", "--out", str(tmp_path))
        assert done.returncode == 2
        assert (tmp_path / "ts-1_0.csv").read_text() == "mine"

    @pytest.mark.parametrize("form", ["csv", "parquet"])
    def test_a_full_disk_is_told_and_nothing_is_left(self, tmp_path: Path, form: str) -> None:
        (tmp_path / f".ts-1_0.{form}.unfinished").symlink_to("/dev/full")
        done = srfix("state", "export", OLD, "--store", "ts", "--to", form, "--out", str(tmp_path))
        assert done.returncode == 2, done.stderr
        assert f"ts-1_0.{form} cannot be written: No space left on device" in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_nothing_is_written_into_the_state_directory(self, tmp_path: Path) -> None:
        shutil.copytree(OLD, tmp_path / "app")
        done = srfix(
            "state", "export", str(tmp_path), "--store", "ts", "--to", "csv", "--out", str(tmp_path / "app" / "x")
        )
        assert done.returncode == 2
        assert not (tmp_path / "app" / "x").exists()


class TestSize:
    def test_the_ages_are_those_of_all_rows(self) -> None:
        """Seen wrong: the ages of 38 rows of 40, without a word about the rows of plain stores, which carry no time."""
        done = srfix("state", "size", OLD)
        ages = [line.split() for line in done.stdout.partition("Ages of rows")[2].splitlines()[2:] if line]
        assert ages[-1] == ["not", "stored", "2"]
        assert f"{sum(int(words[-1]) for words in ages)} rows in " in done.stdout

    def test_it_counts_rows_bytes_ages_and_ids(self) -> None:
        done = srfix("state", "size", OLD, "--output", "json")
        assert done.returncode == 0, done.stderr
        stores = {each["store"]: each for each in json.loads(done.stdout)["stores"]}
        ts = stores["ts"]
        assert (ts["entries"], ts["key_bytes"], ts["value_bytes"], ts["oldest_ms"]) == (2, 4, 6, TS)
        assert sum(each["entries"] for each in ts["ages"]) == 2
        assert (ts["value_ids"], ts["unframed_values"]) == ([], 2)
        assert (stores["sess"]["format"], stores["sess"]["entries"]) == ("session", 4)
        assert stores["fkj-subscription-store"]["value_ids"] == []

    def test_what_hurts_is_said(self, tmp_path: Path) -> None:
        shutil.copytree(OLD, tmp_path / "app")
        store = tmp_path / "app" / "1_0" / "rocksdb" / "ts"
        (store / "OPTIONS-000099").write_text('[CFOptions "default"]\n  disable_auto_compactions=true\n')
        (store / "LOG").write_text("x [WARN] [default] Stalling writes because we have 20 level-0 files rate 1\n")
        done = srfix("state", "size", str(tmp_path), "--store", "ts")
        assert "compaction is switched off" in done.stdout
        assert "20 files on level 0" in done.stdout

    def test_compression_and_compaction_are_told_where_options_lie_beside(self, tmp_path: Path) -> None:
        shutil.copytree(OLD, tmp_path / "app")
        real = Path(__file__).parents[2] / "recovery" / "stores" / "data" / "2.6.3" / "OPTIONS-000010"
        shutil.copy(real, tmp_path / "app" / "1_0" / "rocksdb" / "ts" / real.name)
        done = srfix("state", "size", str(tmp_path), "--output", "json")
        parts = {each["store"]: each for each in json.loads(done.stdout)["stores"]}
        told = ("rocksdb", "compression", "compaction", "log_of_errors_alone")
        assert [parts["ts"][name] for name in told] == [["5.18.4"], ["none"], ["universal"], True]
        assert [parts["glob"][name] for name in told] == [[], [], [], None]

"""Captured topics: Parquet files with the columns of Spark's Kafka source."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from srfix.serde.errors import BadRowError, UsageError
from srfix.serde.spark.source.frame import frame_of
from srfix.serde.spark.source.log import record_type
from srfix.serde.spark.source.names import Use
from srfix.serde.spark.source.options import source_options
from srfix.serde.spark.source.reads import BatchRead
from srfix.serde.spark.source.task import CapturedTopic, captured_topic, read_part, task_reader

AT = datetime.datetime(2020, 9, 13, 12, 26, 40, tzinfo=datetime.UTC)
NAMES = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")


def records(count: int, topic: str = "users") -> pa.Table:
    return pa.table(
        {
            "key": pa.array([b"k"] * count, pa.binary()),
            "value": pa.array([b'{"ID": %d}' % number for number in range(count)], pa.binary()),
            "topic": pa.array([topic] * count),
            "partition": pa.array([0] * count, pa.int32()),
            "offset": pa.array(range(count), pa.int64()),
            "timestamp": pa.array([AT] * count, pa.timestamp("us", tz="UTC")),
            "timestampType": pa.array([0] * count, pa.int32()),
        }
    )


def rows(captured: CapturedTopic, names: tuple[str, ...], topic: str | None = None) -> list[dict[str, Any]]:
    return [row for part in captured.parts for batch in read_part(part, names, 2, topic) for row in batch.to_pylist()]


def read(path: Path, **given: str) -> list[dict[str, Any]]:
    """Everything that a read by these options gives; dots of options are written as two underscores."""
    options = {"path": str(path), **{name.replace("__", "."): value for name, value in given.items()}}
    found = source_options(options, Use.BATCH)
    planned = BatchRead.planned(found, frame_of(found))
    return [row for part in planned.parts for batch in task_reader(planned.task)(part) for row in batch.to_pylist()]


class TestCapturedTopic:
    def test_each_row_group_is_a_part_that_unpickles_without_srfix(self, tmp_path: Path) -> None:
        pq.write_table(records(10), tmp_path / "a.parquet", row_group_size=4)
        captured = captured_topic(str(tmp_path / "a.parquet"), NAMES)
        assert len(captured.parts) == 3
        assert not any(b"srfix" in part.replace(str(tmp_path).encode(), b"") for part in captured.parts)
        assert [row["offset"] for row in rows(captured, ("offset",))] == list(range(10))

    def test_a_folder_is_read_whole_but_for_what_spark_writes_beside(self, tmp_path: Path) -> None:
        for number in range(2):
            pq.write_table(records(3), tmp_path / f"part-{number}.parquet")
        (tmp_path / "_SUCCESS").touch()
        (tmp_path / ".part-0.parquet.crc").write_bytes(b"crc")
        assert len(rows(captured_topic(f"file:{tmp_path}", NAMES), NAMES)) == 6

    def test_times_in_int96_are_utc(self, tmp_path: Path) -> None:
        pq.write_table(records(1), tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
        (row,) = rows(captured_topic(str(tmp_path), NAMES), ("timestamp",))
        assert row["timestamp"] == AT

    def test_a_folder_may_have_the_topic_in_its_name(self, tmp_path: Path) -> None:
        for name in ("users", "orders"):
            (tmp_path / f"topic={name}").mkdir()
            pq.write_table(records(2).drop_columns(["topic"]), tmp_path / f"topic={name}" / "a.parquet")
        captured = captured_topic(str(tmp_path), ("topic", "value"))
        assert [row["topic"] for row in rows(captured, ("topic", "value"), "users")] == ["users", "users"]
        assert len(rows(captured, ("value",), "users")) == 2

    def test_records_of_other_topics_are_left_out(self, tmp_path: Path) -> None:
        pq.write_table(pa.concat_tables([records(2), records(3, "orders")]), tmp_path / "a.parquet")
        assert len(rows(captured_topic(str(tmp_path), NAMES), ("value",), "orders")) == 3

    def test_every_column_is_of_the_type_that_sparks_source_has(self, tmp_path: Path) -> None:
        table = records(1).set_column(3, "partition", pa.array([0], pa.int64()))
        pq.write_table(table.set_column(1, "value", pa.array([b"x"], pa.large_binary())), tmp_path / "a.parquet")
        captured = captured_topic(str(tmp_path), NAMES)
        (batch,) = read_part(captured.parts[0], NAMES, 10, None)
        assert [field.type for field in batch.schema] == [record_type(name) for name in NAMES]

    @pytest.mark.parametrize("there", ["nothing", "text"])
    def test_what_is_no_captured_topic_is_refused(self, there: str, tmp_path: Path) -> None:
        path = tmp_path / "captured"
        if there == "text":
            path.write_text("no Parquet")
        with pytest.raises(UsageError, match=rf"The captured topic at '{path}' cannot be read:"):
            captured_topic(str(path), NAMES)

    def test_a_column_that_is_needed_must_be_there(self, tmp_path: Path) -> None:
        pq.write_table(records(1).select(["key", "offset"]), tmp_path / "a.parquet")
        with pytest.raises(UsageError, match=r"lacks the column 'value'; it has key, offset\."):
            captured_topic(str(tmp_path), ("value",))
        pq.write_table(pa.table({"offset": ["one"]}), tmp_path / "a.parquet")
        with pytest.raises(UsageError, match="The captured topic's column 'offset' is string;"):
            rows(captured_topic(str(tmp_path), ("offset",)), ("offset",))


class TestRead:
    def test_rows_are_decoded_without_a_cluster_or_a_registry(self, tmp_path: Path) -> None:
        pq.write_table(records(2).select(["value"]), tmp_path / "a.parquet")
        found = read(tmp_path, format="json", topic="users", columns="ID BIGINT")
        assert found == [{"ID": 0, "_srfix_reason": None}, {"ID": 1, "_srfix_reason": None}]

    def test_rows_of_csv_are_told_their_delimiter(self, tmp_path: Path) -> None:
        table = records(2).set_column(1, "value", pa.array([b"1|a", b"2"], pa.binary()))
        pq.write_table(table, tmp_path / "a.parquet")
        options = {"format": "delimited", "delimiter": "|", "topic": "users", "columns": "ID BIGINT, NAME STRING"}
        good, bad = read(tmp_path, **options, **{"on.error": "null"})
        assert good == {"ID": 1, "NAME": "a", "_srfix_reason": None}
        assert bad["_srfix_reason"] == "TRUNCATED"

    def test_a_bad_row_says_where_it_was_if_the_files_say_it(self, tmp_path: Path) -> None:
        table = records(2).set_column(1, "value", pa.array([b'{"ID":1}', b"{"], pa.binary()))
        pq.write_table(table, tmp_path / "a.parquet")
        with pytest.raises(BadRowError, match="srfix: the value of topic 'users', partition 0,"):
            read(tmp_path, format="json", topic="users", columns="ID BIGINT")
        pq.write_table(table.select(["value"]), tmp_path / "a.parquet")
        with pytest.raises(BadRowError, match="srfix: the value of topic 'users' cannot be") as caught:
            read(tmp_path, format="json", topic="users", columns="ID BIGINT")
        assert (caught.value.partition, caught.value.offset) == (None, None)
        assert isinstance(pickle.loads(pickle.dumps(caught.value)), BadRowError)

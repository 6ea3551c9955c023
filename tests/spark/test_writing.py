"""Rows of frames become payloads: the bytes of the serializers, by both engines."""

from __future__ import annotations

import datetime
import decimal
import json
import logging
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.columns.text import parse_columns
from srfix.serde.errors import BadRowError, ColumnError, EngineRefusedError, UsageError, WorkerPackageError
from srfix.serde.formats.table import Format
from srfix.serde.registry.client import RegistryClient
from srfix.serde.spark.errors import clear_errors
from srfix.serde.spark.interface import Engine
from srfix.serde.spark.read.plan import plan_read
from srfix.serde.spark.reading import from_registry, good_rows
from srfix.serde.spark.write.plan import plan_write
from srfix.serde.spark.writing import to_registry, write_stream, write_topic
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Framing
from tests.serde.fakes import MemoryRegistry
from tests.spark.parity import HAS_ARROW

ENGINES: Final[tuple[Engine, ...]] = ("jvm", "arrow")
THERE: Final = ENGINES if HAS_ARROW else ENGINES[:1]
"""The engines that this Spark has."""


def payloads(df: DataFrame, column: str = "value") -> list[bytes | None]:
    """A column of payloads, in the frame's order."""
    return [None if row[0] is None else bytes(row[0]) for row in df.select(column).collect()]


def _as_arrow(value: object, type_: pa.DataType) -> object:
    """pyarrow takes a map as pairs."""
    if value is None:
        return None
    if pa.types.is_map(type_):
        assert isinstance(value, dict)
        return [(key, _as_arrow(item, type_.item_type)) for key, item in value.items()]
    if pa.types.is_list(type_):
        assert isinstance(value, list)
        return [_as_arrow(item, type_.value_type) for item in value]
    if pa.types.is_struct(type_):
        assert isinstance(value, dict)
        return {field.name: _as_arrow(value[field.name], field.type) for field in type_}
    return value


def frame_of(spark: SparkSession, columns: Mapping[str, tuple[pa.DataType, list[object]]]) -> DataFrame:
    """A frame of Python values, by way of Arrow: maps keep their order, integers their width."""
    arrays = [pa.array([_as_arrow(value, type_) for value in values], type_) for type_, values in columns.values()]
    table = pa.table(arrays, list(columns))
    if not spark.version.startswith("3."):
        return spark.createDataFrame(table)
    # Spark 3.5 takes no table of Arrow's.
    path = Path(mkdtemp()) / "frame.parquet"
    pq.write_table(table, path)
    return spark.read.option("datetimeRebaseMode", "CORRECTED").parquet(path.as_uri())


@pytest.mark.smoke
class TestBytes:
    def test_both_engines_write_what_the_serializer_writes(self, spark: SparkSession) -> None:
        """Every type of a column: of a narrower type, spelt otherwise, in another order, nested, null, and not there."""
        columns = parse_columns(
            "ID BIGINT, SMALL INT, RATIO DOUBLE, SHARE DOUBLE, OK BOOLEAN, NAME STRING, RAW BYTES, PRICE DECIMAL(12, 4), "
            "BORN DATE, SEEN TIMESTAMP, TAGS ARRAY<ARRAY<BIGINT>>, M MAP<STRING, STRUCT<X DOUBLE, Y DECIMAL(30, 2)>>, "
            "DEEP STRUCT<A STRUCT<B INT, C STRING>>, LACKING STRING"
        )
        inner = pa.struct({"Y": pa.decimal128(21, 1), "x": pa.int16()}.items())
        fields: dict[str, tuple[pa.DataType, object]] = {
            "seen": (
                pa.timestamp("us", tz="UTC"),
                datetime.datetime(1969, 12, 31, 23, 59, 59, 999_900, tzinfo=datetime.UTC),
            ),
            "Id": (pa.int16(), -(2**15)),
            "SMALL": (pa.int8(), 127),
            "ratio": (pa.float32(), 1.5),
            "SHARE": (pa.int32(), 2**31 - 1),
            "ok": (pa.bool_(), False),
            "name": (pa.string(), "Ünï\0 𝄞"),
            "raw": (pa.binary(), b"\0\xff"),
            "price": (pa.decimal128(5, 1), decimal.Decimal("-1234.5")),
            "born": (pa.date32(), datetime.date(1, 1, 1)),
            "tags": (pa.list_(pa.list_(pa.int32())), [[1, None], [], None]),
            "m": (
                pa.map_(pa.string(), inner),
                {
                    "z": {"Y": decimal.Decimal("12345678901234567890.5"), "x": -1},
                    "": None,
                    "a": {"Y": None, "x": None},
                },
            ),
            "deep": (
                pa.struct({"a": pa.struct({"C": pa.string(), "b": pa.int8()}.items())}.items()),
                {"a": {"C": "", "b": -128}},
            ),
        }
        type_ = pa.struct([(name, of_field) for name, (of_field, _) in fields.items()])
        full: dict[str, object] = {name: value for name, (_, value) in fields.items()}
        other = full | {
            "seen": datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC),
            "tags": [],
            "m": {},
            "deep": {"a": None},
        }
        rows: list[object] = [full, other, dict.fromkeys(full)]
        plan = plan_write(MemoryRegistry(), "t", columns, cut_times=True)
        df = frame_of(spark, {"row": (type_, rows)})
        for engine in THERE:
            df = df.transform(to_registry(plan, from_="row", into=engine, engine=engine))
        serialize, ctx = plan.serializer(), plan.context()
        for engine in THERE:
            assert payloads(df, engine) == [serialize(row, ctx) for row in rows], engine

    def test_a_schema_s_own_types_are_written_exactly(self, spark: SparkSession) -> None:
        """Enums, fixed types, maps of Avro's own, decimals in fixed types, null last, defaults, letters and namespaces."""
        if spark.version.startswith("3."):
            pytest.skip("Spark 3.5 takes neither a table of Arrow's nor a file that has userId beside USERID")
        text = json.dumps(
            {
                "type": "record",
                "name": "a.b.Root",
                "fields": [
                    {"name": "userId", "type": "long"},
                    {"name": "USERID", "type": ["null", "int"], "default": None},
                    {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"]}},
                    {"name": "maybe", "type": ["null", "Color"]},
                    {"name": "two", "type": {"type": "fixed", "name": "Two", "size": 2}},
                    {"name": "again", "type": ["Two", "null"]},
                    {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
                    {"name": "map", "type": {"type": "map", "values": ["null", "Two"]}},
                    {"name": "micros", "type": {"type": "long", "logicalType": "timestamp-micros"}},
                    {"name": "millis", "type": {"type": "long", "logicalType": "timestamp-millis"}},
                    {"name": "day", "type": {"type": "int", "logicalType": "date"}},
                    {
                        "name": "price",
                        "type": {
                            "type": "fixed",
                            "name": "Price",
                            "size": 5,
                            "logicalType": "decimal",
                            "precision": 9,
                            "scale": 2,
                        },
                    },
                    {"name": "ratio", "type": "float"},
                    {"name": "others", "type": {"type": "array", "items": {"type": "record", "name": "Other", "fields": [
                        {"name": "some-name", "type": "string"} | {"name": "n"},
                        {"name": "N", "type": ["string", "null"]},
                    ]}}},
                    {"name": "left", "type": "int", "default": -7},
                    {"name": "out", "type": "string", "default": "it's \\ \"so\" é"},
                    {"name": "all", "type": "boolean", "default": True},
                    {"name": "nulls", "type": ["string", "null", "int"]},
                ],
            }
        )  # fmt: skip
        at = datetime.datetime(1582, 10, 4, 23, 59, 59, 999_999, tzinfo=datetime.UTC)
        fields: dict[str, tuple[pa.DataType, object]] = {
            "ratio": (pa.float32(), 0.1 + 2**-30),
            "USERID": (pa.int8(), 1),
            "userId": (pa.int32(), 2),
            "color": (pa.string(), "GREEN"),
            "maybe": (pa.string(), None),
            "two": (pa.binary(), b"\x01\x02"),
            "again": (pa.binary(), b"\xff\xfe"),
            "uuid": (pa.string(), str(uuid.UUID(int=7))),
            "map": (pa.map_(pa.string(), pa.binary()), {"z": b"ab", "a": None, "m": b"cd"}),
            "micros": (pa.timestamp("us", tz="UTC"), at),
            "millis": (pa.timestamp("us", tz="UTC"), at),
            "day": (pa.date32(), datetime.date(1, 1, 1)),
            "price": (pa.decimal128(5, 1), decimal.Decimal("-1234.5")),
            "others": (
                pa.list_(pa.struct({"N": pa.string(), "n": pa.string()})),
                [{"N": None, "n": "x"}, {"N": "y", "n": ""}],
            ),
        }
        frame = pa.struct([(name, of_field) for name, (of_field, _) in fields.items()])
        row: dict[str, object] = {name: value for name, (_, value) in fields.items()}
        row["ratio"] = pa.scalar(row["ratio"], pa.float32()).as_py()
        other = row | {"maybe": "RED", "again": None, "map": {}, "others": [], "USERID": None}
        plan = plan_write(MemoryRegistry(), "t", schema=text, cut_times=True)
        df = frame_of(spark, {"value": (frame, [row, other])})
        expected = [plan.serializer()(each, plan.context()) for each in (row, other)]
        for engine in THERE:
            assert payloads(df.transform(to_registry(plan, engine=engine))) == expected, engine

    def test_bare_values_and_keys(self, spark: SparkSession) -> None:
        """A root of bytes has no length in front; a null key is a null payload."""
        values: dict[str, tuple[pa.DataType, list[object]]] = {
            "BIGINT": (pa.int32(), [-1, 2**31 - 1]),
            "STRING": (pa.string(), ["", "é"]),
            "BYTES": (pa.binary(), [b"", b"\x00abc"]),
            "DECIMAL(38, 2)": (pa.decimal128(37, 1), [decimal.Decimal("-12345678901234567890.5"), decimal.Decimal("0.0")]),
            "ARRAY<DOUBLE>": (pa.list_(pa.float64()), [[], [0.5, None]]),
            "STRUCT<A INT>": (pa.struct([("a", pa.int32())]), [{"a": 1}, {"a": None}]),
        }  # fmt: skip
        plans = {name: plan_write(MemoryRegistry(), "t", f"K {name} KEY", role=Role.KEY) for name in values}
        df = frame_of(spark, {name: (type_, [*given, None]) for name, (type_, given) in values.items()})
        for name, plan in plans.items():
            renamed = df.withColumnRenamed(name, "k")
            for engine in THERE:
                written = payloads(renamed.transform(to_registry(plan, from_=["k"], engine=engine)), "key")
                rows: list[object] = [{"K": value} for value in (*values[name][1], None)]
                assert written == [plan.serializer()(row, plan.context()) for row in rows], (name, engine)
                assert written[-1] is None

    @pytest.mark.parametrize("format_", [Format.JSON, Format.JSON_SR, Format.PROTOBUF, Format.KAFKA])
    def test_the_other_formats_are_the_arrow_engine_s(self, spark: SparkSession, format_: Format) -> None:
        columns = "ID INT" if format_ is Format.KAFKA else "ID INT, D DECIMAL(4, 2), T TIME, A ARRAY<DATE>"
        plan = plan_write(MemoryRegistry(), "t", columns, format=format_)
        df = spark.sql(
            "SELECT 7 AS id" + ("" if format_ is Format.KAFKA else ", 1.5BD AS d, array(DATE'1999-12-31') AS a")
        )
        with pytest.raises(EngineRefusedError, match=f"bodies are {format_.name}, but Spark writes only Avro"):
            df.transform(to_registry(plan, engine="jvm"))
        row = {"id": 7} | (
            {} if format_ is Format.KAFKA else {"d": decimal.Decimal("1.5"), "a": [datetime.date(1999, 12, 31)]}
        )
        assert payloads(df.transform(to_registry(plan))) == [plan.serializer()(row, plan.context())]


class TestFraming:
    def test_a_guid_stands_in_front_or_in_a_header(self, spark: SparkSession) -> None:
        with FixtureRegistry(emulate="8.2") as server, RegistryClient(server.url) as client:
            prefixed = plan_write(client, "t", "ID INT", schema_id_framing=Framing.PREFIX_GUID)
            in_header = plan_write(client, "t", "ID INT", schema_id_framing=Framing.HEADER_GUID)
        assert in_header.record_header is not None
        name, guid = in_header.record_header
        df = spark.sql(
            "SELECT CAST(value AS STRUCT<id: INT>) AS value, "
            "CAST(headers AS ARRAY<STRUCT<key: STRING, value: BINARY>>) AS headers, value IS NULL AS _srfix_tombstone "
            f"FROM VALUES (struct(7), array(struct('a', X'01'), struct('{name}', X'02'))), "
            "(struct(8), NULL), (NULL, array(struct('b', X'03'))) AS t(value, headers)"
        )
        for engine in THERE:
            written = df.transform(to_registry(in_header, engine=engine, null_rows="tombstone")).collect()
            assert [row["value"] for row in written] == [b"\x02\x0e", b"\x02\x10", None]
            assert [[(h["key"], bytes(h["value"])) for h in row["headers"]] for row in written] == [
                [("a", b"\1"), (name, guid)],
                [(name, guid)],
                [("b", b"\3")],
            ]
            bare = spark.sql("SELECT 7 AS id")
            assert payloads(bare.transform(to_registry(prefixed, engine=engine))) == [guid + b"\x02\x0e"]
            added = bare.transform(to_registry(in_header, engine=engine)).collect()
            assert [(h["key"], bytes(h["value"])) for h in added[0]["headers"]] == [(name, guid)]


class TestNullRows:
    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_null_struct_is_no_tombstone_by_accident(self, spark: SparkSession, engine: Engine) -> None:
        plan = plan_write(MemoryRegistry(), "users", "ID INT")
        df = spark.sql(
            "SELECT 'k1' AS key, struct(1 AS id) AS value, 0 AS partition, 5L AS offset"
            " UNION ALL SELECT 'k2', NULL, 3, 9L"
        )
        with (
            pytest.raises(
                BadRowError,
                match=r"topic 'users', key k2, partition 3, offset 9 .*If it is written, it deletes its key",
            ),
            clear_errors(),
        ):
            df.transform(to_registry(plan, engine=engine)).select("value").collect()
        with pytest.raises(UsageError, match=r"needs the column _srfix_tombstone"):
            df.transform(to_registry(plan, engine=engine, null_rows="tombstone"))
        marked = df.withColumn("_srfix_tombstone", F.col("value").isNull())
        assert payloads(marked.transform(to_registry(plan, engine=engine, null_rows="tombstone"))) == [
            b"\0\0\0\0\1\2\2",
            None,
        ]
        flat = marked.select("key", "value.*", "_srfix_tombstone")
        assert payloads(flat.transform(to_registry(plan, engine=engine, null_rows="tombstone"))) == [
            b"\0\0\0\0\1\2\2",
            None,
        ]

    @pytest.mark.parametrize("engine", ENGINES)
    def test_only_what_was_read_as_a_tombstone_is_written_as_one(self, spark: SparkSession, engine: Engine) -> None:
        """Frames whose reasons were dropped, or that were read with on_error="null": bad rows are null there as well, and
        written they deleted their keys."""
        registry = MemoryRegistry()
        plan = plan_write(registry, "users", "ID INT")
        read = plan_read(None, "users", "ID INT", format=Format.JSON)
        sent = spark.sql(
            """SELECT n, CAST(body AS BINARY) AS value FROM VALUES (1, '{"ID":1}'), (2, NULL), (3, '{"ID":') AS t(n, body)"""
        )
        for frame in (
            sent.transform(from_registry(read, on_error="quarantine")).drop(
                "_srfix_reason", "_srfix_message", "_srfix_payload"
            ),
            sent.transform(from_registry(read, on_error="null")),
        ):
            written = frame.transform(to_registry(plan, engine=engine, null_rows="tombstone"))
            assert payloads(written.where("n < 3")) == [b"\0\0\0\0\1\2\2", None]
            with (
                pytest.raises(BadRowError, match=r"not marked as a tombstone"),
                clear_errors(),
            ):
                payloads(written)
        good = good_rows(sent.transform(from_registry(read, on_error="quarantine")))
        assert payloads(good.transform(to_registry(plan, engine=engine, null_rows="tombstone"))) == [
            b"\0\0\0\0\1\2\2",
            None,
        ]

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_flat_frame_with_reasons_has_its_tombstones_and_bad_rows(
        self, spark: SparkSession, engine: Engine
    ) -> None:
        """As format("srfix") gives them: there is no struct that could be null."""
        plan = plan_write(MemoryRegistry(), "users", "ID INT, NAME STRING")
        df = spark.sql(
            "SELECT * FROM VALUES (1, 'a', CAST(NULL AS STRING)), (NULL, NULL, 'TOMBSTONE'), (NULL, NULL, NULL), "
            "(NULL, NULL, 'TRUNCATED') AS t(ID, NAME, _srfix_reason)"
        )
        write = to_registry(plan, engine=engine, null_rows="tombstone")
        assert payloads(df.where("_srfix_reason IS NULL OR _srfix_reason = 'TOMBSTONE'").transform(write)) == [
            b"\0\0\0\0\1\2\2\2\2a",
            None,
            b"\0\0\0\0\1\0\0",
        ]
        with pytest.raises(BadRowError, match=r"The row could not be read \(TRUNCATED\)"), clear_errors():
            payloads(df.transform(write))
        with pytest.raises(BadRowError, match=r"If it is written, it deletes its key"), clear_errors():
            payloads(df.where("_srfix_reason = 'TOMBSTONE'").transform(to_registry(plan, engine=engine)))

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_bare_null_is_one_in_a_value(self, spark: SparkSession, engine: Engine) -> None:
        plan = plan_write(MemoryRegistry(), "users", "ID INT", wrap=False)
        df = spark.sql("SELECT 1 AS id UNION ALL SELECT NULL")
        with (
            pytest.raises(BadRowError, match=r"If it is written, it deletes its key"),
            clear_errors(),
        ):
            df.transform(to_registry(plan, engine=engine)).select("value").collect()
        marked = df.withColumn("_srfix_tombstone", F.col("id").isNull())
        written = payloads(marked.transform(to_registry(plan, engine=engine, null_rows="tombstone")))
        assert written == [b"\0\0\0\0\1\2", None]

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_row_of_nulls_is_a_row(self, spark: SparkSession, engine: Engine) -> None:
        plan = plan_write(MemoryRegistry(), "users", "ID INT, N STRING")
        df = spark.sql("SELECT CAST(NULL AS INT) AS id, NULL AS n")
        assert payloads(df.transform(to_registry(plan, engine=engine))) == [b"\0\0\0\0\1\0\0"]


class TestBadRows:
    SCHEMA = json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "items", "type": {"type": "array", "items": "int"}},
                {"name": "two", "type": {"type": "fixed", "name": "Two", "size": 2}},
                {"name": "color", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "GREEN"]}},
                {"name": "in", "type": {"type": "record", "name": "In", "fields": [{"name": "a", "type": "int"}]}},
            ],
        }
    )

    ROWS: Final = (
        ("array(1, NULL), X'0102', 'RED', struct(1)", "items->ARRAY is null", "items[1] needs an integer"),
        ("NULL, X'0102', 'RED', struct(1)", "items is null", "items needs a list"),
        ("array(), X'01', 'RED', struct(1)", "two needs 2 bytes, got 1.", "two needs 2 bytes, got bytes b'\\x01'"),
        ("array(), X'0102', 'red', struct(1)", "color needs one of RED, GREEN, got red.", "color needs one of RED"),
        ("array(), X'0102', 'RED', NULL", "in is null", "in needs a mapping"),
        ("array(), X'0102', 'RED', struct(NULL)", "in->a is null", "in->a needs an integer"),
    )
    """What the schema does not allow, in SQL, and what each engine says."""
    CASTS: Final = "CAST(items AS ARRAY<INT>) AS items, two, color, CAST(in AS STRUCT<a: INT>) AS in"

    @pytest.mark.parametrize(("sql", "said", "_"), ROWS, ids=[said for _, said, _ in ROWS])
    def test_the_jvm_engine_fails_in_our_words(self, spark: SparkSession, sql: str, said: str, _: str) -> None:
        plan = plan_write(MemoryRegistry(), "users", schema=self.SCHEMA)
        df = spark.sql(f"SELECT X'6B' AS key, {self.CASTS} FROM VALUES ({sql}) AS t(items, two, color, in)")
        words = f"srfix: a value for topic 'users', key X'6B' cannot be written. ENCODE_FAILED: {said}"
        with pytest.raises(BadRowError, match=f"^{re.escape(words)}"), clear_errors():
            df.transform(to_registry(plan, engine="jvm")).select("value").collect()

    def test_the_arrow_engine_says_what_the_serializer_says(self, spark: SparkSession) -> None:
        plan = plan_write(MemoryRegistry(), "users", schema=self.SCHEMA)
        rows = ", ".join(f"({sql})" for sql, _, _ in self.ROWS)
        df = spark.sql(f"SELECT 'k' AS key, {self.CASTS} FROM VALUES {rows} AS t(items, two, color, in)")
        kept = df.transform(to_registry(plan, on_error="quarantine"))
        for row, (_, _, said) in zip(kept.collect(), self.ROWS, strict=True):
            assert row["value"] is None
            assert said in row["_srfix_message"]
        with (
            pytest.raises(BadRowError, match=r"'users', key k cannot be written"),
            clear_errors(),
        ):
            df.transform(to_registry(plan, engine="arrow")).select("value").collect()

    def test_quarantine_keeps_them_and_the_others_are_written(self, spark: SparkSession) -> None:
        plan = plan_write(MemoryRegistry(), "users", "ID INT, N STRING")
        df = spark.sql("SELECT explode(array(1L, 4294967296L, 3L)) AS id, 'n' AS n")
        written = df.transform(to_registry(plan, on_error="quarantine")).collect()
        assert [row["value"] for row in written] == [b"\0\0\0\0\1\2\2\2\2n", None, b"\0\0\0\0\1\2\6\2\2n"]
        assert [row["_srfix_reason"] for row in written] == [None, "ENCODE_FAILED", None]
        assert "got int 4294967296" in written[1]["_srfix_message"]


class TestRefusals:
    """What is known before any job."""

    @pytest.mark.parametrize(
        ("columns", "frame", "reason"),
        [
            ("A INT", "1L AS a", "A is bigint, but not every such value fits int"),
            ("A DOUBLE", "1L AS a", "A is bigint, but not every such value fits double"),
            ("A DECIMAL(4, 2)", "1.000BD AS a", "A is decimal(4,3), but not every such value fits bytes (decimal 4, 2)"),
            ("A DECIMAL(4, 2)", "100BD AS a", "A is decimal(3,0), but not every such value fits bytes (decimal 4, 2)"),
            ("A DECIMAL(40, 2)", "1BD AS a",
             "A is written as bytes (decimal 40, 2), but Spark's decimals have at most 38 digits"),
            ("A STRUCT<B ARRAY<INT>>", "struct(array(1L) b) a", "A->B->ARRAY is bigint, but not every such value fits int"),
            ("A MAP<STRING, INT>", "map('x', 1L) AS a", "A->MAP_VAL is bigint, but not every such value fits int"),
        ],
    )  # fmt: skip
    def test_a_cast_that_could_lose_is_not_spark_s(
        self, spark: SparkSession, caplog: pytest.LogCaptureFixture, columns: str, frame: str, reason: str
    ) -> None:
        plan = plan_write(MemoryRegistry(), "t", columns)
        df = spark.sql(f"SELECT {frame}")
        with pytest.raises(EngineRefusedError) as caught:
            df.transform(to_registry(plan, engine="jvm"))
        assert caught.value.reasons == (reason,)
        with caplog.at_level(logging.INFO, "srfix.serde.spark"):
            df.transform(to_registry(plan))
        assert caplog.messages == [f"The values of topic 't' are written by the engine arrow: {reason}."]

    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize(
        ("columns", "frame", "why"),
        [
            ("A TIMESTAMP", "TIMESTAMP_NTZ'2020-1-1' a", "A is timestamp_ntz, which cannot be written as long"),
            ("A STRING", "1 AS a", "A is int, which cannot be written as string"),
            ("A DATE", "TIMESTAMP'2020-01-01' AS a", "A is timestamp, which cannot be written as int (date)"),
            ("A ARRAY<STRING>", "'x' AS a", "A is string, not an array"),
            ("A MAP<STRING, INT>", "map(1, 2) AS a", "A is map<int, int>, but the keys of a map must be string"),
            ("A STRUCT<B INT>", "struct(1 AS b, 2 AS c) AS a", "A->c feeds no column or field"),
        ],
    )  # fmt: skip
    def test_what_no_serializer_takes_is_nobody_s(
        self, spark: SparkSession, engine: Engine, columns: str, frame: str, why: str
    ) -> None:
        plan = plan_write(MemoryRegistry(), "t", columns)
        words = f"The frame's rows cannot be written as values of topic 't': {why}"
        with pytest.raises(ColumnError, match=f"^{re.escape(words)}.*. Cast, rename, add or drop columns first.$"):
            spark.sql(f"SELECT {frame}").transform(to_registry(plan, engine=engine))

    def test_workers_without_srfix_are_not_sent_any(self, spark: SparkSession) -> None:
        plan = plan_write(MemoryRegistry(), "t", "A INT")
        spark.sql("SELECT 1 AS a").transform(to_registry(plan, workers_have_srfix=False))
        with pytest.raises(
            WorkerPackageError,
            match=r"^The values of topic 't' need the arrow engine \(A is bigint, but not every such value fits "
            r"int\), which runs on the workers, but workers_have_srfix=False says that they lack srfix\. ",
        ):
            spark.sql("SELECT 1L AS a").transform(to_registry(plan, workers_have_srfix=False))

    def test_a_required_field_that_is_missing(self, spark: SparkSession) -> None:
        plan = plan_write(MemoryRegistry(), "t", schema=TestBadRows.SCHEMA)
        with pytest.raises(ColumnError, match=r"items is missing.*two is missing"):
            spark.sql("SELECT 'RED' AS color").transform(to_registry(plan))

    def test_a_column_to_spare(self, spark: SparkSession) -> None:
        plan = plan_write(MemoryRegistry(), "t", "A INT")
        df = spark.sql("SELECT 1 AS a, 2 AS b")
        with pytest.raises(ColumnError, match="no column for 'b' of the frame"):
            df.transform(to_registry(plan))
        assert payloads(df.transform(to_registry(plan, from_=["a"]))) == [b"\0\0\0\0\1\2\2"]

    @pytest.mark.parametrize(
        ("from_", "words"),
        [
            (None, "It is not clear whether 'key' of the frame is Kafka's or a part of the row."),
            (["nope"], "The frame has no column 'nope' to write; it has key, a."),
            ([], "from_= names no column."),
            (
                "a",
                "The column 'a' is int, not a struct that could be the row. If it is the row's only column, set from_=['a'].",
            ),
        ],
    )
    def test_what_makes_the_row_must_be_clear(
        self, spark: SparkSession, from_: str | list[str] | None, words: str
    ) -> None:
        plan = plan_write(MemoryRegistry(), "t", "`KEY` INT, A INT")
        with pytest.raises(UsageError, match=f"^{re.escape(words)}"):
            spark.sql("SELECT 1 AS key, 2 AS a").transform(to_registry(plan, from_=from_))


@pytest.mark.smoke
class TestTopics:
    def test_what_is_written_is_read_again(
        self, spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry
    ) -> None:
        topic = f"written-{uuid.uuid4().hex[:8]}"
        broker.create_topic(topic, partitions=1)
        with RegistryClient(registry.url) as client:
            columns = "ID INT KEY, NAME STRING, AT TIMESTAMP".replace("AT ", "`AT` ")
            key, value = (
                plan_write(client, topic, columns, role=role, cut_times=True) for role in (Role.KEY, Role.VALUE)
            )
            df = spark.sql("SELECT 7 AS id, struct('Ada' AS name, TIMESTAMP'1969-12-31 23:59:59.9999Z' AS at) AS value")
            write_topic(df, value, bootstrap_servers=broker.bootstrap_servers, key=key, key_from=["id"])
            frame = (
                spark.read.format("kafka")
                .option("kafka.bootstrap.servers", broker.bootstrap_servers)
                .option("subscribe", topic)
                .load()
            )
            rows = (
                frame.transform(from_registry(plan_read(client, topic, columns, role=Role.KEY)))
                .transform(from_registry(plan_read(client, topic, columns)))
                .select("key.ID", "value.NAME", F.unix_micros("value.AT").alias("AT"))
                .collect()
            )
        assert [tuple(row) for row in rows] == [(7, "Ada", -1000)]

    def test_a_stream_is_written_too(self, spark: SparkSession, broker: KraftBroker, tmp_path: Path) -> None:
        topic = f"streamed-{uuid.uuid4().hex[:8]}"
        broker.create_topic(topic, partitions=1)
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "rows.json").write_text('{"id": 1}\n{"id": 2}\n')
        plan = plan_write(MemoryRegistry(), topic, "ID BIGINT")
        df = spark.readStream.schema("id bigint").json(str(tmp_path / "in"))
        writer = write_stream(df, plan, bootstrap_servers=broker.bootstrap_servers)
        query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
        assert query.awaitTermination(60)
        frame = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", broker.bootstrap_servers)
            .option("subscribe", topic)
            .load()
        )
        assert sorted(map(bytes, (row["value"] for row in frame.collect()))) == [b"\0\0\0\0\1\2\2", b"\0\0\0\0\1\2\4"]

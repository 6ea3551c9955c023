"""A client of a Spark Connect server and nothing else: every public door of srfix on Spark, once.

`python connect_client.py REMOTE BOOTSTRAP_SERVERS REGISTRY RESULTS CHECK...` writes what failed, by name, to a file.
It runs in a process of its own, without a gateway to any JVM: what is not public on Spark Connect cannot work here.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from pyspark import SparkContext
from pyspark.sql import DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F

from srfix.recovery.census.interface import CensusRequest
from srfix.recovery.census.local import LocalCensus
from srfix.recovery.census.spark import SparkCensus
from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.reading.store import open_stores
from srfix.recovery.stores.parts import PartsOnSpark, SecondAnswers
from srfix.recovery.stores.rows import RowFilter, ScanWork
from srfix.serde.errors import BadRowError, ClusterError, EngineRefusedError, Reason
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import ById
from srfix.serde.schemas.models import Schema
from srfix.serde.spark.errors import clear_errors
from srfix.serde.spark.interface import Engine
from srfix.serde.spark.progress import counts_of
from srfix.serde.spark.read.plan import ReadPlan, plan_read
from srfix.serde.spark.reading import bad_rows, from_registry, good_rows, read_stream, read_topic
from srfix.serde.spark.releases import lacks_arrow
from srfix.serde.spark.session import check_session
from srfix.serde.spark.write.plan import WritePlan, plan_write
from srfix.serde.spark.writing import to_registry, write_stream, write_topic
from srfix.serde.subjects.names import Topic

TOPIC: Final = "connect-users"
STATE: Final = Path(__file__).resolve().parents[1] / "recovery" / "state" / "data" / "kinds" / "2.6.3" / "state"
ENGINES: Final[tuple[Engine, ...]] = ("jvm",) if lacks_arrow() else ("arrow", "jvm")
COLUMNS: Final = "ID BIGINT, NAME STRING, BORN DATE"
ROWS: Final = "SELECT 1L AS ID, 'Ada' AS NAME, DATE'1815-12-10' AS BORN UNION ALL SELECT 2L, NULL, NULL"
OTHER: Final = Schema(
    text="""{"type": "record", "name": "Other", "fields": [
    {"name": "name", "type": ["null", "string"], "default": null},
    {"name": "id", "type": "long"},
    {"name": "more", "type": "string", "default": ""}]}"""
)
"""A schema with the columns in another order and in other letters, without one of them, and with one more."""


class Client:
    """A session, and where the data is."""

    def __init__(self, remote: str, bootstrap_servers: str, registry: str) -> None:
        self.spark = SparkSession.builder.remote(remote).getOrCreate()
        self.bootstrap_servers = bootstrap_servers
        self.registry_url = registry
        self.registry = RegistryClient(registry)

    @property
    def plan(self) -> ReadPlan:
        """How the topic is read."""
        return plan_read(self.registry, TOPIC, COLUMNS)

    def write(self, frame: DataFrame, plan: WritePlan, engine: Engine = "auto") -> None:
        """Rows to the topic, one by one in their order."""
        write_topic(frame.coalesce(1), plan, bootstrap_servers=self.bootstrap_servers, engine=engine)

    def read(self, engine: Engine) -> list[Row]:
        """All that the topic holds, in quarantine."""
        topic = read_topic(
            self.spark, self.plan, bootstrap_servers=self.bootstrap_servers, on_error="quarantine", engine=engine
        )
        return topic.orderBy("offset").collect()


def writing(client: Client) -> None:
    """The topic of all checks: rows of two schemas, a tombstone, and two payloads that cannot be read."""
    client.registry.set_config(f"{TOPIC}-value", {"compatibility": "NONE"})
    rows = client.spark.sql(ROWS)
    plan = plan_write(client.registry, TOPIC, COLUMNS)
    by_engine = [[row["value"] for row in rows.transform(to_registry(plan, engine=e)).collect()] for e in ENGINES]
    column = rows.select(to_registry(rows.columns, plan))
    assert by_engine[0] == by_engine[-1] == [row[0] for row in column.collect()]
    client.write(rows, plan)
    other = client.spark.sql("SELECT 3L AS id, 'Ken' AS name, 'x' AS more")
    client.write(other, plan_write(client.registry, TOPIC, schema=OTHER))
    odd = client.spark.sql(
        "SELECT CAST(NULL AS BINARY) AS value UNION ALL SELECT X'7B7D' UNION ALL SELECT X'000001E24000'"
    )
    kafka = {"kafka.bootstrap.servers": client.bootstrap_servers, "topic": TOPIC}
    odd.coalesce(1).selectExpr("CAST('k' AS BINARY) AS key", "value").write.format("kafka").options(**kafka).save()


def reading(client: Client) -> None:
    """The engines that Spark has give the same rows and the same reasons."""
    rows = {engine: client.read(engine) for engine in ENGINES}
    ada, second, ken, *odd = rows[ENGINES[0]]
    assert (ada["value"]["ID"], ada["value"]["NAME"], str(ada["value"]["BORN"])) == (1, "Ada", "1815-12-10")
    assert (second["value"]["ID"], second["value"]["NAME"]) == (2, None)
    assert (ken["value"]["ID"], ken["value"]["NAME"], ken["value"]["BORN"]) == (3, "Ken", None)
    assert [row["value"] for row in odd] == [None, None, None]
    assert [row["_srfix_reason"] for row in odd] == ["TOMBSTONE", "BAD_MAGIC", "UNKNOWN_ID"]
    assert [row["_srfix_payload"] for row in odd] == [None, b"{}", bytes.fromhex("000001E24000")]
    assert [(row["value"], row["_srfix_reason"]) for row in rows["jvm"]] == [
        (row["value"], row["_srfix_reason"]) for row in rows[ENGINES[0]]
    ]


def column(client: Client) -> None:
    """A Column decodes where it stands, by both engines: of a name, of an expression, with a filter on it, in quarantine."""
    options = {"kafka.bootstrap.servers": client.bootstrap_servers, "subscribe": TOPIC}
    raw = client.spark.read.format("kafka").options(**options).load().withColumn("payload", F.struct("value"))
    for engine in ENGINES:
        named = from_registry("value", client.plan, on_error="null", engine=engine)
        nested = from_registry(F.col("payload")["value"], client.plan, on_error="quarantine", engine=engine)
        read = raw.select("offset", named.alias("v"), nested.alias("n")).orderBy("offset")
        rows = read.collect()
        assert [None if row["v"] is None else row["v"]["ID"] for row in rows] == [1, 2, 3, None, None, None]
        reasons = [row["n"]["_srfix_reason"] for row in rows]
        assert reasons == [None, None, None, "TOMBSTONE", "BAD_MAGIC", "UNKNOWN_ID"]
        assert read.where("v.ID > 2").select("v.NAME").collect() == [Row(NAME="Ken")]
        assert good_rows(read.select("n.*")).count() == 4
        with pytest.raises(BadRowError, match=r"BAD_MAGIC|UNKNOWN_ID"), clear_errors():
            raw.select(from_registry("value", client.plan, engine=engine).alias("v")).collect()


def several_topics(client: Client) -> None:
    """Each row is read by its topic's plan, and a topic without one has none."""
    plans = {"elsewhere": client.plan, TOPIC: client.plan}
    options = {"bootstrap_servers": client.bootstrap_servers, "assign": {TOPIC: [0], "elsewhere": [0]}}
    with pytest.raises(ClusterError):
        read_topic(client.spark, plans, **options)  # type: ignore[arg-type]
    pattern = f"{TOPIC[:-1]}."
    for given, reason in (({TOPIC: client.plan}, None), ({"elsewhere": client.plan}, "NO_PLAN")):
        read = read_topic(
            client.spark,
            given,
            bootstrap_servers=client.bootstrap_servers,
            subscribe_pattern=pattern,
            on_error="quarantine",
        )
        assert [row["_srfix_reason"] for row in read.where("offset = 0").collect()] == [reason]


def quarantine(client: Client) -> None:
    """A stream writes what can be written, and keeps the other rows. The server runs what keeps them."""
    with TemporaryDirectory() as name:
        plan = plan_write(client.registry, f"{TOPIC}-kept", "ID BIGINT, SEEN TIMESTAMP")
        rows = client.spark.sql(
            "SELECT * FROM VALUES (1L, TIMESTAMP'2024-01-02'), (2L, TIMESTAMP'2024-01-02 00:00:00.000001') AS t(id, seen)"
        )
        rows.write.parquet(f"{name}/in")
        write = partial(
            write_stream,
            client.spark.readStream.schema(rows.schema).parquet(f"{name}/in"),
            plan,
            bootstrap_servers=client.bootstrap_servers,
            on_error="quarantine",
            quarantine=lambda bad, batch_id: bad.write.mode("append").parquet(f"{name}/bad"),
        )
        if lacks_arrow():
            with pytest.raises(EngineRefusedError, match=r"The arrow engine needs Spark 4\.1 or newer"):
                write()
            return
        writer = write()
        query = writer.option("checkpointLocation", f"{name}/checkpoint").trigger(availableNow=True).start()
        with clear_errors():
            assert query.awaitTermination(120)
        kept = client.spark.read.parquet(f"{name}/bad").collect()
        assert [(row["id"], row["_srfix_reason"]) for row in kept] == [(2, "ENCODE_FAILED")]


def bad_rows_apart(client: Client) -> None:
    """Frames are counted, and good rows and bad ones told apart."""
    records = client.spark.read.format("kafka").options(
        **{"kafka.bootstrap.servers": client.bootstrap_servers, "subscribe": TOPIC}
    )
    observation = Observation("users")
    read = records.load().transform(from_registry(client.plan, on_error="quarantine", observe=observation))
    # Not sorted: in Spark 4.1 what a sort reads for its sample is counted too.
    assert sorted(row["value"] is None for row in good_rows(read).collect()) == [False] * 3 + [True]
    assert bad_rows(read).count() == 2
    counts = counts_of(observation.get)
    assert (counts.rows, counts.tombstones, counts.bad, counts.unknown_ids) == (6, 1, 2, (123456,))
    assert counts.by_reason == {Reason.BAD_MAGIC: 1, Reason.UNKNOWN_ID: 1}


def failing(client: Client) -> None:
    """A bad row fails a job, and is named."""
    read = read_topic(client.spark, client.plan, bootstrap_servers=client.bootstrap_servers)
    with pytest.raises(BadRowError) as caught, clear_errors():
        read.collect()
    error = caught.value
    assert (error.topic, error.partition) == (TOPIC, 0)
    assert (error.offset, error.reason) in ((4, Reason.BAD_MAGIC), (5, Reason.UNKNOWN_ID))


def streaming(client: Client) -> None:
    """A stream of all there is, into a table in memory."""
    read = read_stream(client.spark, client.plan, bootstrap_servers=client.bootstrap_servers, on_error="null")
    query = read.select("offset", "value.ID").writeStream.format("memory").queryName("users")
    with clear_errors():
        assert query.trigger(availableNow=True).start().awaitTermination(60)
    found = client.spark.table("users").orderBy("offset").collect()
    assert [row["ID"] for row in found] == [1, 2, 3, None, None, None]


def data_source(client: Client) -> None:
    """`format("srfix")` is found by its name, and reads the same."""
    options = {
        "bootstrap.servers": client.bootstrap_servers,
        "topic": TOPIC,
        "registry": client.registry_url,
        "columns": COLUMNS,
        "on.error": "quarantine",
    }
    found = client.spark.read.format("srfix").options(**options).load().collect()
    assert sorted((row["ID"] or 0, row["NAME"]) for row in found if row["ID"]) == [(1, "Ada"), (2, None), (3, "Ken")]


def census(client: Client) -> None:
    """The census on Spark counts what the local one does."""
    config = {"bootstrap.servers": client.bootstrap_servers}
    request = CensusRequest(topic=Topic(TOPIC), partitions=(0,), committed=None)
    assert SparkCensus(client.spark, config).count(request).partitions == LocalCensus(config).count(request).partitions


def public(client: Client) -> None:
    """This is Spark Connect, with the jars, and no classic session beside it."""
    check_session(client.spark)
    assert type(client.spark).__module__.startswith("pyspark.sql.connect")
    assert SparkContext._active_spark_context is None
    assert SparkContext._gateway is None


def stores_on_disk(client: Client) -> None:
    """A task of an application in each task of Spark's; what a worker does not see is an error."""
    (state,) = read_state_directory(STATE)
    parts = list(open_stores(state, "ts"))
    decoder = RecordDecoder(ById(client.registry), roles=())
    work = ScanWork(wanted=RowFilter(), decoder=decoder, second=SecondAnswers(), limit=5)
    (scanned,) = PartsOnSpark(client.spark).run(work, parts, doing="reading ts")
    assert [row.row.key for row in scanned.rows] == [b"t1", b"t2"]
    parts[0].directory = replace(parts[0].directory, path="/nowhere")
    with pytest.raises(StateDirectoryError, match=r"sees no directory /nowhere"):
        PartsOnSpark(client.spark).run(work, parts, doing="reading ts")


CHECKS: Final[dict[str, Callable[[Client], None]]] = {
    check.__name__: check
    for check in (
        public,
        writing,
        reading,
        column,
        several_topics,
        quarantine,
        bad_rows_apart,
        failing,
        streaming,
        data_source,
        census,
        stores_on_disk,
    )
}
"""In their order: all but the first two read what `writing` wrote."""
SMOKE: Final = ("public", "writing", "reading", "column", "streaming")


def main(remote: str, bootstrap_servers: str, registry: str, results: str, *checks: str) -> None:
    """The checks, and `writing`, whatever became of the others; what failed goes to the file `results`, by name."""
    client = Client(remote, bootstrap_servers, registry)
    failures: dict[str, str | None] = {}
    for name, check in CHECKS.items():
        if name not in ("writing", *checks):
            continue
        began = time.monotonic()
        try:
            check(client)
        except Exception:  # noqa: BLE001 - it is told, by the check's name
            failures[name] = traceback.format_exc()
        else:
            failures[name] = None
        print(
            f"{name}: {'passed' if failures[name] is None else 'FAILED'}, {time.monotonic() - began:.1f} s", flush=True
        )
        Path(results).write_text(json.dumps(failures))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Both engines on Spark, and the default, beside what is written by hand, of files, streams of files and Kafka, on 1, 3 and 30
shapes of schemas, with casts and without; and the census of both beside a bare read.

    make bench-spark        (python -m tests.bench.bench_spark [--records N] [--rounds R])

CPU time of the tasks: of their threads in the JVM and of the Python workers, the median of the rounds; the routes take turns.
What else the JVM does is a half of its CPU time in runs of this size, and differs from turn to turn: it compiles, collects,
and plans each query. One task runs at a time, because two on the two halves of a core slow each other down. Wall times stand
beside and are only told. Every route's rows are counted and summed before it is measured.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow.dataset
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from parts.jars import spark_jars
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.fetching import fetch
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import CensusRequest, LocalCensus, SparkCensus
from srfix.serde import RegistryClient, Topic
from srfix.serde.spark import Engine, ReadPlan, from_registry, plan_read, plan_write, to_registry
from srfix.serde.spark.avro_limits import with_avro_limits
from srfix.serde.wire import frame_id
from tests.bench.measuring import Figures, arguments, gate, table
from tests.bench.spark_by_hand import (
    decode_nothing,
    decode_with_fastavro,
    decode_with_from_avro,
    encode_nothing,
    encode_with_fastavro,
    encode_with_to_avro,
)
from tests.bench.spark_data import COLUMNS, SCHEMAS, TOPIC, lower_schema, shapes, write_topic

Transform: TypeAlias = Callable[[DataFrame], DataFrame]

_PARTITIONS: Final = 4
_RECORDS_A_KEY: Final = 10
_TURNS_TO_WARM_UP: Final = 6
_OF_TASKS: Final = ("Executor task", "stdout writer")
"""How the names of their threads begin: that of the task, and on old Sparks the one that writes to its Python worker."""
_BINARY: Final = "binary only"
_NOTHING: Final = "by hand: mapInArrow, nothing done"
_ONE_ID: Final = "from_avro, one id"
_BRANCHES: Final = "by hand: when + from_avro"
_FASTAVRO: Final = "by hand: mapInArrow + fastavro"
_JVM: Final = "srfix, jvm"
_AUTO: Final = "srfix, auto"
_ARROW: Final = "srfix, arrow"
_ENGINES: Final[Mapping[str, Engine]] = {_JVM: "jvm", _AUTO: "auto", _ARROW: "arrow"}
_SOURCE: Final = 'format("srfix")'
_SHAPES: Final = (1, 3, 30)
_OF_FILES: Final = "jvm beside branches by hand, from files"
_OF_KAFKA: Final = "jvm beside branches by hand, from Kafka"
_OF_AUTO: Final = "auto, the default, beside jvm"
_OF_STREAMS: Final = "auto beside jvm, of streams"
_OF_ARROW: Final = "arrow beside jvm, from files"
_WANTED: Final = {_OF_FILES: 1.2, _OF_KAFKA: 1.1, _OF_AUTO: 1.05, _OF_STREAMS: 1.5, _OF_ARROW: 1.8}
_FILTER: Final = "partition = 0 AND offset % 10 = 0"
"""What reaches the source, or does not."""
_TO_AVRO: Final = "by hand: to_avro"


def cpu_of_tasks() -> dict[str, float]:
    """User and system seconds of each living thread that does the work of tasks: those of that name in the JVM, and all of
    Spark's Python daemon and its workers. What plans a query is not among them. The seconds are those of Linux' scheduler:
    /proc/*/stat counts in hundredths.
    """
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = stat.read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
    spent: dict[str, float] = {}
    for process in parents:
        ancestor: int | None = parents[process]
        while ancestor not in (None, 0, os.getpid()):
            ancestor = parents.get(ancestor)
        if ancestor == os.getpid():
            with suppress(OSError):
                spent |= _cpu_of(Path(f"/proc/{process}"))
    return spent


def _cpu_of(process: Path) -> dict[str, float]:
    is_daemon = b"pyspark.daemon" in (process / "cmdline").read_bytes()
    spent: dict[str, float] = {}
    for thread in (process / "task").iterdir():
        with suppress(OSError):
            if is_daemon or (thread / "comm").read_text().startswith(_OF_TASKS):
                spent[str(thread)] = int((thread / "schedstat").read_text().split()[0]) / 1e9
    return spent


def run(frame: DataFrame) -> None:
    """Every row and column, nowhere."""
    if frame.isStreaming:
        with tempfile.TemporaryDirectory(prefix="srfix-bench-") as checkpoint:
            writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
            writer.trigger(availableNow=True).start().awaitTermination()
        return
    frame.write.format("noop").mode("overwrite").save()


def measured(routes: Mapping[str, DataFrame], *, records: int, rounds: int) -> tuple[Figures, Figures]:
    """CPU and wall nanoseconds a record, each route once a round, after turns to warm up, on a heap that was collected."""
    cpu: dict[str, list[float]] = {name: [] for name in routes}
    wall: dict[str, list[float]] = {name: [] for name in routes}
    for frame in [*routes.values()] * _TURNS_TO_WARM_UP:
        run(frame)
    for number in range(rounds):
        left = list(routes)[:: 1 if number % 2 else -1]
        while left:
            name = left[-1]
            routes[name].sparkSession.sparkContext._jvm.System.gc()  # type: ignore[union-attr]
            cpu_before, wall_before = cpu_of_tasks(), time.perf_counter()
            run(routes[name])
            wall_spent, cpu_after = time.perf_counter() - wall_before, cpu_of_tasks()
            if cpu_before.keys() - cpu_after.keys():
                continue  # what has ended took its part of the turn with it: once more
            spent = sum(seconds - cpu_before.get(thread, 0.0) for thread, seconds in cpu_after.items())
            wall[left.pop()].append(wall_spent * 1e9 / records)
            cpu[name].append(spent * 1e9 / records)
    return Figures(spent=cpu), Figures(spent=wall)


@contextmanager
def session(scratch: Path) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    import pyspark

    release = ".".join(pyspark.__version__.split(".")[:2])
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.jars", ",".join(map(str, fetch(spark_jars(release)))))
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "3g")
        # Its collections are short and all at once; G1's threads work beside the tasks all the time.
        .config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC")
        .config(map={**with_avro_limits({})})
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(scratch / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def _same_rows(routes: Mapping[str, DataFrame], names: list[str]) -> None:
    sums = {
        name: frame.select(F.sum(F.xxhash64(*names).cast("decimal(20)")), F.count("*")).collect()
        for name, frame in routes.items()
    }
    assert len(set(map(str, sums.values()))) == 1, f"the routes do not agree: {sums}"


def _one_id() -> Column:
    """Every payload under the one schema: half of them are not of it, and cost what a broken one costs."""
    return F.inline(F.array(from_avro(F.expr("substring(value, 6)"), SCHEMAS[3], {"mode": "PERMISSIVE"})))


def decoding(topic: DataFrame, client: RegistryClient, *, records: int, rounds: int) -> bool:
    plan = plan_read(client, TOPIC, COLUMNS, ids=SCHEMAS)
    engines: dict[str, DataFrame] = {
        name: topic.transform(
            from_registry(plan, engine=engine, on_error="quarantine", workers_have_srfix=engine != "jvm")
        )
        for name, engine in _ENGINES.items()
    }
    by_hand = {_BRANCHES: decode_with_from_avro(topic), _FASTAVRO: decode_with_fastavro(topic)}
    names = [column.name for column in plan.columns]
    flat = {name: frame.select("value.*") for name, frame in engines.items()}
    _same_rows({**flat, **{name: frame.select(*names) for name, frame in by_hand.items()}}, names)
    routes = {
        _BINARY: topic,
        _NOTHING: decode_nothing(topic),
        _ONE_ID: topic.select(_one_id()),
        **by_hand,
        **engines,
    }
    cpu, wall = measured(routes, records=records, rounds=rounds)
    table("decode, CPU a record", cpu, _BRANCHES, _FASTAVRO)
    table("decode, wall a record", wall, _BRANCHES, _FASTAVRO)
    return all(
        [
            gate("jvm beside branches by hand", cpu.ratio(_JVM, _BRANCHES), at_most=1.15),
            gate("fastavro in mapInArrow beside jvm", cpu.ratio(_FASTAVRO, _JVM), at_least=6),
            gate("arrow beside fastavro in mapInArrow", cpu.ratio(_ARROW, _FASTAVRO), at_most=1.1),
        ]
    )


def by_shapes(spark: SparkSession, scratch: Path, *, records: int, rounds: int) -> bool:
    """What users have: topics whose columns need casts and such as need none, of few schemas and many; as files, as a stream of
    them, from Kafka, with a filter behind it too. The gates are for the worst row.
    """
    worst = dict.fromkeys((_OF_FILES, _OF_KAFKA, _OF_AUTO, _OF_STREAMS, _OF_ARROW), 0.0)
    for with_casts, count in product((False, True), _SHAPES):
        schemas = shapes(count, with_casts=with_casts)
        folder = scratch / f"shapes-{count}-{with_casts}"
        folder.mkdir()
        write_topic(folder, records, schemas)
        files = spark.read.parquet(str(folder))
        title = f"{count} shapes, {'casts' if with_casts else 'no casts'}"
        with FixtureRegistry() as registry, KraftBroker() as broker:
            seed(registry, schemas)
            plan = plan_read(RegistryClient(registry.url), TOPIC, COLUMNS, ids=schemas)
            by_hand = partial(decode_with_from_avro, schemas=schemas, with_casts=with_casts)
            stream = spark.readStream.schema(files.schema).parquet(str(folder))
            of_files = _routes(files, plan, by_hand) | {_ARROW: _read(files, plan, "arrow")}
            cpu = _told(f"{title}, files", of_files, records, rounds)
            worst[_OF_FILES] = max(worst[_OF_FILES], cpu.ratio(_JVM, _BRANCHES))
            worst[_OF_AUTO] = max(worst[_OF_AUTO], cpu.ratio(_AUTO, _JVM))
            worst[_OF_ARROW] = max(worst[_OF_ARROW], cpu.ratio(_ARROW, _JVM))
            cpu = _told(f"{title}, a stream of files", _routes(stream, plan, by_hand), records, rounds)
            worst[_OF_STREAMS] = max(worst[_OF_STREAMS], cpu.ratio(_AUTO, _JVM))
            broker.create_topic(TOPIC, _PARTITIONS, {"retention.ms": "-1"})
            produce_payloads(broker.bootstrap_servers, folder)
            theirs = {
                "kafka.bootstrap.servers": broker.bootstrap_servers,
                "subscribe": TOPIC,
                "startingOffsets": "earliest",
            }
            ours = {
                "bootstrap.servers": broker.bootstrap_servers,
                "schema.registry.url": registry.url,
                "subscribe": TOPIC,
                "columns": COLUMNS,
                "startingOffsets": "earliest",
            }
            topic = spark.read.format("kafka").options(**theirs).load()
            for where, condition in (("Kafka", None), ("Kafka, filtered", _FILTER)):
                of_topic = _routes(topic, plan, by_hand, condition)
                if condition is None:
                    of_topic[_SOURCE] = spark.read.format("srfix").options(**ours).load()
                cpu = _told(f"{title}, {where}", of_topic, records, rounds)
                worst[_OF_KAFKA] = max(worst[_OF_KAFKA], cpu.ratio(_JVM, _BRANCHES))
                worst[_OF_AUTO] = max(worst[_OF_AUTO], cpu.ratio(_AUTO, _JVM))
            stream = spark.readStream.format("kafka").options(**theirs).load()
            of_stream = _routes(stream, plan, by_hand) | {
                _SOURCE: spark.readStream.format("srfix").options(**ours).load()
            }
            cpu = _told(f"{title}, a stream of Kafka", of_stream, records, rounds)
            worst[_OF_STREAMS] = max(worst[_OF_STREAMS], cpu.ratio(_AUTO, _JVM))
    print("\nthe worst of these rows")
    held = [gate(what, ratio, at_most=_WANTED[what]) for what, ratio in worst.items()]
    return all(held)


def _routes(
    source: DataFrame, plan: ReadPlan, by_hand: Transform, condition: str | None = None
) -> dict[str, DataFrame]:
    def filtered(frame: DataFrame) -> DataFrame:
        return frame if condition is None else frame.where(condition)

    return {
        _BRANCHES: by_hand(filtered(source)),
        _JVM: filtered(_read(source, plan, "jvm")).select("value.*"),
        _AUTO: filtered(_read(source, plan, "auto")).select("value.*"),
    }


def _read(source: DataFrame, plan: ReadPlan, engine: Engine) -> DataFrame:
    return source.transform(from_registry(plan, engine=engine, workers_have_srfix=engine != "jvm"))


def _told(title: str, routes: Mapping[str, DataFrame], records: int, rounds: int) -> Figures:
    cpu, _ = measured(routes, records=records, rounds=rounds)
    table(f"{title}, CPU a record", cpu, _BRANCHES, _JVM)
    return cpu


def encoding(rows: DataFrame, client: RegistryClient, *, records: int, rounds: int) -> bool:
    plan = plan_write(client, "bench-written", schema=lower_schema())
    routes = {
        _TO_AVRO: encode_with_to_avro(rows),
        _FASTAVRO: encode_with_fastavro(rows),
        _JVM: rows.transform(to_registry(plan, engine="jvm")),
        _ARROW: rows.transform(to_registry(plan, engine="arrow")),
    }
    bodies = {name: frame.select(F.expr("substring(value, 6)").alias("body")) for name, frame in routes.items()}
    _same_rows(bodies, ["body"])
    routes[_NOTHING] = encode_nothing(rows)
    cpu, wall = measured(routes, records=records, rounds=rounds)
    table("encode, CPU a record", cpu, _TO_AVRO, _FASTAVRO)
    table("encode, wall a record", wall, _TO_AVRO, _FASTAVRO)
    return all(
        [
            gate("fastavro in mapInArrow beside jvm", cpu.ratio(_FASTAVRO, _JVM), at_least=5),
            gate("arrow beside a Python stage that writes nothing", cpu.ratio(_ARROW, _NOTHING), at_most=1.6),
        ]
    )


def counting(spark: SparkSession, *, records: int, rounds: int) -> bool:
    """Rates of a census: a thread that only consumes, the local engine, a bare read on Spark, Spark's engine."""
    keys = max(1, records // _RECORDS_A_KEY)
    with KraftBroker() as broker:
        broker.create_topic(TOPIC, _PARTITIONS, {"retention.ms": "-1"})
        produce(broker.bootstrap_servers, keys, records)
        config = {"bootstrap.servers": broker.bootstrap_servers}
        request = CensusRequest(topic=Topic(TOPIC), partitions=tuple(range(_PARTITIONS)), committed=None)
        kafka = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        frame = kafka.option("subscribe", TOPIC).load()
        local, on_spark = LocalCensus(config), SparkCensus(spark, config)
        assert local.count(request) == on_spark.count(request), "the engines do not agree"
        routes: Mapping[str, Callable[[], object]] = {
            "bare consume(500)": lambda: consume(broker.bootstrap_servers, records),
            "census, local": lambda: local.count(request),
            "bare read on Spark": lambda: run(frame),
            # What any census has to do: the least that finds the latest record of each key.
            "latest offset by key, Spark": lambda: run(frame.groupBy("partition", "key").agg(F.max("offset"))),
            "census, Spark": lambda: on_spark.count(request),
        }
        print(f"\ncensus of {records:,} records, {keys:,} keys, {_PARTITIONS} partitions: records a second, wall")
        seconds = {name: min(_timed(route) for _ in range(rounds)) for name, route in routes.items()}
        for name, spent in seconds.items():
            print(f"  {name:36}{records / spent:12,.0f}")
        rate = seconds["bare read on Spark"] / seconds["census, Spark"]
        return gate("census on Spark beside a bare read, in records a second", rate, at_least=0.8)


def _timed(route: Callable[[], object]) -> float:
    begun = time.perf_counter()
    route()
    return time.perf_counter() - begun


def produce(bootstrap_servers: str, keys: int, records: int) -> None:
    """Keys again and again, a tombstone now and then, two ids."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": "20", "batch.size": "1000000"})
    body = b"x" * 100
    for number in range(records):
        key, value = b"customer-%08d" % (number % keys), frame_id(3 if number % 4 else 7, body)
        while True:
            try:
                producer.produce(TOPIC, key=key, value=None if number % 20 == 19 else value)
            except BufferError:
                producer.poll(0.1)
            else:
                break
        if number % 1000 == 0:
            producer.poll(0)
    producer.flush()


def produce_payloads(bootstrap_servers: str, folder: Path) -> None:
    """The payloads of Parquet files, over all partitions."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "linger.ms": "20", "batch.size": "1000000"})
    number = 0
    for batch in pyarrow.dataset.dataset(folder).to_batches(columns=["value"]):
        for value in batch.column(0).to_pylist():
            while True:
                try:
                    producer.produce(TOPIC, value=value, partition=number % _PARTITIONS)
                except BufferError:
                    producer.poll(0.1)
                else:
                    break
            number += 1
        producer.poll(0)
    producer.flush()


def consume(bootstrap_servers: str, records: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "bench", "enable.auto.commit": False})
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(_PARTITIONS)])
    seen = 0
    while seen < records:
        seen += len(consumer.consume(500, 5))
    consumer.close()


def seed(registry: FixtureRegistry, schemas: Mapping[int, str] = SCHEMAS) -> None:
    """The topic's schemas, under the ids that its payloads carry."""
    for schema_id in range(1, max(schemas) + 1):
        other = f'{{"type": "fixed", "size": {schema_id}, "name": "Other"}}'
        given = registry.seed(*((f"{TOPIC}-value", schemas[schema_id]) if schema_id in schemas else ("other", other)))
        assert given == schema_id


def rows_of(topic: DataFrame, folder: Path) -> str:
    """Where the rows of id 3 are, as a frame of its fields, as often as the topic has payloads."""
    is_three = topic.where(F.substring("value", 2, 4) == F.lit((3).to_bytes(4, "big")))
    rows = is_three.select(from_avro(F.expr("substring(value, 6)"), lower_schema()).alias("row")).select("row.*")
    rows.union(rows).write.parquet(str(folder))
    return str(folder)


def main() -> int:
    options = arguments(__doc__, records=1_000_000, rounds=5)
    with (
        tempfile.TemporaryDirectory(prefix="srfix-bench-") as scratch,
        FixtureRegistry() as registry,
        session(Path(scratch)) as spark,
    ):
        folder = Path(scratch) / "topic"
        folder.mkdir()
        write_topic(folder, options.records)
        seed(registry)
        client = RegistryClient(registry.url)
        topic = spark.read.parquet(str(folder))
        rows = spark.read.parquet(rows_of(topic, Path(scratch) / "rows"))
        held = [
            decoding(topic, client, records=options.records, rounds=options.rounds),
            encoding(rows, client, records=options.records, rounds=options.rounds),
            by_shapes(spark, Path(scratch), records=options.records // 2, rounds=options.rounds),
            counting(spark, records=2 * options.records, rounds=3),
        ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())

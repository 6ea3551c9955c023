"""The census on Spark: its rules of framing against `wire_peek`, its numbers against the local engine on the same topics."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

import pytest
import trustme
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from parts.guarded_broker.access import Tls
from parts.guarded_broker.broker import GuardedBroker
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.recovery import Census, CensusRequest, Cluster, LocalCensus, SparkCensus
from srfix.recovery.census.interface import CensusProgress
from srfix.recovery.census.spark_topic import finished, peek_sql
from srfix.serde import AccessDeniedError, ClusterError, Role, Topic, UsageError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.wire import frame_guid, frame_id, schema_id_header
from srfix.serde.wire_peek import BY_GUID, NO_PAYLOAD, UNFRAMED, SchemaIdPeek, peek_headers
from tests.stack.compaction import COMPACT, offsets, wait_until
from tests.stack.test_guarded_broker import certificate

Headers = list[tuple[str, bytes | None]]

GUID: Final = UUID("6a8e3a4b-1d3c-4d64-9c0b-0a0a4f7c1f10")
VALUE_HEADER: Final = schema_id_header(Role.VALUE)
ODD: Final = Topic("census-odd")
COMPACTED: Final = Topic("census-compacted")
TRANSACTIONS: Final = Topic("census-transactions")
SCHEMA: Final = "payload BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"


def v(schema_id: int, body: bytes = b"row") -> bytes:
    return frame_id(schema_id, body)


def record(
    topic: str, partition: int, key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None]
) -> ProducedRecord:
    return ProducedRecord(topic=topic, partition=partition, key=key, value=value, headers=headers)


def odd_records() -> Iterator[ProducedRecord]:
    """All that a producer may do, in two partitions of three."""
    by_guid, broken = (VALUE_HEADER, frame_guid(GUID)), (VALUE_HEADER, b"broken")
    of_key = (schema_id_header(Role.KEY), frame_guid(GUID))
    rows: list[tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]] = [
        (b"a", v(1), ()),
        (b"a", v(2), ()),  # superseded
        (b"b", v(1), ()),
        (b"b", None, ()),  # removed
        (b"c", v(3), ()),
        (b"c", None, ()),
        (b"c", v(1), ()),  # removed, and there again
        (None, v(4), ()),  # no key
        (None, None, ()),
        (b"", v(5), ()),  # an empty key is a key
        (b"json", b'{"a": 1}', ()),
        (b"short", b"\x00\x00", ()),
        (b"empty", b"", ()),
        (b"zero", bytes(5) + b"row", ()),  # no registry gives id 0
        (b"\x00" * 8, v(2**31 - 1), ()),  # a BIGINT key is not framed
        (b"beyond", b"\xff" + v(1), ()),
        (b"above", b"\x00\xff\xff\xff\xff", ()),  # more than a Java int
        (b"just above", b"\x00\x80\x00\x00\x00row", ()),
        ((2**55 + 7).to_bytes(8, "big"), v(1), ()),  # a BIGINT key that begins with 00, and is not framed
        (v(7, b"k"), v(1), ()),  # framed keys
        (v(7, b"k"), v(2), (of_key,)),  # the same key, by header
        (v(8, b"k"), v(2), ()),
        (b"g1", frame_guid(GUID, b"row"), ()),
        (b"g2", b"row", (by_guid,)),
        (b"g3", v(1), (("trace", b"x"), by_guid)),  # a header wins
        (b"g4", v(1), (by_guid, broken)),  # the last header counts
        (b"g5", v(1), (broken, by_guid)),
        (b"g6", None, (by_guid,)),  # but not over a tombstone
        (b"g7", v(1), ((VALUE_HEADER, None),)),
        (b"g8", b"\x01short", ()),
    ]
    random = Random(7)
    for partition in (0, 2):
        for key, value, headers in rows:
            yield record(ODD, partition, key, value, *headers)
        for _ in range(300):
            key, value, headers = random.choice(rows)
            yield record(ODD, partition, key, value, *headers)


def compacted_records() -> Iterator[ProducedRecord]:
    for number in range(1_500):
        value = None if number % 97 == 0 else v(1 + number // 700, b"x" * 40)
        yield record(COMPACTED, number % 2, b"k%d" % (number % 60), value)


def batched(records: Iterable[ProducedRecord], size: int) -> Iterator[list[ProducedRecord]]:
    rest = iter(records)
    while batch := list(islice(rest, size)):
        yield batch


def write_transactions(broker: KraftBroker) -> None:
    """Committed and aborted ones, an aborted one at the end, so that markers end the log."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "census", "log_level": 0})
    producer.init_transactions(30)
    for number, is_committed in enumerate((True, False, True, False)):
        producer.begin_transaction()
        for key in range(20):
            producer.produce(TRANSACTIONS, key=b"k%d" % key, value=v(number + 1), partition=key % 2)
        producer.flush(30)
        (producer.commit_transaction if is_committed else producer.abort_transaction)(30)


@pytest.fixture(scope="module")
def cluster(broker: KraftBroker) -> KraftBroker:
    """The broker, with the topics of this module."""
    broker.create_topic(COMPACTED, 2, COMPACT)
    broker.create_topic(ODD, 3)
    broker.create_topic(TRANSACTIONS, 3)
    for batch in batched(compacted_records(), 200):  # none larger than a segment
        broker.produce(batch)
    broker.produce(odd_records())
    write_transactions(broker)
    return broker


@dataclass(frozen=True)
class Engines:
    """Both engines on one cluster."""

    local: LocalCensus
    spark: SparkCensus

    def agree(self, request: CensusRequest) -> Census:
        counted = self.spark.count(request)
        assert counted == self.local.count(request)
        return counted


@pytest.fixture
def engines(spark: SparkSession, cluster: KraftBroker) -> Engines:
    config = {"bootstrap.servers": cluster.bootstrap_servers}
    return Engines(LocalCensus(config, stall_timeout_s=1.0), SparkCensus(spark, config, stall_timeout_s=1.0))


def asked(
    topic: Topic,
    partitions: int,
    committed: Mapping[int, int | None] | None = None,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> CensusRequest:
    return CensusRequest(topic=topic, partitions=tuple(range(partitions)), committed=committed, isolation=isolation)


def generated(random: Random) -> tuple[bytes | None, Headers | None]:
    """Beginnings that mean something, cut anywhere, and headers now and then."""
    begins = (
        b"\x00"
        + random.choice([0, 1, 2, 255, 256, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1]).to_bytes(4, "big")
        + b"row",
        b"\x00" + random.randbytes(4),
        frame_guid(GUID, b"row"),
        random.randbytes(20),
        b"{}",
    )
    whole = random.choice(begins)
    payload = None if random.random() < 0.1 else whole[: random.choice([0, 1, 4, 5, 6, 16, 17, 18, 30])]
    values = (frame_guid(GUID), frame_guid(GUID, b"x"), b"\x02" + bytes(16), b"", None)
    names = (VALUE_HEADER, VALUE_HEADER, "trace", schema_id_header(Role.KEY))
    headers = [(random.choice(names), random.choice(values)) for _ in range(random.randrange(4))]
    return payload, headers if random.random() < 0.4 else None


class TestPeekSql:
    def test_what_counts_as_framed_is_what_wire_peek_says(self, spark: SparkSession) -> None:
        random = Random(11)
        rows = [generated(random) for _ in range(2_000)]
        peeked = SchemaIdPeek()([payload for payload, _ in rows])
        expected = peek_headers([headers for _, headers in rows], peeked, Role.VALUE)
        assert {NO_PAYLOAD, BY_GUID, UNFRAMED, 1, 2**31 - 1} < set(expected)
        found = (
            spark.createDataFrame(rows, SCHEMA)
            .selectExpr(
                f"{peek_sql('payload', Role.VALUE)} AS id", f"{peek_sql('payload', Role.VALUE, headers=None)} AS bare"
            )
            .collect()
        )
        assert [row["id"] for row in found] == expected
        assert [row["bare"] for row in found] == peeked


class TestTheSameNumbers:
    @pytest.mark.parametrize(
        "committed",
        [
            None,
            pytest.param({0: 17, 1: 0, 2: 330}, marks=pytest.mark.smoke),
            {0: None, 1: 5, 2: 40},
            {0: 10_000, 1: None, 2: 0},
        ],
        ids=["global table", "in the middle", "one without", "beyond the end"],
    )
    def test_of_all_that_a_producer_may_do(self, engines: Engines, committed: Mapping[int, int | None] | None) -> None:
        census = engines.agree(asked(ODD, 3, committed))
        assert [partition.records for partition in census.partitions] == [330, 0, 330]
        assert census.ids(Role.KEY) == (7, 8)
        assert census.ids(Role.VALUE) == (1, 2, 3, 4, 5, 2**31 - 1)
        values = census.partitions[0].values
        assert min(values.guids, values.unframed, values.nulls) > 0

    @pytest.mark.parametrize("isolation", Isolation)
    def test_of_transactions(self, engines: Engines, isolation: Isolation) -> None:
        census = engines.agree(asked(TRANSACTIONS, 3, {0: 25, 1: 44, 2: None}, isolation))
        committed_only = isolation is Isolation.READ_COMMITTED
        assert census.ids(Role.VALUE) == ((1, 3) if committed_only else (1, 2, 3, 4))
        assert not census.is_partial

    def test_of_a_compacted_log(self, engines: Engines, cluster: KraftBroker) -> None:
        wait_until(lambda: all(len(of) <= of[-1] for of in offsets(cluster, COMPACTED).values()))
        census = engines.agree(asked(COMPACTED, 2, {0: 600, 1: 100_000}))
        assert all(p.records < p.end_offset - p.start_offset for p in census.partitions)

    def test_in_one_job_or_in_several(self, spark: SparkSession, cluster: KraftBroker, engines: Engines) -> None:
        told: list[CensusProgress] = []
        several = SparkCensus(spark, {"bootstrap.servers": cluster.bootstrap_servers}, offsets_per_job=100)
        census = several.count(asked(ODD, 3), on_progress=told.append)
        assert census == engines.local.count(asked(ODD, 3))
        assert (told[-1].records_done, told[-1].records_total) == (660, 660)

    def test_of_what_an_open_transaction_hides(self, engines: Engines, cluster: KraftBroker) -> None:
        topic = Topic("census-open")
        cluster.create_topic(topic, 1)
        cluster.produce([record(topic, 0, b"a", v(1))])
        producer = Producer(
            {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "open", "log_level": 0}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(topic, key=b"a", value=v(2))
        producer.flush(30)
        try:
            census = engines.agree(asked(topic, 1, isolation=Isolation.READ_COMMITTED))
            assert census.partitions[0].stopped_early == (
                "an open transaction hides the records from offset 1 on; the log ended at 2 when the read began"
            )
            assert engines.agree(asked(topic, 1)).ids(Role.VALUE) == (1, 2)
        finally:
            producer.abort_transaction(30)


class TestWhatIsNotRead:
    def test_a_limit_of_records_cuts_every_partition_and_says_so(self, engines: Engines) -> None:
        census = engines.spark.count(replace(asked(ODD, 3), max_records=100))
        assert [partition.records for partition in census.partitions] == [50, 0, 50]
        assert [partition.stopped_early for partition in census.partitions] == [
            said := "offsets 50 to 329 were not read: the limit of 100 records (--max-records) was reached",
            None,
            said,
        ]
        cut = engines.spark.count(replace(asked(ODD, 3), max_records=501))
        assert [partition.records for partition in cut.partitions] == [250, 0, 251]
        engines.agree(replace(asked(ODD, 3), max_records=660))

    def test_at_the_deadline_nothing_more_is_read_and_that_is_said(self, engines: Engines) -> None:
        engines.agree(replace(asked(ODD, 3), deadline_s=1e-9))
        engines.agree(replace(asked(ODD, 3), deadline_s=600))

    def test_a_start_that_moves_meanwhile_is_said(
        self, engines: Engines, cluster: KraftBroker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        topic = Topic("census-moved")
        cluster.create_topic(topic, 1)
        cluster.produce(record(topic, 0, b"k%d" % number, v(number + 1)) for number in range(9))
        look = Cluster.watermarks

        def look_and_delete(self: Cluster, name: str, partitions: Iterable[int]) -> Mapping[int, tuple[int, int]]:
            answer = look(self, name, partitions)
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
            for deletion in admin.delete_records([TopicPartition(topic, 0, 4)]).values():
                deletion.result(30)
            return answer

        monkeypatch.setattr(Cluster, "watermarks", look_and_delete)
        (partition,) = engines.spark.count(asked(topic, 1)).partitions
        assert (partition.start_offset, partition.start_moved_to, partition.records) == (0, 4, 5)
        assert [count.schema_id for count in partition.values.ids] == [5, 6, 7, 8, 9]
        assert partition.stopped_early is None


class TestFinished:
    """A job that would take hours is interrupted, not waited for."""

    def endless(self, spark: SparkSession) -> int:
        return int(spark.range(10**14).selectExpr("sum(id % 7) AS n").collect()[0]["n"])

    def test_what_is_done_in_time_is_given_and_the_rest_is_interrupted(self, spark: SparkSession) -> None:
        jobs = {"soon": lambda: 3, "never": lambda: self.endless(spark)}
        began = time.monotonic()
        assert dict(finished(spark, jobs, give_up_at=began + 1)) == {"soon": 3}
        assert time.monotonic() - began < 15

    def test_control_c_interrupts_what_runs(self, spark: SparkSession) -> None:
        def press() -> None:
            raise KeyboardInterrupt

        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            list(finished(spark, {"never": lambda: self.endless(spark)}, on_tick=press))
        assert time.monotonic() - began < 15


class TestAGuardedCluster:
    """TLS, a client's certificate and a password, in librdkafka's names; the rights of a reader, and none on any group."""

    def test_the_properties_reach_the_executors(self, spark: SparkSession, tmp_path: Path) -> None:
        topic, password = Topic("guarded"), "correct-horse"
        ca = trustme.CA()
        ca.cert_pem.write_to_path(tmp_path / "ca.pem")
        chain, key = certificate(ca, tmp_path, "127.0.0.1")
        own_chain, own_key = certificate(ca, tmp_path, "reader.example.com")
        tls = Tls(certificate_chain=chain, key=key, ca=tmp_path / "ca.pem", client_ca=tmp_path / "ca.pem")
        users = {"reader": password, "looker": password}
        with GuardedBroker(topics={topic: 1}, users=users, tls=tls) as broker:
            broker.produce([record(topic, 0, b"a", v(1))])
            broker.allow("reader", "TOPIC", topic, "READ")
            broker.allow("looker", "TOPIC", topic, "DESCRIBE")
            own = {"ssl.certificate.location": str(own_chain), "ssl.key.location": str(own_key)}
            reader, looker = ({**broker.user_config(user), **own} for user in users)
            census = SparkCensus(spark, reader).count(asked(topic, 1))
            assert census == LocalCensus(reader).count(asked(topic, 1))
            assert census.ids(Role.VALUE) == (1,)
            with pytest.raises(AccessDeniedError, match=r"The ACL to ask for is Read on topic 'guarded'\.$") as denied:
                SparkCensus(spark, looker).count(asked(topic, 1))
            assert password not in denied.value.message
            assert "PRIVATE KEY" not in denied.value.message


class TestFailures:
    def test_a_cluster_that_spark_cannot_reach_is_named(self, spark: SparkSession, cluster: KraftBroker) -> None:
        config = {"bootstrap.servers": cluster.bootstrap_servers}
        engine = SparkCensus(
            spark,
            config,
            kafka_options={
                "kafka.bootstrap.servers": "127.0.0.1:9",
                "kafka.request.timeout.ms": "500",
                "kafka.default.api.timeout.ms": "500",
            },
        )
        with pytest.raises(
            ClusterError,
            match=rf"^Failed at the Kafka cluster at {cluster.bootstrap_servers} while reading {ODD} on Spark: .*Timeout",
        ):
            engine.count(asked(ODD, 3))

    def test_a_property_that_java_lacks_is_refused(self, spark: SparkSession) -> None:
        with pytest.raises(UsageError, match=r"queued\.min\.messages belongs to librdkafka"):
            SparkCensus(spark, {"bootstrap.servers": "a:1", "queued.min.messages": "1"})

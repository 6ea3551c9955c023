"""The local census, on the embedded broker."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

import pytest

from parts.counted_broker import CountedBroker
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery import Census, CensusRequest, Cluster, LocalCensus
from srfix.recovery.census.interface import CensusProgress, IdCount, RoleCensus
from srfix.serde import ClusterError, Role, Topic
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.wire import SchemaId, frame_guid, frame_id, schema_id_header

GUID = UUID("6a8e3a4b-1d3c-4d64-9c0b-0a0a4f7c1f10")
TOPIC = "orders"

Row = tuple[bytes | None, bytes | None]


def v(schema_id: int, body: bytes = b"row") -> bytes:
    return frame_id(schema_id, body)


def records(partition: int, rows: Sequence[Row]) -> list[ProducedRecord]:
    return [ProducedRecord(topic=TOPIC, partition=partition, key=key, value=value) for key, value in rows]


def counted_on(
    broker: EmbeddedBroker,
    partitions: tuple[int, ...],
    committed: Mapping[int, int | None] | None,
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> Census:
    request = CensusRequest(topic=Topic(TOPIC), partitions=partitions, committed=committed, isolation=isolation)
    return LocalCensus({"bootstrap.servers": broker.bootstrap_servers}).count(request)


def count(
    produced: Sequence[ProducedRecord],
    *,
    partitions: int = 1,
    committed: Mapping[int, int | None] | None = None,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
) -> Census:
    with EmbeddedBroker(topics={TOPIC: partitions}) as broker:
        if produced:
            broker.produce(produced)
        return counted_on(broker, tuple(range(partitions)), committed, isolation=isolation)


def of_id(
    schema_id: int, numbers: tuple[int, int | None, int], offsets: tuple[int, int], live_offset: int | None
) -> IdCount:
    seen, live, pending = numbers
    first, last = offsets
    return IdCount(
        schema_id=SchemaId(schema_id),
        records=seen,
        live_keys=live,
        pending_keys=pending,
        first_offset=first,
        last_offset=last,
        live_offset=live_offset,
    )


class TestLiveAndPending:
    def test_the_latest_record_of_a_key_before_the_committed_offset_is_live(self) -> None:
        rows: list[Row] = [
            (b"a", v(1)),
            (b"b", v(1)),
            (b"c", v(1)),
            (b"b", v(2)),  # 3
            (b"c", None),
            (b"a", v(3)),  # 5: the committed offset
            (b"d", v(3)),
            (b"b", v(2)),
            (b"d", None),
        ]
        partition = count(records(0, rows), committed={0: 5}).partitions[0]
        assert partition.values.ids == (
            of_id(1, (3, 1, 0), (0, 2), 0),
            of_id(2, (2, 1, 1), (3, 7), 3),
            of_id(3, (2, 0, 1), (5, 6), None),
        )
        assert partition.values.nulls == 2
        assert (partition.records, partition.start_offset, partition.end_offset) == (9, 0, 9)
        assert (partition.committed_offset, partition.restore_limit) == (5, 5)

    def test_without_a_committed_offset_nothing_is_live_and_all_is_pending(self) -> None:
        rows: list[Row] = [(b"a", v(1)), (b"a", v(2)), (b"b", v(1))]
        without, unnamed = count(records(0, rows) + records(1, rows), partitions=2, committed={0: None}).partitions
        for partition in (without, unnamed):
            assert partition.values.ids == (
                of_id(1, (2, None, 1), (0, 2), None),
                of_id(2, (1, None, 1), (1, 1), None),
            )
            assert (partition.committed_offset, partition.restore_limit) == (None, None)

    def test_a_global_table_is_restored_to_the_end(self) -> None:
        rows: list[Row] = [(b"a", v(1)), (b"b", v(1)), (b"a", v(2))]
        partition = count(records(0, rows), committed=None).partitions[0]
        assert partition.values.ids == (of_id(1, (2, 1, 0), (0, 1), 1), of_id(2, (1, 1, 0), (2, 2), 2))
        assert (partition.committed_offset, partition.restore_limit) == (None, 3)

    @pytest.mark.parametrize(("committed", "limit", "live"), [(99, 1, 1), (0, 0, 0)], ids=["past the end", "zero"])
    def test_a_committed_offset_counts_up_to_the_end(self, committed: int, limit: int, live: int) -> None:
        partition = count(records(0, [(b"a", v(1))]), committed={0: committed}).partitions[0]
        assert (partition.committed_offset, partition.restore_limit) == (committed, limit)
        assert (partition.values.ids[0].live_keys, partition.values.ids[0].pending_keys) == (live, 1 - live)


def test_every_framing_of_keys_and_values_is_told_apart() -> None:
    """As `test_counting.py` has it for any log; here as the broker hands it over."""
    header = (schema_id_header(Role.VALUE), frame_guid(GUID))

    def record(key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None]) -> ProducedRecord:
        return ProducedRecord(topic=TOPIC, partition=0, key=key, value=value, headers=headers)

    partition = count(
        [
            record(b"a", frame_guid(GUID, b"row")),
            record(b"b", b"row", header),
            record(b"c", v(1), ("trace", b"x"), header),  # the header wins
            record(v(7, b"d"), v(1), ("trace", b"x")),
            record(b"e", v(1), (header[0], b"broken")),
            record(b"f", None, header),
            record(None, v(1)),
            record(b"g", b""),  # no tombstone
        ]
    ).partitions[0]
    assert partition.values == RoleCensus(
        ids=(of_id(1, (2, 1, 0), (3, 6), 3),),
        guids=3,
        unframed=2,
        nulls=1,
        first_unframed_offset=4,
        live_unframed_keys=2,
    )
    assert partition.of(Role.KEY) is partition.keys
    assert (partition.keys.ids, partition.keys.nulls) == ((of_id(7, (1, 1, 0), (3, 3), 3),), 1)


class TestReading:
    def test_a_topic_without_records_is_whole_and_empty(self) -> None:
        census = count([], partitions=3, committed={0: None, 1: 0, 2: 5})
        assert [(p.partition, p.records, p.end_offset, p.restore_limit) for p in census.partitions] == [
            (0, 0, 0, None),
            (1, 0, 0, 0),
            (2, 0, 0, 0),
        ]
        assert not census.is_partial
        assert census.ids(Role.VALUE) == ()
        some = count(records(1, [(b"a", v(2))]) + records(3, [(b"a", v(1))]), partitions=4)
        assert [p.records for p in some.partitions] == [0, 1, 0, 1]
        assert some.ids(Role.VALUE) == (1, 2)

    def test_more_records_than_a_batch_in_many_partitions_are_all_counted(self) -> None:
        produced = [
            ProducedRecord(topic=TOPIC, partition=number % 7, key=f"k{number % 700}".encode(), value=v(1 + number % 3))
            for number in range(7_000)
        ]
        census = count(produced, partitions=7, isolation=Isolation.READ_COMMITTED)
        assert census.isolation is Isolation.READ_COMMITTED
        assert [p.records for p in census.partitions] == [1_000] * 7
        live = [sum(c.live_keys or 0 for c in p.values.ids) for p in census.partitions]
        assert live == [100] * 7

    def test_a_log_that_has_lost_its_start_is_read_from_where_it_starts(self) -> None:
        with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            broker.produce(records(0, [(str(n).encode(), v(1, b"x" * 60_000)) for n in range(120)]))
            census = counted_on(broker, (0,), {0: 10})
        partition = census.partitions[0]
        assert 10 < partition.start_offset < partition.end_offset == 120
        assert partition.records == 120 - partition.start_offset
        assert partition.values.ids[0].live_keys == 0, "the committed offset is before the log's start"

    def test_what_is_written_meanwhile_is_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with EmbeddedBroker(topics={TOPIC: 2}) as broker:
            broker.produce(records(0, [(b"a", v(1))] * 700) + records(1, [(b"a", v(1))] * 30))
            look = Cluster.watermarks

            def look_and_write(
                cluster: Cluster, topic: str, partitions: Iterable[int]
            ) -> Mapping[int, tuple[int, int]]:
                answer = look(cluster, topic, partitions)
                broker.produce(records(0, [(b"b", v(2))] * 900) + records(1, [(b"b", v(2))] * 20))
                return answer

            monkeypatch.setattr(Cluster, "watermarks", look_and_write)
            census = counted_on(broker, (0, 1), None)
        assert [(p.end_offset, p.records) for p in census.partitions] == [(700, 700), (30, 30)]
        assert census.ids(Role.VALUE) == (1,)

    @pytest.mark.slow
    def test_progress_is_told_a_few_times_a_second_at_most(self) -> None:
        told: list[CensusProgress] = []
        with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            broker.produce(records(0, [(b"a", v(1))] * 50_000))
            began = time.monotonic()
            LocalCensus({"bootstrap.servers": broker.bootstrap_servers}).count(
                CensusRequest(topic=Topic(TOPIC), partitions=(0,), committed=None), on_progress=told.append
            )
        assert 1 <= len(told) <= 2 + (time.monotonic() - began) / 0.25
        assert (told[-1].topic, told[-1].records_done, told[-1].records_total) == (TOPIC, 50_000, 50_000)


class TestReadOnly:
    def test_nothing_is_joined_committed_or_created(self) -> None:
        offset_commit, join_group, sync_group, create_topics = 8, 11, 14, 19
        with CountedBroker(topics={TOPIC: 2}) as broker:
            broker.produce(records(0, [(b"a", json.dumps({"plain": True}).encode())]))
            before = broker.requests()
            engine = LocalCensus(
                {
                    "bootstrap.servers": broker.bootstrap_servers,
                    "group.id": "app",
                    "enable.auto.commit": "true",
                    "auto.commit.interval.ms": "1",
                    "allow.auto.create.topics": "true",
                    "auto.offset.reset": "latest",
                    "isolation.level": "read_committed",
                }
            )
            engine.count(CensusRequest(topic=Topic(TOPIC), partitions=(0, 1), committed=None))
            with pytest.raises(ClusterError, match="no topic 'app-store-changelog'"):
                engine.count(CensusRequest(topic=Topic("app-store-changelog"), partitions=(0,), committed=None))
            asked = broker.requests() - before
            assert asked[1] > 0, "it fetched"
            assert not {offset_commit, join_group, sync_group, create_topics} & set(asked)
            assert broker.topics == {TOPIC: 2}


class TestFailures:
    @pytest.mark.slow
    def test_a_broker_that_dies_meanwhile_fails_after_the_stall_and_says_where(self) -> None:
        broker = EmbeddedBroker(topics={TOPIC: 1})
        broker.produce(records(0, [(b"a", v(1, b"x" * 50))] * 60_000))

        def die(progress: CensusProgress) -> None:
            broker.close()

        engine = LocalCensus(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                # little at a time, so that it dies in the middle
                "fetch.message.max.bytes": "2000",
                "queued.min.messages": "1",
                "fetch.queue.backoff.ms": "1000",
            },
            stall_timeout_s=1.5,
        )
        with pytest.raises(ClusterError, match=r"orders\[0\]: .*no record for 1\.5 s at offset \d+ of 60000"):
            engine.count(CensusRequest(topic=Topic(TOPIC), partitions=(0,), committed=None), on_progress=die)

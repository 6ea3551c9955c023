"""Which partition a key goes to, which hosts hold its task, and what readers of its row meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery import Cluster
from srfix.recovery.cluster.streams_members import StreamsMember, StreamsMembers
from srfix.recovery.facts.stores import Membership
from srfix.recovery.state.directory import Task, Traces
from srfix.recovery.state.formats.joins import JoinSideKey, Side
from srfix.recovery.state.formats.windows import SESSIONS, WINDOWS, StoredWindow
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.stores.whereabouts import (
    AskedSubject,
    HostRole,
    RowRead,
    asked_subjects,
    hosts_by_group,
    is_failing,
    key_in_topic,
    murmur2,
    newest_record,
    partition_of,
    row_read,
    task_of,
)
from srfix.serde import Schema, Subject, Topic
from srfix.serde.wire import SchemaId
from tests.recovery.state.encoding import encode_join_side_key

TASK = Task(name="0_0", path="", subtopology=0, partition=0)
GLOBAL = Task(name="global", path="", subtopology=None, partition=None)
NAMED = Task(name="orders__0_0", path="", subtopology=0, partition=0, topology="orders")
USERS = Topic("users")
CHANGELOG = Topic("shop-users-store-changelog")
KNOWN = Schema(text='"string"')


def member(name: str, active: str, standby: str, endpoint: str | None = None) -> StreamsMember:
    return StreamsMember(
        client_id=name,
        address="10.0.0.7",
        endpoint=endpoint,
        subscription=11,
        active=(active,),
        standby=(standby,) if standby else (),
    )


GROUP = StreamsMembers(
    group="shop",
    members=(member("a", "0_0", "0_1", "one:8080"), member("b", "0_1", "0_0"), member("c", "orders__0_1", "")),
    problem=None,
)


@pytest.mark.core
class TestHostsByGroup:
    @pytest.mark.parametrize(
        ("task", "partition", "expected"),
        [
            (TASK, 1, [("one:8080", HostRole.STANDBY), ("10.0.0.7", HostRole.ACTIVE)]),
            (TASK, 0, [("one:8080", HostRole.ACTIVE), ("10.0.0.7", HostRole.STANDBY)]),
            (TASK, 7, []),
            (NAMED, 1, [("10.0.0.7", HostRole.ACTIVE)]),
            (GLOBAL, 3, [("one:8080", HostRole.EVERY), ("10.0.0.7", HostRole.EVERY), ("10.0.0.7", HostRole.EVERY)]),
        ],
    )
    def test_each_member_that_has_the_task_is_named(
        self, task: Task, partition: int, expected: list[tuple[str, HostRole]]
    ) -> None:
        assert [(each.host, each.role) for each in hosts_by_group(GROUP, task, partition)] == expected

    def test_a_task_is_called_as_its_directory(self) -> None:
        assert [task_of(task, 4) for task in (TASK, NAMED, GLOBAL)] == ["0_4", "orders__0_4", "global"]


@pytest.mark.parametrize(
    ("topic", "is_late", "subjects"),
    [
        (CHANGELOG, False, [f"{CHANGELOG}-value"]),
        (None, False, [f"{CHANGELOG}-value"]),
        (USERS, False, [f"{CHANGELOG}-value", "users-value"]),
        (USERS, True, ["users-value"]),  # 3.2 and later
    ],
)
def test_the_asked_subjects_are_those_of_the_version(topic: Topic | None, is_late: bool, subjects: list[str]) -> None:
    traces = Traces(
        has_process_metadata=True, has_task_locks=False, has_position_files=is_late, has_offsets_column_families=False
    )
    assert [each.subject for each in asked_subjects(CHANGELOG, topic, traces)] == subjects


def read(code: int | None, *, row: str = "task 0_0", schema: Schema | None = KNOWN) -> RowRead:
    membership = Membership(schema_id=SchemaId(7), schema=schema, error_code=code, answered_id=None)
    return row_read(row, AskedSubject(subject=Subject("s"), asked_by="Kafka Streams"), membership, is_in_topic=False)


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        ([], False),
        ([read(None)], False),
        ([read(40403), read(None)], True),  # the incident
        ([read(40401), read(None)], False),  # nobody has ever written under the first one
        ([read(40401), read(40401)], True),
        ([read(None, schema=None)], True),  # the registry has lost it
        ([read(None), read(40401, row="another")], True),
    ],
)
def test_a_row_fails_where_somebody_asks_a_subject_without_it(reads: list[RowRead], expected: bool) -> None:
    assert is_failing(reads) is expected


@contextmanager
def users(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[Cluster]:
    """A topic of these keys and values."""
    with EmbeddedBroker(topics={USERS: 1}) as broker:
        broker.produce([ProducedRecord(topic=USERS, partition=0, key=key, value=value) for key, value in rows])
        with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
            yield cluster


def test_the_newest_record_of_a_key_is_looked_for_from_the_end() -> None:
    keys = [b"old", b"new", *(b"k%d" % number for number in range(1_500)), b"new"]
    with users((key, b"%d" % number) for number, key in enumerate(keys)) as cluster:
        for key, most, value, looked_at, is_all in (
            (b"new", 10_000, b"1502", 1_000, False),
            (b"old", 10_000, b"0", 1_503, True),
            (b"old", 1_200, None, 1_200, False),
            (b"nobody", 10_000, None, 1_503, True),
        ):
            found = newest_record(cluster, USERS, 0, key, most=most)
            assert (found.record and found.record.value, found.looked_at, found.is_all) == (value, looked_at, is_all)


def in_window(key: bytes) -> bytes:
    return WINDOWS.encode(key, StoredWindow(60_000, None, 3))


def in_session(key: bytes) -> bytes:
    return SESSIONS.encode(key, StoredWindow(1, 5))


@pytest.mark.parametrize(
    ("form", "of_k1", "of_others"),
    [
        (StoreFormat.TIMESTAMPED_WINDOW, in_window(b"k1"), in_window(b"k11")),
        (StoreFormat.SESSION, in_session(b"k1"), in_session(b"k0")),
        (StoreFormat.LIST_VALUE, encode_join_side_key(JoinSideKey(key=b"k1", timestamp_ms=9, side=Side.LEFT)), b"k1"),
        (StoreFormat.TIMESTAMPED_KV, b"k1", b"k1\0\0\0\0\0\0\xea\x60\0\0\0\0"),
    ],
)
def test_the_newest_record_of_a_key_is_found_whatever_stands_beside_it(
    form: StoreFormat, of_k1: bytes, of_others: bytes
) -> None:
    key_of = key_in_topic(form)
    assert key_of is not None
    rows = ((of_k1, b"older"), (of_k1, b"newer"), (of_others, b"others"))
    with users(rows) as cluster:
        found = newest_record(cluster, USERS, 0, b"k1", key_of=key_of)
    assert found.record is not None
    assert found.record.value == b"newer"


@pytest.mark.parametrize(
    ("key", "hashed", "of_6", "of_4"),
    [
        ("21", -973932308, 0, 0),
        ("foobar", -790332482, 0, 2),
        ("a-little-bit-long-string", -985981536, 2, 0),
        ("abc", 479470107, 3, 3),
        ("k1", 1684045097, 5, 1),
        ("1", -1993445489, 3, 3),
    ],
)
def test_a_key_goes_where_java_puts_it(key: str, hashed: int, of_6: int, of_4: int) -> None:
    assert (murmur2(key.encode()), partition_of(key.encode(), 6), partition_of(key.encode(), 4)) == (hashed, of_6, of_4)


@given(st.binary(max_size=50), st.integers(min_value=1, max_value=1000))
def test_every_key_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= partition_of(key, partitions) < partitions
    assert -(2**31) <= murmur2(key) < 2**31
    with pytest.raises(ValueError, match="at least one partition"):
        partition_of(key, 0)

"""A census in a hurry: what it reads until a limit, what it says of the rest, and how long that will take."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery import Census, CensusRequest, LocalCensus
from srfix.recovery.census.interface import CensusProgress
from srfix.serde import Role, Topic
from srfix.serde.printable import counted
from srfix.serde.wire import frame_id

TOPIC = Topic("orders")
EACH = 1_200


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    """Two full partitions, each of whose keys is superseded by a record under id 2 in its second half, and an empty."""
    with EmbeddedBroker(topics={TOPIC: 3}) as broker:
        broker.produce(
            ProducedRecord(
                topic=TOPIC, partition=partition, key=b"%d" % (n % 600), value=frame_id(1 + n // 600, b"row")
            )
            for partition in (0, 1)
            for n in range(EACH)
        )
        yield broker.bootstrap_servers


def count(
    servers: str, *, deadline_s: float | None = None, max_records: int | None = None
) -> tuple[Census, list[CensusProgress]]:
    told: list[CensusProgress] = []
    census = LocalCensus({"bootstrap.servers": servers}).count(
        CensusRequest(
            topic=TOPIC, partitions=(0, 1, 2), committed=None, deadline_s=deadline_s, max_records=max_records
        ),
        on_progress=told.append,
    )
    return census, told


class TestMaxRecords:
    @pytest.mark.parametrize("most", [0, 1, 499, 500, 501, 600, 1_201, 2 * EACH - 1])
    def test_no_more_records_are_read_and_what_was_not_read_is_said(self, servers: str, most: int) -> None:
        census, told = count(servers, max_records=most)
        assert sum(p.records for p in census.partitions) == most
        assert census.is_partial
        for partition in census.partitions:
            read, end = partition.records, partition.end_offset
            said = partition.stopped_early or ""
            assert (f"offsets {read} to {end - 1} were not read" in said) is (read < end)
            assert (f"{counted(most, 'record')} (--max-records)" in said) is (read < end)
        assert (told[-1].records_done, told[-1].records_total) == (most, most)
        live = sum(c.live_keys or 0 for p in census.partitions for c in p.values.ids)
        assert most > EACH or live == min(most, 600)

    @pytest.mark.parametrize("most", [2 * EACH, 2 * EACH + 1, None])
    def test_a_limit_that_is_not_reached_changes_nothing(self, servers: str, most: int | None) -> None:
        census, told = count(servers, max_records=most, deadline_s=600)
        assert not census.is_partial
        assert census.ids(Role.VALUE) == (1, 2)
        assert [[c.live_keys for c in p.values.ids] for p in census.partitions] == [[0, 600], [0, 600], []]
        assert told[-1].records_total == 2 * EACH


class TestDeadline:
    def test_the_read_stops_at_the_deadline_and_says_so(self, servers: str) -> None:
        began = time.monotonic()
        census, told = count(servers, deadline_s=1e-9)
        assert time.monotonic() - began < 10
        *stopped, empty = [p.stopped_early for p in census.partitions]
        assert all("offsets 0 to 1199 were not read: the deadline of 1e-09 s" in (said or "") for said in stopped)
        assert empty is None
        assert census.ids(Role.VALUE) == ()
        assert told[-1].left_s == 0

    def test_a_topic_that_is_silent_is_left_at_the_deadline(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Without one this is a stall, and an error.
        with EmbeddedBroker(topics={TOPIC: 1}) as broker:
            broker.produce([ProducedRecord(topic=TOPIC, partition=0, key=b"a", value=frame_id(1, b"row"))])
            engine = LocalCensus({"bootstrap.servers": broker.bootstrap_servers, "reconnect.backoff.max.ms": "100"})
            monkeypatch.setattr(
                "srfix.recovery.cluster.cluster.Cluster.watermarks", lambda _self, _topic, partitions: {0: (0, 5)}
            )
            census = engine.count(CensusRequest(topic=TOPIC, partitions=(0,), committed=None, deadline_s=0.5))
        assert "offsets 1 to 4 were not read: the deadline of 0.5 s" in (census.partitions[0].stopped_early or "")


class TestTimeLeft:
    def progress(
        self, done: int, *, total: int = 1_000, elapsed_s: float = 2.0, deadline_s: float | None = None
    ) -> CensusProgress:
        return CensusProgress(
            topic=TOPIC, records_done=done, records_total=total, elapsed_s=elapsed_s, deadline_s=deadline_s
        )

    @pytest.mark.parametrize(
        ("done", "deadline_s", "left_s"),
        [(250, None, 6), (250, 5, 3), (250, 50, 6), (0, 5, 3), (0, None, None)],
    )
    def test_it_is_what_the_rest_takes_at_the_rate_so_far_or_until_the_deadline(
        self, done: int, deadline_s: float | None, left_s: float | None
    ) -> None:
        progress = self.progress(done, deadline_s=deadline_s)
        assert (progress.records_per_s, progress.left_s) == (done / 2, left_s)

    @given(
        done=st.integers(0, 10**9),
        more=st.integers(0, 10**9),
        elapsed_s=st.floats(0, 1e6),
        deadline_s=st.none() | st.floats(0, 1e6),
    )
    def test_it_is_never_negative(self, done: int, more: int, elapsed_s: float, deadline_s: float | None) -> None:
        left_s = self.progress(done, total=done + more, elapsed_s=elapsed_s, deadline_s=deadline_s).left_s
        assert left_s is None or left_s >= 0

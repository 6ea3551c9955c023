"""The follower of logs, on the embedded broker: where it stops, what it goes on with, and what it does not lose."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Message
from confluent_kafka.admin import AdminClient, TopicDescription

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery.serving import following
from srfix.recovery.serving import partition as partitions
from srfix.recovery.serving.databases import RocksDatabase
from srfix.recovery.serving.following import Follower
from srfix.recovery.serving.partition import Progress, ServedPartition, ServedStore
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.choices import Until
from srfix.serde.errors import ClusterError, SrfixError
from srfix.serde.properties.kafka_client import ReadOnlyClient
from tests.recovery.serving.records import TOPIC, rows_of

KV = StoreToWrite(name="users", kind=WrittenKind.TIMESTAMPED_KV)
WINDOWS = StoreToWrite(name="users", kind=WrittenKind.TIMESTAMPED_WINDOW, retention_ms=600_000)


@dataclass
class Followed:
    broker: EmbeddedBroker
    folder: Path
    committed: dict[int, int | None] = field(default_factory=dict)
    is_denied: bool = False
    closing: list[Callable[[], None]] = field(default_factory=list)
    looking: list[threading.Thread] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    is_over: threading.Event = field(default_factory=threading.Event)

    def partition(self, number: int, *, store: StoreToWrite = KV, until: Until = Until.END) -> ServedPartition:
        served = ServedStore(application="shop", store=store, topic=TOPIC, partitions=2, until=until)
        part = ServedPartition(served, number, RocksDatabase(self.folder / str(number)))
        self.closing.append(part.close)
        return part

    def follow(self, *parts: ServedPartition) -> Follower:
        served = parts[0].served if parts else self.partition(1).served
        client = ReadOnlyClient({"bootstrap.servers": self.broker.bootstrap_servers})

        def committed(group: str, places: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int | None]:
            assert group == "shop"
            if self.is_denied:
                raise ClusterError("denied")
            return {place: self.committed.get(place[1]) for place in places}

        follower = Follower(client, served, committed=committed)  # type: ignore[arg-type]
        self.looking.append(threading.Thread(target=self._look, args=(follower,)))
        self.looking[-1].start()
        self.closing += [follower.close, self.stop_looking]
        follower.follow(parts)
        return follower

    def stop_looking(self) -> None:
        self.is_over.set()
        for thread in self.looking:
            thread.join()

    def _look(self, follower: Follower) -> None:
        while not self.is_over.wait(0.05):
            try:
                follower.look()
            except SrfixError as error:
                self.problems.append(error.message)

    def produce(self, number: int, *keys: bytes, value: bytes | None = b"v") -> None:
        self.broker.produce(ProducedRecord(topic=TOPIC, partition=number, key=key, value=value) for key in keys)


@dataclass(frozen=True)
class _Denied:
    """The methods of `confluent_kafka.Message` that are asked of an error."""

    code: int

    def error(self) -> KafkaError:
        return KafkaError(self.code)

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return 0


def until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def keys(part: ServedPartition) -> list[bytes]:
    return [row.key for row in rows_of(part)]


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[Followed]:
    with EmbeddedBroker(topics={TOPIC: 2}) as broker:
        followed = Followed(broker, tmp_path)
        try:
            yield followed
        finally:
            for close in reversed(followed.closing):
                close()


def test_an_empty_log_is_caught_up(followed: Followed) -> None:
    part = followed.partition(0)
    followed.follow(part)
    until(lambda: part.lag.is_caught_up)
    assert (part.offset, part.end, part.lag.lag_ms) == (0, 0, 0)


class TestUntilCommitted:
    def test_it_stops_at_the_offset_and_goes_on_when_it_moves(self, followed: Followed) -> None:
        followed.produce(0, b"a", b"b", b"c")
        followed.committed[0] = 2
        part = followed.partition(0, until=Until.COMMITTED)
        followed.follow(part)
        until(lambda: part.lag.is_caught_up)
        assert (keys(part), part.offset, part.end) == ([b"a", b"b"], 2, 2)
        followed.committed[0] = 3
        until(lambda: part.offset == 3)
        assert keys(part) == [b"a", b"b", b"c"]

    def test_records_beyond_the_offset_that_came_with_the_end_of_the_log_are_not_passed_over(
        self, followed: Followed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(following, "_POLL_S", 0.5)
        followed.produce(0, b"a", b"b", b"c")
        followed.committed[0] = 2
        part = followed.partition(0, until=Until.COMMITTED)
        followed.follow(part)
        until(lambda: part.lag.is_caught_up)
        followed.committed[0] = 3
        until(lambda: part.offset == 3)
        assert keys(part) == [b"a", b"b", b"c"]

    def test_records_after_the_offset_are_read_again_although_the_end_was_met(self, followed: Followed) -> None:
        followed.produce(0, b"a", b"b", b"c")
        followed.committed[0] = 2
        part = followed.partition(0, until=Until.COMMITTED)
        follower = followed.follow(part)
        until(lambda: part.lag.is_caught_up and 0 in follower._waiting)
        follower._met[0] = 3
        followed.committed[0] = 3
        until(lambda: part.offset == 3)
        assert keys(part) == [b"a", b"b", b"c"]

    def test_nothing_was_committed(self, followed: Followed) -> None:
        followed.produce(0, b"a")
        part = followed.partition(0, until=Until.COMMITTED)
        followed.follow(part)
        until(lambda: part.lag.is_caught_up)
        assert (keys(part), part.offset) == ([], 0)
        (note,) = part.notes
        assert note.startswith(f"shop has committed no offset of {TOPIC}, ")

    def test_an_offset_after_the_last_record_is_reached(self, followed: Followed) -> None:
        """What ends a transaction has an offset; the embedded broker has none, so the last record comes later here."""
        followed.produce(0, b"a", b"b")
        followed.committed[0] = 2
        part = followed.partition(0, until=Until.COMMITTED)
        follower = followed.follow(part)
        until(lambda: part.lag.is_caught_up and 0 in follower._met)
        followed.committed[0] = 3
        follower._met[0] = 3
        until(lambda: part.offset == 3)
        assert part.lag.is_caught_up

    def test_a_group_that_may_not_be_read_holds_up_nobody_else(self, followed: Followed) -> None:
        followed.produce(0, b"a")
        followed.is_denied = True
        limited, free = followed.partition(1, until=Until.COMMITTED), followed.partition(0)
        followed.follow(limited)
        followed.follow(free)
        until(lambda: free.offset == 1)
        until(lambda: "denied" in followed.problems)
        assert limited.lag.records is None


class TestFaults:
    def test_a_bad_record_stops_its_partition_and_no_other(self, followed: Followed) -> None:
        window = b"ann" + struct.pack(">qi", 60_000, 0)
        followed.produce(0, window, b"no window", window)
        followed.produce(1, *[window] * 3)
        bad, good = (followed.partition(number, store=WINDOWS) for number in range(2))
        followed.follow(bad, good)
        until(lambda: good.offset == 3 and bad.problem is not None and bad.lag.records == 3)
        assert bad.offset == 0
        followed.produce(1, window)
        until(lambda: good.offset == 4)
        assert len(rows_of(good)) == 1

    def test_what_could_not_be_written_is_read_again(self, followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
        from srfix.recovery.errors import StateDirectoryError

        followed.produce(0, b"a", b"b")
        followed.produce(1, b"a", b"b")
        part, other = followed.partition(0), followed.partition(1)
        apply, left = part.apply, 1

        def fails_once(messages: Sequence[object], *, offset: int | None = None) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                raise StateDirectoryError("no room")
            apply(messages, offset=offset)  # type: ignore[arg-type]

        monkeypatch.setattr(part, "apply", fails_once)
        followed.follow(part, other)
        until(lambda: part.offset == 2 and other.offset == 2)
        assert keys(part) == keys(other) == [b"a", b"b"]
        assert part.problem is None

    def test_a_thread_that_trips_goes_on(self, followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
        followed.produce(0, b"a")
        part = followed.partition(0)
        tripped: list[int] = []

        apply = Follower._apply

        def trips(*what: object) -> None:
            if not tripped:
                tripped.append(1)
                raise ZeroDivisionError
            apply(*what)  # type: ignore[arg-type]

        monkeypatch.setattr(Follower, "_apply", trips)
        followed.follow(part)
        followed.produce(0, b"b")
        until(lambda: part.offset == 2)
        assert keys(part) == [b"a", b"b"]

    def test_a_log_that_no_longer_has_the_offset_is_read_from_its_start(self, followed: Followed) -> None:
        followed.produce(0, b"a", b"b")
        part = followed.partition(0)
        part.start_with([(b"gone", b"1", 0, ())], 1_000)
        followed.follow(part)
        until(lambda: part.offset == 2)
        assert keys(part) == [b"a", b"b"]
        assert part.notes == ["partition 0 is filled anew: its log does not have, or no longer has, the offset 1000"]

    def test_what_may_not_be_read_is_said_until_it_is_read(self, followed: Followed) -> None:
        part = followed.partition(0)
        follower = followed.follow(part)
        until(lambda: part.lag.is_caught_up)
        follower._take_event(cast("Message", _Denied(KafkaError.TOPIC_AUTHORIZATION_FAILED)))
        assert f"The ACL to ask for is Read on topic {TOPIC!r}." in (part.problem or "")
        follower._take_event(cast("Message", _Denied(KafkaError.GROUP_AUTHORIZATION_FAILED)))
        assert not followed.problems
        followed.produce(0, b"a")
        until(lambda: part.problem is None)
        assert keys(part) == [b"a"]

    def test_an_end_that_nobody_confirms_is_not_known(
        self, followed: Followed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(partitions, "_CONFIRMED_S", 1.5)
        followed.produce(0, b"a")
        part = followed.partition(0)
        followed.follow(part)
        until(lambda: part.lag.is_caught_up)
        followed.broker.close()
        until(lambda: part.lag.records is None)
        assert not part.lag.is_caught_up
        assert (part.lag.lag_ms or 0) >= 1_500

    def test_an_end_that_no_leader_names_is_not_known(self, followed: Followed) -> None:
        first, second = followed.partition(0), followed.partition(1)
        follower = followed.follow(first)
        until(lambda: first.lag.is_caught_up)
        followed.broker.close()
        follower.follow([first, second])
        until(lambda: any("asking for the end of" in problem for problem in followed.problems))
        assert second.end is None


class TestTopics:
    @pytest.mark.parametrize(
        ("answer", "problem"),
        [
            (SimpleNamespace(topic_id="new", partitions=[0, 1]), None),
            (SimpleNamespace(topic_id="old", partitions=[0, 1, 2]), "has 3 partitions now, and had 2"),
            (KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)), "There is no topic"),
            (
                KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)),
                "The ACL to ask for is Describe on topic",
            ),
        ],
    )
    def test_one_that_was_made_again_is_read_again_and_others_are_said(
        self, followed: Followed, answer: object, problem: str | None
    ) -> None:
        followed.produce(0, b"a")
        part = followed.partition(0)
        follower = followed.follow(part)
        until(lambda: part.lag.is_caught_up)
        followed.stop_looking()
        described: Future[TopicDescription] = Future()
        if isinstance(answer, Exception):
            described.set_exception(answer)
        else:
            described.set_result(cast("TopicDescription", answer))
        follower._topic_id = "old"
        follower._admin = cast("AdminClient", SimpleNamespace(describe_topics=lambda *_, **__: {TOPIC: described}))
        with nullcontext() if problem is None else pytest.raises(ClusterError, match=problem):
            follower._see_topic()
        assert follower.added == range(2, 3 if "3 partitions" in (problem or "") else 2)
        is_new = problem is None
        assert part.notes == ["partition 0 is filled anew: its topic was deleted and made again"] * is_new
        until(lambda: part.offset == 1)

    def test_a_partition_that_comes_back_after_its_topic_was_made_again_is_read_again(self, followed: Followed) -> None:
        followed.produce(0, b"a")
        part = followed.partition(0)
        part.start_with([(b"of the topic before", b"1", 0, ())], 1)
        follower = followed.follow()
        follower._topic_id = "new"
        follower.follow([part])
        until(lambda: part.offset == 1)
        assert keys(part) == [b"a"]

    def test_what_could_not_be_removed_is_removed_later(
        self, followed: Followed, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        part = followed.partition(0)
        follower = followed.follow(part)
        followed.stop_looking()
        described: Future[TopicDescription] = Future()
        described.set_result(cast("TopicDescription", SimpleNamespace(topic_id="new", partitions=[0, 1])))
        follower._admin = cast("AdminClient", SimpleNamespace(describe_topics=lambda *_, **__: {TOPIC: described}))
        follower._topic_id = "old"
        start_anew, left = part.start_anew, 1

        def fails_once(why: str) -> None:
            nonlocal left
            left -= 1
            if left >= 0:
                raise OSError("no room")
            start_anew(why)

        monkeypatch.setattr(part, "start_anew", fails_once)
        with pytest.raises(OSError, match="no room"):
            follower._see_topic()
        follower._see_topic()
        assert part.generation == 1


def test_a_head_start_is_shown_when_what_came_after_it_was_read(followed: Followed) -> None:
    followed.produce(0, b"a", b"b", b"c")
    part = followed.partition(0)
    part.start_with([(b"a", b"newer than the offset", 0, ())], 1)
    assert part.progress.is_mixed
    followed.follow(part)
    until(lambda: part.lag.is_caught_up)
    assert isinstance(part.progress, Progress)
    assert not part.progress.is_mixed
    part.apply((), offset=4)
    assert not part.progress.is_mixed

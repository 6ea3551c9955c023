"""Writes to a store's topic, queries to the members that serve it, and a model that says which answers are right."""

from __future__ import annotations

import json
import math
import random
import socket
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from threading import Event, Lock, Thread, get_ident
from typing import Any, Final

from confluent_kafka import KafkaError, Message, Producer

from tests.stack.serve_members import Serve, wait_until

QUERIES_A_SECOND: Final = 500
_WRITES_A_SECOND: Final = 100
_CLIENTS: Final = 96
_PATIENCE_S: Final = 20.0
_TIMEOUT_S: Final = 1.0
"""How long a member may wait for what it does not have."""
_END_COUNTS_S: Final = 4.0
"""An end that the broker named longer ago is not to be said: three seconds, and one for the broker's answer."""


class Topic:
    """What was written to a topic, key by key: librdkafka places the keys, by murmur2."""

    def __init__(self, bootstrap_servers: str, name: str) -> None:
        self.name = name
        self.partitions: dict[str, int] = {}
        self._written: dict[str, list[tuple[int, str | None]]] = defaultdict(list)
        """Key → the offset and the value of each record."""
        self._ends: dict[int, list[tuple[float, int]]] = defaultdict(lambda: [(-math.inf, 0)])
        """Partition → when the broker said that a record is written, and the offset after it."""
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "partitioner": "murmur2_random", "linger.ms": 5, "log_level": 0}
            | {"enable.idempotence": True}
        )

    def write(self, key: str, value: str | None) -> None:
        def is_written(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            self.partitions[key] = partition
            self._written[key].append((offset, value))
            self._ends[partition].append((time.monotonic(), offset + 1))

        self._producer.produce(self.name, key=key, value=value, on_delivery=is_written)
        self._producer.poll(0)

    def flush(self) -> None:
        assert self._producer.flush(30) == 0

    def rows(self) -> dict[str, str]:
        """The last value of each key that has one."""
        return {key: last for key, written in self._written.items() if (last := written[-1][1]) is not None}

    def value_at(self, key: str, offset: int) -> str | None:
        """The last value before an offset; None if the key has no row there."""
        written = self._written[key]
        at = bisect_left(written, offset, key=lambda one: one[0])
        return written[at - 1][1] if at else None

    def end(self, key: str, moment: float = math.inf) -> int:
        """The end of the partition of a key, at a moment or later."""
        ends = self._ends[self.partitions[key]]
        return ends[bisect_left(ends, moment, key=lambda one: one[0]) - 1][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query for a key, which was put to living members until one answered."""

    key: str
    began: float
    ended: float
    wanted: int
    """The offset whose token it had."""
    is_answered: bool = True
    value: str | None = None
    offset: int = 0
    """Of the answer."""
    known_end: int | None = None
    """The end that the answer names, from which its lag is counted."""
    refusals: tuple[str, ...] = ()
    """What members said that did not answer."""


@dataclass(slots=True)
class Load:
    """Queries at a steady rate for all keys in turn, and writes, until the `with` block ends."""

    topic: Topic
    members: Sequence[Serve]
    path: str
    queries: list[Query] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """What no client may see: a living member that did not answer, or said no words."""
    _living: list[Serve] = field(default_factory=list)
    _excused: set[Serve] = field(default_factory=set)
    _tokens: dict[int, tuple[int, str]] = field(default_factory=dict)
    """Partition → the greatest offset of an answer, and its token."""
    _connections: dict[tuple[int, Serve], HTTPConnection] = field(default_factory=dict)
    _asked: int = 0
    _lock: Lock = field(default_factory=Lock)
    _is_over: Event = field(default_factory=Event)

    @contextmanager
    def running(self) -> Iterator[Load]:
        self._living = [*self.members]
        keys, began = sorted(self.topic.partitions), time.monotonic()
        threads = [Thread(target=self._ask_on, args=(keys, began)) for _ in range(_CLIENTS)]
        threads.append(Thread(target=self._write_on, args=(keys,)))
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self._is_over.set()
            for thread in threads:
                thread.join()
            self.topic.flush()

    def lose(self, member: Serve, go: Callable[[], object]) -> float:
        """The member goes away, and the client sees it at once. Returns when."""
        moment = time.monotonic()
        self._excused.add(member)
        go()
        self._living.remove(member)
        for (_thread, other), connection in [*self._connections.items()]:
            if other is member and (open_socket := connection.sock) is not None:
                with suppress(OSError):
                    open_socket.shutdown(socket.SHUT_RDWR)
        return moment

    def come_back(self, member: Serve) -> None:
        self._living.append(member)
        self._excused.discard(member)

    def go_on(self, seconds: float) -> None:
        """Waits until as many more queries have ended as begin in so many seconds."""
        until = len(self.queries) + seconds * QUERIES_A_SECOND
        wait_until(lambda: len(self.queries) >= until, timeout_s=10 * seconds + 60)

    def _write_on(self, keys: Sequence[str]) -> None:
        chance, number = random.Random(1), 0
        while not self._is_over.wait(1 / _WRITES_A_SECOND):
            number += 1
            self.topic.write(chance.choice(keys), None if chance.random() < 0.1 else f"w{number}")

    def _ask_on(self, keys: Sequence[str], began: float) -> None:
        try:
            while not self._is_over.is_set():
                with self._lock:
                    number = self._asked
                    self._asked += 1
                self._is_over.wait(max(began + number / QUERIES_A_SECOND - time.monotonic(), 0))
                self._ask(keys[number % len(keys)])
        except Exception as error:
            self.problems.append(f"the client failed: {error!r}")
            raise
        finally:
            for (thread, _member), connection in [*self._connections.items()]:
                if thread == get_ident():
                    connection.close()

    def _ask(self, key: str) -> None:
        began, refusals = time.monotonic(), []
        wanted, token = self._tokens.get(self.topic.partitions[key], (0, ""))
        path = f"{self.path}/keys/{key}?timeout={_TIMEOUT_S}" + (f"&min_position={token}" if token else "")
        for member in random.sample(living := [*self._living], len(living)):
            try:
                status, body = self._get(member, path)
            except (OSError, HTTPException) as error:
                if member not in self._excused:
                    self.problems.append(f"{member.address} did not answer: {error!r}")
                refusals.append(f"{member.address}: {type(error).__name__}")
                continue
            if status in {200, 404}:
                answer = self._answer(body)
                break
            if not body.get("error"):
                self.problems.append(f"{member.address} said {status} and no words: {body}")
            refusals.append(f"{member.address}: {status} {body.get('error')} {body.get('failed')}")
        else:
            answer = {"is_answered": False}
        ended = time.monotonic()
        self.queries.append(Query(key=key, began=began, ended=ended, wanted=wanted, refusals=tuple(refusals), **answer))

    def _answer(self, body: Any) -> dict[str, Any]:
        (read,) = body["partitions"]
        with self._lock:
            self._tokens[read["partition"]] = max(
                self._tokens.get(read["partition"], (0, "")), (read["offset"], body["position"])
            )
        values = [row["value"]["text"] for row in body["rows"]]
        return {"offset": read["offset"], "known_end": read["end"], "value": values[0] if values else None}

    def _get(self, member: Serve, path: str) -> tuple[int, Any]:
        """:raises OSError | HTTPException: if it does not answer."""
        place = (get_ident(), member)
        connection = self._connections.get(place)
        if connection is None:
            connection = self._connections[place] = HTTPConnection(member.address, timeout=_PATIENCE_S)
        is_kept = connection.sock is not None
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except (OSError, HTTPException):
            connection.close()
            if is_kept and member not in self._excused:  # a server may close a connection that was idle
                return self._get(member, path)
            raise

    def wrong(self) -> list[Query]:
        """Answers that are not what the topic says, are older than their token, or seem to be more current than they are."""
        return [query for query in self.queries if query.is_answered and not self._is_right(query)]

    def _is_right(self, query: Query) -> bool:
        is_in_time = query.wanted <= query.offset <= self.topic.end(query.key)
        known_since = self.topic.end(query.key, query.began - _END_COUNTS_S)
        is_current = query.known_end is None or query.known_end >= known_since
        return is_in_time and is_current and query.value == self.topic.value_at(query.key, query.offset)

    def gaps(self, since: float = -math.inf) -> list[float]:
        """For each key the longest time from a query until an answer to it, or to a later one; only of queries that ended
        after a moment."""
        waiting: dict[str, float] = {}
        gaps: dict[str, float] = {}
        for query in sorted((query for query in self.queries if query.ended >= since), key=lambda query: query.began):
            began = waiting.setdefault(query.key, query.began)
            if query.is_answered:
                del waiting[query.key]
                gaps[query.key] = max(gaps.get(query.key, 0.0), query.ended - began)
        for key, began in waiting.items():
            gaps[key] = max(gaps.get(key, 0.0), time.monotonic() - began)
        return sorted(gaps.values())

    def told(self) -> str:
        """The figures, for whoever reads the test's output."""
        refused = sum(not query.is_answered for query in self.queries)
        passed = sum(bool(query.refusals) for query in self.queries) - refused
        took = sorted(query.ended - query.began for query in self.queries)
        seconds = max(query.ended for query in self.queries) - min(query.began for query in self.queries)
        return (
            f"{len(self.queries)} queries in {seconds:.0f} s: {passed} answered by another member than the first,"
            f" {refused} refused by all, {len(self.wrong())} wrong. An answer took {took[len(took) // 2] * 1000:.1f} ms"
            f" in the median, {took[-1] * 1000:.0f} ms at most."
        )

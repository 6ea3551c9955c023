"""A process that forks while others of its threads are at work: the child does not wait for them, nor share connections.

Every lock and every session in the source has a scene here, in which a child works though another thread held it.
"""

from __future__ import annotations

import ast
import os
import re
import select
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.ksqldb.client import KsqldbClient
from srfix.serde import AvroSerializer, ById, RegistryClient, Role, SerdeContext, parse_columns
from srfix.serde.bounds import UnknownIdBounds
from srfix.serde.confluent import AvroSerializer as DropIn
from srfix.serde.forking import ForkLock, PerProcess
from srfix.serde.formats.json.budget import Shapes
from srfix.serde.formats.protobuf import descriptors
from srfix.serde.registry.base import SingleFlight
from srfix.serde.registry.unknown_ids import UnknownIds
from tests.serde.confluent import peers
from tests.serde.fakes import MemoryRegistry
from tests.serde.registry.conftest import ScriptedRegistry

ROOT = Path(__file__).parents[2]
ROOMS = ("serde/srfix/serde", "serde/kernel", "recovery/srfix/recovery")
HOME = "serde/srfix/serde/forking.py"
ENOUGH_S = 60
"""How long a child may take before it counts as dead-locked; it needs milliseconds."""
SCHEMA = '{"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}'
_TESTS = os.getpid()
BARE = {
    "Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier", "Queue", "LifoQueue", "SimpleQueue",
    "PriorityQueue", "allocate_lock",
}  # fmt: skip
"""Calls that make what a forked child cannot use."""
ON_THE_DRIVER = {
    ("serde/srfix/serde/spark/session.py", "watch_jobs"),
    ("serde/srfix/serde/spark/read/decisions.py", "PlanLookups"),
    ("recovery/srfix/recovery/census/processes.py", "ProcessCensus"),
    ("recovery/srfix/recovery/serving/following.py", "Follower"),
    ("recovery/srfix/recovery/serving/http2.py", "Http2"),
    ("recovery/srfix/recovery/serving/membership.py", "Grouped"),
    ("recovery/srfix/recovery/serving/partition.py", "ServedPartition"),
    ("recovery/srfix/recovery/serving/starting.py", "serve_stores"),
}
"""What `srfix serve`, which forks nothing, has for itself; a bar in a notebook, what asks for a plan, what a census's
processes share: each of these ends with the call that made it, whose thread is gone in a child."""
CONNECTIONS = {
    "Session", "BoundedSession", "RegistrySession", "Client", "AsyncClient", "HTTPConnection", "HTTPSConnection", "PoolManager",
    "create_connection",
}  # fmt: skip


NAMES = re.compile(rf"\b({'|'.join(BARE | CONNECTIONS | {'ForkLock'})})\b")


@cache
def all_calls() -> set[tuple[str, str, str]]:
    """File, class and name of every call, and of what it is given to call, in files that have one of the names."""
    return {
        (str(path.relative_to(ROOT)), getattr(holder, "name", ""), getattr(called, "attr", getattr(called, "id", "")))
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if NAMES.search(path.read_text())
        for holder in ast.parse(path.read_text()).body
        for node in ast.walk(holder)
        if isinstance(node, ast.Call)
        for called in (node.func, *node.args)
        if isinstance(called, ast.Attribute | ast.Name)
    }


def calls(names: set[str]) -> set[tuple[str, str]]:
    """File and class of every call of one of these names."""
    return {(where, holder) for where, holder, name in all_calls() if name in names}


@dataclass(frozen=True, slots=True)
class Scene:
    """Something that works under a lock."""

    lock: ForkLock
    work: Callable[[], object]
    """Takes the lock, does what it guards, and is true."""
    close: Callable[[], object] = bool


def resolving() -> Scene:
    """`_Remembered`: a resolver looks an id up."""
    registry = MemoryRegistry()
    registry.seed("t-value", SCHEMA)
    policy = ById(registry)
    return Scene(policy._remembered._lock, lambda: policy.resolve(1, topic="t", role=Role.VALUE).schema_id == 1)


def serializing() -> Scene:
    """`OwnSchema`: a serializer registers its schema."""
    serializer = AvroSerializer(MemoryRegistry(), parse_columns("A INT"))
    lock = serializer._choice._lock  # type: ignore[attr-defined]
    return Scene(lock, lambda: serializer({"A": 1}, SerdeContext("t", Role.VALUE)))


def dropping_in() -> Scene:
    server = FixtureRegistry().start()
    serializer = DropIn(RegistryClient(server.url), SCHEMA)
    return Scene(serializer._lock, lambda: serializer({"a": 1}, peers.context()), server.close)


def asking() -> Scene:
    """`Transport`: a client opens a session."""
    client = RegistryClient("http://127.0.0.1:9")
    return Scene(client._transport._lock, lambda: client._transport._session() is not None, client.close)


def forgetting() -> Scene:
    """`UnknownIds`: a client forgets what the registry did not know."""
    unknown = UnknownIds(UnknownIdBounds(), time.monotonic)

    def work() -> bool:
        unknown.forget()
        return True

    return Scene(unknown._lock, work)


def shaping() -> Scene:
    """`Shapes`: a reader of JSON remembers a set of keys."""
    shapes: Shapes[int] = Shapes()

    def work() -> bool:
        known: dict[tuple[str, ...], int] = {}
        shapes.put(known, ("a",), 1)
        return known == {("a",): 1}

    return Scene(shapes._lock, work)


def sharing() -> Scene:
    """`SingleFlight`: threads share a request."""
    flights = SingleFlight[str]()
    return Scene(flights._lock, lambda: flights.once("k", lambda: "yes") == "yes")


def compiling() -> Scene:
    """protoc: a schema is compiled."""
    text = f'syntax = "proto3"; message M{time.monotonic_ns()} {{}}'
    return Scene(descriptors._PROTOC, lambda: descriptors.compiled(text).message().name.startswith("M"))


SCENES: dict[tuple[str, str], Callable[[], Scene]] = {
    ("serde/srfix/serde/resolve/policies.py", "_Remembered"): resolving,
    ("serde/srfix/serde/serdes/schema_choices.py", "OwnSchema"): serializing,
    ("serde/srfix/serde/confluent/serializer.py", "ConfluentSerializer"): dropping_in,
    ("serde/srfix/serde/registry/http/transport.py", "Transport"): asking,
    ("serde/srfix/serde/registry/unknown_ids.py", "UnknownIds"): forgetting,
    ("serde/srfix/serde/registry/base.py", "SingleFlight"): sharing,
    ("serde/srfix/serde/formats/json/budget.py", "Shapes"): shaping,
    ("serde/srfix/serde/formats/protobuf/descriptors.py", ""): compiling,
}
"""Where a lock is made → its scene."""

SESSIONS = {
    ("serde/srfix/serde/registry/http/transport.py", "Transport"): "RegistryClient",
    ("recovery/srfix/recovery/ksqldb/client.py", "KsqldbClient"): "KsqldbClient",
}
"""Where connections are made → the client of `TestConnections` that makes them."""


def in_child(work: Callable[[], object]) -> str:
    """What went wrong in a forked child; empty if nothing did. Nothing is left of it, nor of children of its own."""
    is_first = os.getpid() == _TESTS
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 on warns of what is tested here
        pid = os.fork()
    if pid == 0:
        if is_first:
            os.setpgid(0, 0)
        try:
            work()
            os.write(write, b"done")
        except BaseException:  # noqa: BLE001 - the parent shows it
            os.write(write, traceback.format_exc().encode()[:4000])
        finally:
            os._exit(0)
    os.close(write)
    if is_first:
        with suppress(PermissionError, ProcessLookupError):
            os.setpgid(pid, pid)  # whichever of the two comes first
    try:
        ready, _, _ = select.select([read], [], [], ENOUGH_S)
        said = os.read(read, 4000).decode() if ready else "dead-locked"
    finally:
        os.close(read)
        (os.killpg if is_first else os.kill)(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return said.removeprefix("done")


@contextmanager
def held(lock: ForkLock) -> Iterator[None]:
    """Another thread holds the lock meanwhile."""
    taken, release = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    try:
        yield
    finally:
        release.set()
        thread.join()


def succeeds(scene: Scene) -> None:
    assert scene.work()


class TestLocks:
    def test_none_is_made_elsewhere(self) -> None:
        assert calls(BARE) - ON_THE_DRIVER == {(HOME, "ForkLock")}

    def test_each_has_a_scene(self) -> None:
        assert calls({"ForkLock"}) == set(SCENES)

    @pytest.mark.parametrize("scene", SCENES.values(), ids=lambda scene: str(scene.__name__))
    def test_a_child_works_though_another_thread_held_it(self, scene: Callable[[], Scene]) -> None:
        with closing(scene()) as made:
            with held(made.lock):
                assert in_child(lambda: succeeds(made)) == ""
            succeeds(made)

    def test_a_childs_child_does_too(self) -> None:
        with closing(resolving()) as made:

            def again() -> None:
                with held(made.lock):
                    assert in_child(lambda: succeeds(made)) == ""

            with held(made.lock):
                assert in_child(again) == ""


class TestForkLock:
    def test_the_thread_that_forks_keeps_its_own(self) -> None:
        lock = ForkLock()

        def work() -> None:
            with lock:
                pass

        with lock:

            def leaves() -> None:
                work()
                lock.__exit__(None, None, None)
                with held(lock):
                    pass

            assert in_child(leaves) == ""

    def test_it_is_re_entrant_and_keeps_others_out(self) -> None:
        lock = ForkLock()
        with lock, lock:
            got: list[int] = []

            def other() -> None:
                with lock:
                    got.append(1)

            thread = threading.Thread(target=other)
            thread.start()
            assert got == []
        thread.join()
        assert got == [1]


class TestPerProcess:
    def test_a_process_makes_its_value_once(self) -> None:
        made: list[int] = []

        def make() -> int:
            made.append(os.getpid())
            return os.getpid()

        value = PerProcess(make)
        assert value.made() is None
        assert value.get() == value.get() == value.made() == os.getpid()
        assert made == [os.getpid()]

    def test_a_child_makes_its_own(self) -> None:
        value = PerProcess(os.getpid)
        value.get()

        def work() -> None:
            assert value.made() is None
            assert value.get() == os.getpid()

        assert in_child(work) == ""


@pytest.fixture
def answering() -> Iterator[ScriptedRegistry]:
    running = ScriptedRegistry()
    running.always(["a"])
    yield running
    running.stop()


class TestConnections:
    def test_each_place_that_makes_them_is_tested(self) -> None:
        assert calls(CONNECTIONS) - ON_THE_DRIVER == set(SESSIONS)

    @pytest.mark.parametrize("client", sorted(SESSIONS.values()))
    def test_a_child_opens_its_own_and_the_parents_lives_on(self, client: str, answering: ScriptedRegistry) -> None:
        if client == "RegistryClient":
            registry = RegistryClient(answering.url)
            ask: Callable[[], object] = registry.subjects
            close = registry.close
        else:
            answering.always({"KsqlServerInfo": {"version": "7.0.0"}})
            ksqldb = KsqldbClient(answering.url)
            ask = lambda: ksqldb._send("GET", "/info")  # noqa: E731
            close = ksqldb.close
        ask()

        def work() -> None:
            ask()
            close()

        assert in_child(work) == ""
        assert answering.connections == 2
        ask()
        assert (answering.connections, len(answering.seen)) == (2, 3)
        close()

    def test_a_child_that_only_closes_leaves_the_parents_open(self, answering: ScriptedRegistry) -> None:
        with RegistryClient(answering.url) as registry:
            registry.subjects()
            assert in_child(registry.close) == ""
            registry.subjects()
        assert answering.connections == 1

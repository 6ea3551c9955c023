"""Rows in a real Redis, where there is one: the same rows as in a RocksDB, and two members that write one partition."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.serving.databases import MakeDatabase
from srfix.recovery.serving.partition import ServedPartition
from srfix.recovery.serving.redis_rows import redis_rows
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from tests.examples import examples
from tests.recovery.serving.records import Record, restored_rows, rows_of, served_store
from tests.recovery.serving.test_partition import KV, _records, _store

redis = pytest.importorskip("redis")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes]]:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("there is no redis-server")
    folder = tmp_path_factory.mktemp("redis")
    path = folder / "socket"
    command = [program, "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    process.socket = path  # type: ignore[attr-defined]
    until_s = time.monotonic() + 10
    while not path.exists():
        assert time.monotonic() < until_s
        time.sleep(0.02)
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def make(server: object) -> MakeDatabase:
    return _emptied(server)


OPEN: list[ServedPartition] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


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
    kind: WrittenKind, data: st.DataObject, server: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    make = _emptied(server)
    records = data.draw(_records(kind))
    store = _store(kind)
    for record in records:
        _opened(make, store).apply([record])  # type: ignore[list-item]
    shown = {(row.key, row.value, row.window, row.valid_from_ms) for row in rows_of(_opened(make, store))}
    expected = restored_rows(store, records, tmp_path_factory.mktemp("whole"))
    assert shown == {(row.key, row.value, row.window, row.valid_from_ms) for row in expected}


def _emptied(server: object) -> MakeDatabase:
    url = f"unix://{server.socket}"  # type: ignore[attr-defined]
    with redis.Redis.from_url(url) as client:
        client.flushall()
    return redis_rows(url, "shop")


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


def test_a_redis_that_is_gone_is_an_error_in_words(tmp_path: Path, make: MakeDatabase) -> None:
    part = _opened(make)
    part.database.close()
    part.database.client = redis.Redis.from_url(f"unix://{tmp_path}/none")  # type: ignore[attr-defined]
    with pytest.raises(StateDirectoryError, match=r"^Redis did not do what was asked \(ConnectionError\)$"):
        part.apply([Record(0, b"a", b"1")])  # type: ignore[list-item]

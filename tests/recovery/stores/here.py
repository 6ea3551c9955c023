"""A worker in this process: all that a Spark worker does, without Spark; and a store of several tasks to work on."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import pyarrow as pa

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery import Cluster
from srfix.recovery.state.directory import ApplicationState
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.reading.store import StateStore, open_stores
from srfix.recovery.state.rocksdb import opened
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.choices import Until
from srfix.recovery.stores.parts import Part, Result, Shipment, Work, part_runner
from srfix.recovery.stores.rebuild.rebuild import Rebuild, rebuild
from srfix.serde import Topic
from srfix.serde.errors import SrfixError
from srfix.serde.registry.secret import pickled_with_secrets
from srfix.serde.wire import frame_id
from tests.recovery.stores.rebuild.topics import rebuild_of

TOPIC: Final = Topic("users")
APPLICATION: Final = "shop"
STORE: Final = "users-store"
PARTITIONS: Final = 3


def answers(work: Work[Part, Result], parts: Sequence[Part]) -> Iterator[Result | SrfixError]:
    """What a worker answers; work, parts and answers travel as bytes."""
    pickled = tuple(pickle.dumps(part) for part in parts)
    shipment = Shipment(job="here", work=cast("Work[object, object]", work), parts=pickled)
    run = part_runner.__wrapped__(pickled_with_secrets(shipment))
    for number in range(len(parts)):
        batches = list(run(iter([pa.record_batch([pa.array([number], pa.int64())], names=["id"])])))
        places = [(each["number"][0].as_py(), each["piece"][0].as_py()) for each in batches]
        assert places == [(number, piece) for piece in range(len(batches))]
        yield pickle.loads(b"".join(each["answer"][0].as_py() for each in batches))


class WorkerHere:
    """A `PartsEngine` that does all by itself, in one process."""

    def run(self, work: Work[Part, Result], parts: Sequence[Part], *, doing: str) -> list[Result]:
        """See `PartsEngine.run`."""
        results = []
        for answer in answers(work, parts):
            if isinstance(answer, SrfixError):
                raise answer
            results.append(answer)
        return results


@contextmanager
def staged_topic() -> Iterator[EmbeddedBroker]:
    """A broker with a topic of framed values, which a group has read but for the last records."""
    with EmbeddedBroker(topics={TOPIC: PARTITIONS}) as broker:
        produce(broker, range(60))
        broker.commit(APPLICATION, {(TOPIC, partition): 18 for partition in range(PARTITIONS)})
        yield broker


def produce(broker: EmbeddedBroker, numbers: Sequence[int], *, schema_id: int = 1) -> None:
    """Records, a third of them to each partition: updates, and a tombstone now and then."""
    for number in numbers:
        value = None if number % 10 == 9 else frame_id(schema_id, b"\x02")
        record = ProducedRecord(topic=TOPIC, partition=number % PARTITIONS, key=b"k%d" % (number % 21), value=value)
        broker.produce([replace(record, timestamp_ms=1_000 + number)])


def asked(*, store: str = STORE, **changed: Any) -> Rebuild:
    written = StoreToWrite(name=store, kind=WrittenKind.TIMESTAMPED_KV)
    return rebuild_of(written, **({"until": Until.COMMITTED} | changed))


def rebuilt(broker: EmbeddedBroker, folder: Path, rebuilds: Sequence[Rebuild] | None = None) -> ApplicationState:
    """The application's state, as a rebuild by one process leaves it."""
    for number, each in enumerate(rebuilds or [asked()]):
        target = folder / f"{number}" / APPLICATION
        with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
            rebuild(each, cluster, target, request={})
    (state,) = read_state_directory(target)
    return state


def stores_of(state: ApplicationState, name: str = STORE) -> list[StateStore]:
    return list(open_stores(state, name))


def contents(folder: Path) -> dict[str, object]:
    """What is in a directory: the rows of databases, the bytes of other files."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if (path / "CURRENT").is_file():
            with opened(path) as database:
                found[str(path.relative_to(folder))] = {
                    family: list(database.rows(family)) for family in sorted(database.families)
                }
        elif path.is_file() and not (path.parent / "CURRENT").is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found

"""A store on disk, read, exported, compared and rebuilt, beside what rocksdict alone takes for it: CPU time a row, and memory.

    python -m tests.bench.bench_state [--records 1000000] [--rounds R]

The store is of timestamps and framed Avro (`flat5` of the shapes), written by rocksdict as Kafka Streams writes it. Beside it:

| what | bare |
|---|---|
| a scan: columns, rows, sizes, values as Arrow | a loop over rocksdict's `items()` |
| `diff` | the same loop, and one over the topic's records |
| `rebuild` | the topic's records by `WriteBatch` into a database of the same options, flushed |

The topic is made as it is read, by the bare loops too. Memory is the peak of a process that does one thing alone, at a tenth of
the rows and at all of them.
"""

from __future__ import annotations

import argparse
import resource
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from rocksdict import AccessType, Options, Rdict, WriteBatch, WriteOptions

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.values import TIMESTAMPED
from srfix.recovery.state.reading.store import StateStore, open_stores
from srfix.recovery.state.writing.database import new_database
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.choices import ExportFormat, Until
from srfix.recovery.stores.differences import compared
from srfix.recovery.stores.exporting import exporting
from srfix.recovery.stores.rebuild.rebuild import Rebuild, rebuild
from srfix.recovery.stores.rows import decoded_batches
from srfix.recovery.stores.sizes import size_of
from srfix.serde import AvroDeserializer, Role, Topic
from srfix.serde.arrow import to_arrow
from srfix.serde.native import engine_in_words, kernel
from srfix.serde.properties.kafka_client import Isolation
from tests.bench.measuring import Route, gate, measure, table
from tests.bench.peers import CTX, bare_encoding, by_id, versions
from tests.bench.shapes import SHAPES

SHAPE: Final = SHAPES[0]
NAME: Final = "users"
NOW_MS: Final = 1_700_000_000_000
_BATCH: Final = 1_000
_ARROW_BATCH: Final = 5_000
"""What a user of Arrow would take."""
_FLAT_MB: Final = 16
"""By how much more than its peer's a peak may be higher at ten times the rows and be called flat. RocksDB's block cache and its
memtables fill in any case: those of the peer do, too."""


def stored(records: int) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values, by key."""
    encode = bare_encoding(SHAPE.schema)
    payloads = [encode(dict(SHAPE.avro_row)) for _ in range(_BATCH)]
    for number in range(records):
        yield b"user-%010d" % number, payloads[number % _BATCH]


def topic(records: int) -> Iterator[RawRecord]:
    """What the store was filled from."""
    for number, (key, value) in enumerate(stored(records)):
        yield RawRecord(partition=0, offset=number, key=key, value=value, timestamp=NOW_MS + number)


class OneTopic:
    """A cluster with that topic alone."""

    def __init__(self, records: int) -> None:
        self._records = records

    def topics(self) -> Mapping[Topic, int]:
        return {Topic(NAME): 1}

    def committed(self, _group: str, topic_partitions: list[tuple[str, int]]) -> Mapping[tuple[Topic, int], int | None]:
        return {(Topic(name), partition): self._records for name, partition in topic_partitions}

    def watermarks(self, _topic: str, partitions: list[int]) -> Mapping[int, tuple[int, int]]:
        return dict.fromkeys(partitions, (0, self._records))

    def stable_ends(self, _topic: str, partitions: list[int]) -> Mapping[int, int]:
        return dict.fromkeys(partitions, self._records)

    def read(
        self, _topic: str, _partition: int, _begin: int, _end: int, *, isolation: Isolation
    ) -> Iterator[RawRecord]:
        return topic(self._records)


def asked() -> Rebuild:
    return Rebuild(
        application="shop",
        store=StoreToWrite(name=NAME, kind=WrittenKind.TIMESTAMPED_KV),
        topic=Topic(NAME),
        until=Until.COMMITTED,
        release=Release.parse("4.1.2"),
        subtopology=0,
    )


def make(folder: Path, records: int) -> None:
    """The state directory."""
    database = folder / "shop" / "0_0" / "rocksdb" / NAME
    database.parent.mkdir(parents=True)
    with new_database(database, (TIMESTAMPED,), Release.parse("4.1.2")) as writer:
        for number, (key, value) in enumerate(stored(records)):
            writer.put(TIMESTAMPED, key, struct.pack(">q", NOW_MS + number) + value)


def store_of(folder: Path) -> StateStore:
    (state,) = read_state_directory(folder)
    (store,) = open_stores(state)
    return store


def items(folder: Path) -> None:
    """The peer: rocksdict alone."""
    raw = Options(raw_mode=True)
    database = Rdict(
        str(folder / "shop" / "0_0" / "rocksdb" / NAME),
        raw,
        column_families={"default": raw, TIMESTAMPED: raw},
        access_type=AccessType.read_only(),
    )
    family = database.get_column_family(TIMESTAMPED)
    for _key, _value in family.items():
        pass
    family.close()
    database.close()


def exhaust(rows: Iterable[object]) -> None:
    for _ in rows:
        pass


def as_arrow(folder: Path) -> None:
    read = AvroDeserializer(by_id(SHAPE.schema), columns=SHAPE.columns)
    for batch in store_of(folder).batches(size=_ARROW_BATCH):
        to_arrow(batch.values, CTX, read)


def exported(folder: Path, *, typed: bool) -> None:
    store, read = store_of(folder), AvroDeserializer(by_id(SHAPE.schema), columns=SHAPE.columns)
    decoder = RecordDecoder(by_id(SHAPE.schema), make=lambda _resolver, _role: read)
    columns = {Role.VALUE: SHAPE.columns} if typed else {}
    with (
        tempfile.TemporaryDirectory(dir=folder.parent) as target,
        exporting(Path(target) / "x.parquet", ExportFormat.PARQUET, application="shop", typed=columns) as write,
    ):
        batches = store.batches(size=_ARROW_BATCH)
        for batch in decoded_batches(store, batches, decoder, topic=NAME, typed=columns):
            write(batch)


def both_bare(folder: Path, records: int) -> None:
    items(folder)
    exhaust(topic(records))


def compare(folder: Path, records: int) -> None:
    found = compared(store_of(folder), topic(records))
    assert (found.same, sum(found.counts.values())) == (records, 0)


def copied(folder: Path, records: int) -> None:
    """The peer: the topic's records by rocksdict alone."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as target:
        database = Rdict(target, options)
        family = database.create_column_family(TIMESTAMPED, Options(raw_mode=True))
        handle, how = database.get_column_family_handle(TIMESTAMPED), WriteOptions()
        how.disable_wal = True  # type: ignore[method-assign,assignment]
        batch, pack = WriteBatch(raw_mode=True), struct.Struct(">q").pack
        for record in topic(records):
            assert record.key is not None
            assert record.value is not None
            batch.put(record.key, pack(record.timestamp) + record.value, handle)
            if batch.len() >= _BATCH:
                database.write(batch, how)
                batch = WriteBatch(raw_mode=True)
        database.write(batch, how)
        family.flush()
        family.close()
        database.close()


def rebuilt(folder: Path, records: int) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent) as target:
        rebuild(asked(), OneTopic(records), Path(target) / "shop", request={})


def routes(folder: Path, records: int) -> dict[str, Route]:
    """All that is measured, by name."""
    return {
        "items()": partial(items, folder),
        "batches": lambda: exhaust(store_of(folder).batches()),
        "rows": lambda: exhaust(store_of(folder).rows()),
        "size": lambda: size_of(store_of(folder), application="shop", now_ms=NOW_MS),
        "to Arrow": partial(as_arrow, folder),
        "export, JSON": partial(exported, folder, typed=False),
        "export, typed": partial(exported, folder, typed=True),
        "both bare": partial(both_bare, folder, records),
        "diff": partial(compare, folder, records),
        "bare copy": partial(copied, folder, records),
        "rebuild": partial(rebuilt, folder, records),
    }


def peak_kb() -> int:
    """Of this process. Linux tells `getrusage` what the parent had when it forked, too, and knows better."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM")))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def peak_mb(name: str, folder: Path, records: int) -> float:
    """Of a process that does one thing."""
    told = ("--alone", name, "--folder", str(folder), "--records", str(records))
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.bench_state", *told], check=True, stdout=subprocess.PIPE, text=True
    )
    return int(done.stdout) / 1024


def memory(peers: Mapping[str, str], few: Path, many: Path, records: int) -> None:
    """:param peers: of each thing the peer."""
    print(f"\n{'peak, MB':28}{records // 10:>12,}{records:>12,}")
    grown: dict[str, float] = {}
    for name in dict.fromkeys((*peers.values(), *peers)):
        least, most = peak_mb(name, few, records // 10), peak_mb(name, many, records)
        grown[name] = most - least
        print(f"  {name:26}{least:12.0f}{most:12.0f}")
    for name, peer in peers.items():
        gate(f"{name}: MB that it grows by more than {peer}", grown[name] - grown[peer], at_most=_FLAT_MB)


def main() -> None:
    """Prints the tables and the gates."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.alone:
        routes(given.folder, given.records)[given.alone]()
        print(peak_kb())
        return
    records, rounds = given.records, given.rounds
    print(f"CPU ns a row, {rounds} rounds; a store of {records:,} rows. {engine_in_words()}; {versions()}.")
    with tempfile.TemporaryDirectory(prefix="srfix-bench-") as folder:
        few, many = Path(folder) / "few", Path(folder) / "many"
        make(few, records // 10)
        make(many, records)
        every = routes(many, records)
        scans = ("items()", "batches", "rows", "size", *(("to Arrow",) if kernel() is not None else ()))
        figures = measure({name: every[name] for name in scans}, records=records, rounds=rounds, records_a_turn=records)
        table("scan", figures, "items()")
        gate("items() / batches", figures.ratio("items()", "batches"), at_least=0.5)
        if kernel() is not None:
            gate("items() / to Arrow", figures.ratio("items()", "to Arrow"), at_least=0.3)
        exports = ("export, JSON", "export, typed")
        figures = measure(
            {name: every[name] for name in ("items()", *exports)},
            records=records,
            rounds=max(rounds - 1, 1),
            records_a_turn=records,
        )
        table("to Parquet", figures, "items()")
        for name, peer in (("diff", "both bare"), ("rebuild", "bare copy")):
            pair = {peer: every[peer], name: every[name]}
            figures = measure(pair, records=records, rounds=max(rounds - 1, 1), records_a_turn=records)
            table(name, figures, peer)
        peers = dict.fromkeys((*scans[1:], *exports), "items()")
        # diff keeps what it compares in a database that it writes, as a copy does.
        memory({**peers, "diff": "bare copy", "rebuild": "bare copy"}, few, many, records)


if __name__ == "__main__":
    main()

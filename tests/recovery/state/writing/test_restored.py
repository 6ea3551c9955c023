"""Stores with segments, written from their changelogs: byte for byte what real Kafka Streams restored from the same records.

`data/restored/<version>.json.gz`: by store its kind, retention, the records of its topic (partition, key, value, timestamp,
headers) and the rows that it had after it lost its state and restored (partition, directory, column family, key, value), bytes
in hexadecimal. The records cover eight minutes, the retention about two, a history one: old segments are gone.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

import pytest

from srfix.recovery.state.checkpoints import OFFSETS_COLUMN_FAMILY
from srfix.recovery.state.formats.values import Headers
from srfix.recovery.state.rocksdb import opened
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite, store_writer

DATA: Final = Path(__file__).parents[1] / "data" / "restored"
RESTORED: Final[dict[str, dict[str, Any]]] = {
    version: json.loads(gzip.decompress((DATA / f"{version}.json.gz").read_bytes()))
    for version in ("3.9.2", "4.3.1-headers")
}


QUICK: Final = ("windows", "emitted-sessions", "pairs-outer-this-join-store", "versioned")


@pytest.mark.parametrize(
    ("version", "store"),
    [
        pytest.param(version, store, marks=() if version == "4.3.1-headers" and store in QUICK else pytest.mark.slow)
        for version, stores in RESTORED.items()
        for store in stores
    ],
)
def test_rows_are_those_of_a_restore(tmp_path: Path, version: str, store: str) -> None:
    told = RESTORED[version][store]
    expected = {
        (partition, folder, family, bytes.fromhex(key)): bytes.fromhex(value)
        for partition, folder, family, key, value in told["rows"]
    }
    kind = WrittenKind(told["kind"])
    to_write = StoreToWrite(name=store, kind=kind, retention_ms=told["retention_ms"])
    found: dict[tuple[str, str, str, bytes], bytes] = {}
    for partition in sorted({record[0] for record in told["records"]}):
        task = tmp_path / str(partition)
        with store_writer(to_write, task, Release.parse(version.partition("-")[0])) as writer:
            for each, key, value, timestamp_ms, headers in told["records"]:
                if each == partition:
                    content = None if value is None else bytes.fromhex(value)
                    writer.restore(bytes.fromhex(key), content, timestamp_ms=timestamp_ms, headers=headers_of(headers))
            writer.finish(())
        for current in sorted(task.rglob("CURRENT")):
            with opened(current.parent) as database:
                for family in database.families - {OFFSETS_COLUMN_FAMILY}:
                    for row in database.rows(family):
                        found[str(partition), current.parent.name, family, row[0]] = row[1]
    assert found == expected
    assert kind.family in {family for _, _, family, _ in found}


def headers_of(told: list[tuple[str, str | None]]) -> Headers:
    return tuple((name, None if content is None else bytes.fromhex(content)) for name, content in told)

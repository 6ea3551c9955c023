"""Directories that real Kafka Streams left, with a store of each kind: each row is read for what it is.

`rows.txt` has every row in hexadecimal, as RocksDB holds it; what it says is taken from it here by counting bytes.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from srfix.recovery.state.directory import ApplicationState
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.joins import Side
from srfix.recovery.state.formats.windows import StoredWindow
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import StateRow
from srfix.recovery.state.reading.store import StateStore, open_stores

DATA = Path(__file__).parents[1] / "data" / "kinds"
VERSIONS = ["2.6.3", "3.9.2", "4.3.1", "4.3.1-headers"]
TWO_AT_FIRST = [pytest.param(v, marks=pytest.mark.slow if v in VERSIONS[1:3] else ()) for v in VERSIONS]


@dataclass
class Raw:
    families: dict[str, list[tuple[bytes, bytes]]] = field(default_factory=dict)

    def rows(self) -> Iterator[tuple[str, bytes, bytes]]:
        for family, rows in self.families.items():
            for key, value in rows:
                if family != "offsets":
                    yield family, key, value


def raw_rows(sample: Path) -> dict[str, Raw]:
    """By directory."""
    found: dict[str, Raw] = {}
    here, family = Raw(), ""
    for line in (sample / "rows.txt").read_text().splitlines():
        if line.startswith("DB "):
            here = found.setdefault(line.removeprefix("DB "), Raw())
        elif told := re.fullmatch(r" {3}\[(\w+)\] \d+ rows", line):
            family = told[1]
            here.families[family] = []
        elif told := re.match(r" {6}([0-9a-f]*) = ([0-9a-f]*)(?:\(0\*\))?(?: {5}|$)", line):
            here.families[family].append((bytes.fromhex(told[1]), bytes.fromhex(told[2])))
    return found


def long(raw: bytes) -> int:
    return int(struct.unpack(">q", raw)[0])


def value_of(family: str, value: bytes) -> tuple[bytes, int | None]:
    """Payload and timestamp, of values without headers in them: none of the samples' records has any."""
    if family == "default":
        return value, None
    if family == "keyValueWithTimestamp":
        return value[8:], long(value[:8])
    assert value[:1] == b"\0"
    return (value[1:], None) if family.startswith("session") else (value[9:], long(value[1:9]))


def as_key_value(family: str, key: bytes, value: bytes) -> list[StateRow]:
    return [StateRow(key, *value_of(family, value))]


def as_window(family: str, key: bytes, value: bytes) -> list[StateRow]:
    window = StoredWindow(long(key[-12:-4]), None, int.from_bytes(key[-4:], "big"))
    return [StateRow(key[:-12], *value_of(family, value), (), window)]


def as_session(family: str, key: bytes, value: bytes) -> list[StateRow]:
    window = StoredWindow(long(key[-8:]), long(key[-16:-8]))
    return [StateRow(key[:-16], value_of(family, value)[0], None, (), window)]


def as_time_first_window(family: str, key: bytes, value: bytes) -> list[StateRow]:
    if key[:1] == b"\1":
        return []
    payload = (value[8:], long(value[:8])) if family == "default" else value_of(family, value)
    return [StateRow(key[9:-4], *payload, (), StoredWindow(long(key[1:9]), None, 0))]


def as_time_first_session(_family: str, key: bytes, value: bytes) -> list[StateRow]:
    return [] if key[:1] == b"\1" else [StateRow(key[17:], value, window=StoredWindow(long(key[9:17]), long(key[1:9])))]


def as_list(_family: str, key: bytes, value: bytes) -> list[StateRow]:
    assert value[:5] == bytes.fromhex("0100000001"), "one entry each"
    side = Side.LEFT if key[8] == 1 else Side.RIGHT
    return [StateRow(key[9:], value[10:], long(key[:8]), side=side)]


def as_subscription(family: str, key: bytes, value: bytes) -> list[StateRow]:
    return [StateRow(key[6:], *value_of(family, value), foreign_key=key[4:6])]


def as_versioned(_family: str, key: bytes, value: bytes) -> list[StateRow]:
    if key[:8] == b"\xff" * 8:
        return [StateRow(key[8:], value[8:], long(value[:8]), valid_from_ms=long(value[:8]))]
    # Two records in each of the samples.
    until, newer, size, older, size_of_older = struct.unpack(">q8xqiqi", value[:40])
    assert long(value[8:16]) == older
    rest = value[40:]
    newer_value = None if size < 0 else rest[size_of_older : size_of_older + size]
    return [
        StateRow(key[8:], newer_value, newer, valid_from_ms=newer, valid_to_ms=until),
        StateRow(key[8:], rest[:size_of_older], older, valid_from_ms=older, valid_to_ms=newer),
    ]


KINDS: dict[str, tuple[dict[str, StoreFormat], Callable[[str, bytes, bytes], list[StateRow]]]] = {
    "plain": ({"": StoreFormat.PLAIN_KV}, as_key_value),
    **dict.fromkeys(
        ("ts", "glob", "fka", "fkb", "fkres"),
        ({"": StoreFormat.TIMESTAMPED_KV, "headers": StoreFormat.HEADERS_KV}, as_key_value),
    ),
    "fkj-subscription-store": ({"": StoreFormat.SUBSCRIPTION}, as_subscription),
    "win": ({"": StoreFormat.TIMESTAMPED_WINDOW, "headers": StoreFormat.HEADERS_WINDOW}, as_window),
    "winplain": ({"": StoreFormat.PLAIN_WINDOW}, as_window),
    "winemit": ({"": StoreFormat.TIME_FIRST_WINDOW}, as_time_first_window),
    "sess": ({"": StoreFormat.SESSION, "headers": StoreFormat.HEADERS_SESSION}, as_session),
    "sessemit": ({"": StoreFormat.TIME_FIRST_SESSION}, as_time_first_session),
    "oj-outer-this-join-store": ({"": StoreFormat.JOIN_WINDOW}, as_window),
    "oj-outer-other-join-store": ({"": StoreFormat.JOIN_WINDOW}, as_window),
    "oj-outer-shared-join-store": ({"": StoreFormat.LIST_VALUE}, as_list),
    "ver": ({"": StoreFormat.VERSIONED}, as_versioned),
}


def state_of(version: str) -> ApplicationState:
    (state,) = read_state_directory(DATA / version / "state")
    return state


def stored(version: str, store: StateStore) -> list[StateRow]:
    """What the listing says of a store."""
    _formats, told = KINDS[store.name]
    place = str(Path(store.directory.path).relative_to(DATA / version / "state"))
    found = []
    for path, raw in raw_rows(DATA / version).items():
        if path == place or path.startswith(f"{place}/"):
            for family, key, value in raw.rows():
                found += told(family, key, value)
    return found


@pytest.mark.parametrize("version", TWO_AT_FIRST)
class TestEachKind:
    def test_every_row_is_read_for_what_it_is(self, version: str) -> None:
        suffix = "headers" if version.endswith("headers") else ""
        seen = 0
        for store in open_stores(state_of(version)):
            formats, _told = KINDS[store.name]
            assert store.format is formats.get(suffix, formats[""]), (store.name, store.detected)
            rows = list(store)
            assert sorted(rows, key=repr) == sorted(stored(version, store), key=repr), store.name
            assert store.damage == []
            assert sum(map(len, store.batches())) == len(rows)
            seen += len(rows)
        assert seen > 20

    def test_the_original_is_not_touched(self, version: str, tmp_path: Path) -> None:
        copy = tmp_path / "state"
        shutil.copytree(DATA / version / "state", copy)

        def seen() -> dict[Path, tuple[int, int, int]]:
            found = {path: path.stat() for path in copy.rglob("*")}
            return {path: (s.st_mtime_ns, s.st_size, s.st_ino) for path, s in found.items()}

        before = seen()
        (state,) = read_state_directory(copy)
        assert sum(len(list(store)) for store in open_stores(state)) > 20
        assert seen() == before


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1", "4.3.1-headers"])
def test_versions_of_a_key(version: str) -> None:
    (store,) = open_stores(state_of(version), "ver")
    newest, *older = store.history(b"v1")
    assert newest.valid_to_ms is None
    assert [row.value for row in (newest, *older)] == [b"three", *[row.value for row in older]]
    assert older
    assert store.version_at(b"v1") == newest == store.get(b"v1")
    oldest = older[-1]
    assert oldest.valid_from_ms is not None
    assert store.version_at(b"v1", as_of_ms=oldest.valid_from_ms) == oldest
    assert store.version_at(b"v1", as_of_ms=oldest.valid_from_ms - 1) is None
    assert store.version_at(b"nobody") is None

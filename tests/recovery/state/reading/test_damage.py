"""Damage in a store: what precedes it is read, what it is is said, and reading goes on behind it where it can."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rocksdict import Options, Rdict

from parts.state_directory import TIMESTAMPED as FAMILY
from parts.state_directory import write_database
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.values import encode_timestamped
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.store import StateStore, open_stores
from srfix.serde import UsageError

ROWS = 20_000


def key_of(number: int) -> bytes:
    return b"%08d" % number


def a_store(folder: Path, rows: dict[bytes, bytes] | None = None, **older: dict[bytes, bytes]) -> Path:
    """Its database: in one task of an application."""
    path = folder / "shop" / "0_0" / "rocksdb" / "users"
    rows = rows or {key_of(n): encode_timestamped(b"v" * 50, n) for n in range(ROWS)}
    write_database(path, {FAMILY: rows, **older})
    return path


def opened(folder: Path, **options: object) -> StateStore:
    (state,) = read_state_directory(folder)
    (store,) = open_stores(state, **options)  # type: ignore[arg-type]
    return store


def largest(path: Path, pattern: str) -> Path:
    return max(path.glob(pattern), key=lambda each: each.stat().st_size)


def halve(table: Path) -> None:
    table.write_bytes(table.read_bytes()[: table.stat().st_size // 2])


def flip(table: Path) -> None:
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 0xFF
    table.write_bytes(bytes(content))


@pytest.mark.parametrize(
    ("pattern", "damage", "reach"), [("*.sst", halve, 0), ("*.sst", flip, ROWS // 4), ("MANIFEST-*", Path.unlink, 0)]
)
def test_what_precedes_it_is_read(tmp_path: Path, pattern: str, damage: Callable[[Path], None], reach: int) -> None:
    damage(largest(a_store(tmp_path), pattern))
    store = opened(tmp_path)
    rows = list(store)
    assert [row.key for row in rows] == [key_of(n) for n in range(len(rows))]
    assert reach <= len(rows) < ROWS
    (told,) = store.damage
    assert (told.ends_it, told.rows_before) == (True, len(rows))
    assert str(a_path := tmp_path / "shop" / "0_0") in told.problem or str(a_path) in told.database


def test_columns_hold_what_precedes_damage_however_many_are_read_together(tmp_path: Path) -> None:
    path = a_store(tmp_path, {key_of(n): encode_timestamped(b"v" * 50, n) for n in range(3_000)})
    flip(largest(path, "*.sst"))
    raw = Options(raw_mode=True)
    copy = shutil.copytree(path, tmp_path / "copy")
    with Rdict(str(copy), raw, column_families={"default": raw, FAMILY: raw}) as database:
        before = [(key, value[8:]) for key, value in database.get_column_family(FAMILY).items()]
    assert 1_000 < len(before) < 3_000
    for size in (1, 7, 500):
        store = opened(tmp_path / "shop")
        batches = list(store.batches(size=size))
        assert max(map(len, batches)) == size
        assert [pair for each in batches for pair in zip(each.keys, each.values, strict=True)] == before
        assert [(each.ends_it, each.rows_before) for each in store.damage] == [(True, len(before))]


def in_tables(path: Path, tables: int) -> None:
    """A plain store whose rows lie in several tables, one range of keys in each."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_disable_auto_compactions(True)
    path.mkdir(parents=True)
    database = Rdict(str(path), options)
    for number in range(tables):
        for n in range(1000):
            database[key_of(number * 1000 + n)] = b"v" * 50
        database.flush()
    database.close()


@pytest.mark.parametrize("damage", [Path.unlink, halve, flip])
def test_one_bad_table_hides_no_row_of_the_others(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    path = tmp_path / "shop" / "0_0" / "rocksdb" / "users"
    in_tables(path, 3)
    damage(sorted(path.glob("*.sst"))[1])
    before = {each.name: each.read_bytes() for each in path.iterdir()}
    store = opened(tmp_path, salvages=True)
    assert store.format is StoreFormat.PLAIN_KV
    read = [row.key for row in store]
    whole = {key_of(n) for n in (*range(1000), *range(2000, 3000))}
    assert whole <= set(read)
    assert read == sorted(set(read))
    (told,) = store.damage
    assert not told.ends_it
    assert "\n" not in told.problem
    assert (found := store.get(key_of(2999))) is not None
    assert found.value == b"v" * 50
    assert store.damages == 1
    assert len(list(opened(tmp_path))) < len(whole), "who does not ask for it is not given what may be out of date"
    assert {each.name: each.read_bytes() for each in path.iterdir()} == before


@pytest.mark.parametrize("pattern", ["MANIFEST-*", "CURRENT"])
def test_without_its_catalogue_all_rows_are_saved(tmp_path: Path, pattern: str) -> None:
    largest(a_store(tmp_path), pattern).unlink()
    store = opened(tmp_path, salvages=True)
    assert [row.key for row in store] == [key_of(n) for n in range(ROWS)]
    (told,) = store.damage
    assert (told.ends_it, told.rows_before) == (False, 0)


def test_a_batch_has_a_row_at_least(tmp_path: Path) -> None:
    a_store(tmp_path, {b"a": encode_timestamped(b"1", 7)})
    with pytest.raises(UsageError, match="at least one row, not 0"):
        next(opened(tmp_path).batches(size=0))


def test_a_row_of_another_form_is_passed_over(tmp_path: Path) -> None:
    a_store(tmp_path, {b"a": encode_timestamped(b"1", 7), b"b": b"short", b"c": encode_timestamped(b"2", 8)})
    store = opened(tmp_path)
    assert [(row.key, row.value, row.timestamp_ms) for row in store] == [(b"a", b"1", 7), (b"c", b"2", 8)]
    (told,) = store.damage
    assert (told.ends_it, told.rows_before, store.damages) == (False, 1, 1)
    assert told.problem.startswith("key 62: a value has 5 bytes")
    list(store)
    assert store.damages == 1, "what was read once more is no other damage"


def test_many_damages_are_counted_and_a_few_kept(tmp_path: Path) -> None:
    a_store(tmp_path, {key_of(n): b"short" for n in range(100)})
    store = opened(tmp_path)
    assert list(store) == []
    assert (len(store.damage), store.damages) == (20, 100)


def test_the_next_segment_is_read_all_the_same(tmp_path: Path) -> None:
    data = Path(__file__).parents[1] / "data" / "kinds" / "4.3.1" / "state"
    shutil.copytree(data, tmp_path / "state")
    whole = opened(tmp_path, name="win")
    expected = list(whole)
    oldest = min((tmp_path / "state" / "3_0" / "win").iterdir())
    largest(oldest, "MANIFEST-*").unlink()
    store = opened(tmp_path, name="win")
    rows = list(store)
    assert 0 < len(rows) < len(expected)
    assert rows == expected[-len(rows) :]
    (told,) = store.damage
    assert told.database == str(oldest)


def test_rows_that_an_upgrade_has_not_moved_yet_are_read_without_a_timestamp(tmp_path: Path) -> None:
    older = {b"a": b"old", b"b": b"older than what the table has"}
    a_store(tmp_path, {b"b": encode_timestamped(b"new", 7)}, default=older)
    store = opened(tmp_path)
    assert [(row.key, row.value, row.timestamp_ms) for row in store] == [(b"a", b"old", None), (b"b", b"new", 7)]
    assert store.get(b"a") == next(iter(store))


def test_a_person_s_word_counts(tmp_path: Path) -> None:
    a_store(tmp_path, {b"a": b"raw"})
    assert opened(tmp_path).format is StoreFormat.TIMESTAMPED_KV
    assert opened(tmp_path, form=StoreFormat.VERSIONED).format is StoreFormat.VERSIONED

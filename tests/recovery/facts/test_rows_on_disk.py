"""When the rows of a store on disk are all there is, and what keeps them from it.

| it is whole where | else |
|---|---|
| every partition with records was read to its end | it says which was not, and why |
| no process holds a directory | what is flushed was read, and there may be more |
| the checkpoint has reached what the group has committed | rows may be in a memtable, or the copy is old |
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from parts.state_directory import write_application, write_database, write_task
from srfix.recovery.census.interface import Census, PartitionCensus, RoleCensus
from srfix.recovery.facts.rows_on_disk import count_rows, of_registry_roles, places_of, read_rows
from srfix.recovery.facts.stores import StoreRows, SuspectStore
from srfix.recovery.state.checkpoints import OffsetMeaning
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.joins import CombinedKey, Subscription
from srfix.recovery.state.formats.windows import WINDOWS, StoredWindow
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Topic
from srfix.serde.wire import SchemaId, frame_id
from tests.recovery.state.encoding import encode_combined_key, encode_subscription

STORE = SuspectStore(application="shop", name="users-store")
NOTHING = RoleCensus(ids=(), guids=0, unframed=0, nulls=0, first_unframed_offset=None, live_unframed_keys=None)


def census(committed: Mapping[int, int | None], *, end: int = 5) -> Census:
    """A topic with these partitions, all but those of a negative commit with records."""
    return Census(
        topic=Topic("users"),
        isolation=Isolation.READ_UNCOMMITTED,
        partitions=tuple(
            PartitionCensus(
                partition=partition,
                start_offset=0,
                end_offset=0 if offset == -1 else end,
                committed_offset=None if offset == -1 else offset,
                restore_limit=None if offset == -1 else offset,
                records=end,
                keys=NOTHING,
                values=NOTHING,
            )
            for partition, offset in committed.items()
        ),
    )


def row(schema_id: int) -> bytes:
    return frame_id(schema_id, b"x")


def read(
    root: Path, committed: Mapping[int, int | None], *, meaning: OffsetMeaning = OffsetMeaning.UNKNOWN
) -> StoreRows:
    places = places_of(read_state_directory(root), STORE)
    return read_rows(places, census(committed), count_rows, meaning=meaning)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two partitions, up to offset 5."""
    made = write_application(tmp_path, "shop")
    for partition in (0, 1):
        rows = {b"a": row(1), b"b": row(2 + partition)}
        write_task(made, f"0_{partition}", "users-store", rows, checkpoint={("users", partition): 4})
    return made


@contextmanager
def held(lock: Path) -> Iterator[None]:
    lock.touch()
    hold = (
        "import fcntl, sys\n"
        f"file = open({str(lock)!r}, 'r+b')\n"
        "fcntl.lockf(file, fcntl.LOCK_EX)\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.communicate()


class TestWhole:
    def test_all_tasks_are_counted_together_by_partition(self, folder: Path) -> None:
        found = read(folder, {0: 5, 1: 5})
        assert found.is_whole
        assert found.not_read == ()
        assert (found.rows, found.partitions) == (4, (0, 1))
        assert found.schema_ids[Role.VALUE] == {1: 2, 2: 1, 3: 1}
        assert found.found_in[Role.VALUE] == {1: (0, 1), 2: (0,), 3: (1,)}

    def test_a_partition_without_any_record_needs_no_directory_and_rows_may_be_ahead(self, folder: Path) -> None:
        assert read(folder, {0: 5, 1: 5, 2: -1}).is_whole
        assert read(folder, {0: 3, 1: 5}).is_whole

    def test_two_copies_of_a_partition_are_read_both_and_one_of_them_must_reach(
        self, folder: Path, tmp_path: Path
    ) -> None:
        other = write_application(tmp_path / "standby", "shop")
        write_task(other, "0_0", "users-store", {b"a": row(9)}, checkpoint={("users", 0): 1})
        states = (*read_state_directory(folder), *read_state_directory(other))
        found = read_rows(places_of(states, STORE), census({0: 5, 1: 5}), count_rows)
        assert found.is_whole
        assert found.ids(Role.VALUE) == {1, 2, 3, 9}

    @pytest.mark.parametrize(
        ("offset", "meaning", "is_whole"),
        [
            (4, OffsetMeaning.UNKNOWN, False),
            (5, OffsetMeaning.UNKNOWN, True),
            (4, OffsetMeaning.LAST_RECORD, True),
            (4, OffsetMeaning.POSITION, False),
            (5, OffsetMeaning.POSITION, True),
        ],
    )
    def test_without_traces_of_the_version_the_number_is_taken_for_the_lesser(
        self, tmp_path: Path, offset: int, meaning: OffsetMeaning, is_whole: bool
    ) -> None:
        made = write_application(tmp_path, "shop")
        (made / "kafka-streams-process-metadata").unlink()
        write_task(made, "0_0", "users-store", {b"a": row(1)}, checkpoint={("users", 0): offset})
        assert read(made, {0: 5}, meaning=meaning).is_whole is is_whole

    def test_a_global_store_must_have_reached_the_end_of_the_topic(self, tmp_path: Path) -> None:
        made = write_application(tmp_path, "shop")
        write_task(made, "global", "users-store", {b"a": row(1)}, checkpoint={("users", 0): 5, ("users", 1): 5})
        found = read(made, {0: None, 1: None})
        assert found.is_whole
        assert (found.partitions, found.found_in[Role.VALUE]) == ((), {1: ()})
        (made / "global/.checkpoint").write_text("0\n2\nusers 0 5\nusers 1 4\n")
        (why,) = read(made, {0: None, 1: None}).not_read
        assert "rows on disk go up to offset 4 (exclusive), and the topic goes up to 5" in why

    def test_a_store_of_4_3_says_itself_how_far_it_has_come(self, tmp_path: Path) -> None:
        made = write_application(tmp_path, "shop")
        database = made / "0_0/rocksdb/users-store"
        families = {
            "keyValueWithTimestamp": {b"a": bytes(8) + row(1)},
            "offsets": {b"users-0": (4).to_bytes(8, "big"), b"status": bytes(8)},
        }
        write_database(database, families)
        assert read(made, {0: 5}).is_whole
        assert not read(made, {0: 6}).is_whole


class TestNotWhole:
    def test_where_a_partition_lies_in_no_directory(self, folder: Path) -> None:
        found = read(folder, {0: 5, 1: 5, 2: 5})
        assert not found.is_whole
        assert found.not_read == ("partition 2 of topic users: none of the given state directories holds it",)

    def test_where_the_group_has_no_commit_there(self, folder: Path) -> None:
        (why,) = read(folder, {0: 5, 1: None}).not_read
        assert why.startswith("partition 1 of topic users: the group has no committed offset")

    @pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who holds a lock without taking it")
    @pytest.mark.parametrize("lock", [".lock", "0_0/.lock"])
    def test_where_a_process_holds_it_but_what_is_flushed_counts(self, folder: Path, lock: str) -> None:
        with held(folder / lock):
            found = read(folder, {0: 5, 1: 5})
        assert not found.is_whole
        assert found.rows == 4
        assert not found.could_hide
        assert found.not_read[0].startswith(f"task 0_0 in {folder}: a process holds its lock.")

    @pytest.mark.parametrize(
        ("directory", "why"),
        [
            ("users-store/files", "the store has a format of its own, which srfix does not read"),
            ("users-store/users-store.1795219200000", "there is no database in users-store"),
            ("rocksdb/users-store", "there is no database in users-store"),
        ],
    )
    def test_where_a_task_has_no_database_or_one_of_the_users_own_make(
        self, folder: Path, directory: str, why: str
    ) -> None:
        (folder / "0_2" / directory).mkdir(parents=True)
        found = read(folder, {0: 5, 1: 5})
        assert (found.is_whole, found.could_hide) == (False, False)
        assert found.not_read == (f"task 0_2 in {folder}: {why}",)

    def test_but_the_rows_of_segments_are_counted(self, folder: Path) -> None:
        for start in (0, 60_000):
            rows = {
                WINDOWS.encode(key, StoredWindow(start)): row(schema_id) for key, schema_id in ((b"k", 7), (b"l", 8))
            }
            write_database(folder / f"0_2/users-store/users-store.{start}", {"default": rows})
        found = read(folder, {0: 5, 1: 5})
        assert (found.rows, found.schema_ids[Role.VALUE][SchemaId(8)]) == (8, 2)

    def test_where_a_store_s_kind_is_not_certain_and_its_ids_prove_nothing(self, folder: Path) -> None:
        write_database(folder / "0_2/users-store/users-store.60000", {"default": {b"k" * 20: row(7)}})
        found = read(folder, {0: 5, 1: 5})
        assert (found.rows, found.is_whole) == (4, False)
        assert 7 not in found.ids(Role.VALUE)
        assert f"task 0_2 in {folder}: the ids in its 1 row prove nothing" in found.not_read[0]
        assert "it was read as plain-window" in found.not_read[0]

    def test_where_it_holds_a_join_s_subscriptions_whose_ids_are_other_subjects(self, tmp_path: Path) -> None:
        made = write_application(tmp_path, "shop")
        key = CombinedKey(foreign_key=row(8), primary_key=row(9))
        value = Subscription(version=0, instruction=1, hash=bytes(16), primary_key=key.primary_key)
        name = "fk-subscription-store"
        rows = {encode_combined_key(key): encode_subscription(value)}
        write_task(made, "0_0", name, rows, checkpoint={("users", 0): 4})
        store = SuspectStore(application="shop", name=name)
        found = read_rows(places_of(read_state_directory(made), store), census({0: 5}), count_rows)
        assert (found.rows, found.ids(Role.KEY), found.is_whole) == (0, frozenset(), False)
        assert "holds the subscriptions of a foreign-key join" in found.not_read[0]

    def test_where_one_is_damaged_and_the_others_are_kept(self, folder: Path) -> None:
        for table in (folder / "0_1/rocksdb/users-store").glob("*.sst"):
            table.unlink()
        found = read(folder, {0: 5, 1: 5})
        assert (found.is_whole, found.could_hide, found.partitions) == (False, True, (0,))
        assert found.ids(Role.VALUE) == {1, 2}
        (why,) = found.not_read
        assert why.startswith(f"task 0_1 in {folder}: only 0 rows were read: ")


class TestPlaces:
    def test_another_applications_or_topologys_store_of_the_name_is_none(self, folder: Path, tmp_path: Path) -> None:
        write_task(write_application(tmp_path, "tills"), "0_0", "users-store", {b"a": row(7)}, checkpoint=None)
        (folder / "__orders__/0_0/rocksdb/users-store").mkdir(parents=True)
        states = read_state_directory(tmp_path)
        assert {place.state.application for place in places_of(states, STORE)} == {"shop"}
        assert [place.task.name for place in places_of(states, STORE)] == ["0_0", "0_1"]


def test_ids_of_roles_without_a_registry_serde_are_there_by_chance(folder: Path) -> None:
    found = of_registry_roles(read(folder, {0: 5, 1: 5}), {Role.KEY: True, Role.VALUE: False})
    assert found.ids(Role.VALUE) == frozenset()
    assert found.is_whole

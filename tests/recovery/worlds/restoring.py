"""The rows that Kafka Streams 2.0 to 2.6.3 restores after a wipe, and the registry's answer to the reader of each row.

Written from the facts alone (`StoreChangelogReader.initializeChangelogs`, the case table "What a restore
loads", `AbstractKafkaAvroDeserializer.deserializeWithSchemaAndVersion`); it shares no code with srfix.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from srfix.serde.schemas.models import Json
from tests.recovery.worlds.families import PRODUCED
from tests.recovery.worlds.rows import latest
from tests.recovery.worlds.schemas import LOST, as_java_writes
from tests.recovery.worlds.seen import asks_source, on_disk
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import (
    GUID,
    METADATA_FROM_3_3,
    UNFRAMED,
    WHOLE,
    DiskRow,
    KeyFormat,
    Kind,
    Log,
    Record,
    SubjectSetup,
    TrueStore,
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row that a restore puts in a store."""

    partition: int
    record: Record


@dataclass(frozen=True, slots=True)
class Failure:
    """The registry's answer to a reader of a row."""

    store: TrueStore
    role: str
    row: Row
    schema_id: int
    code: int

    def __str__(self) -> str:
        where = f"{self.store.topic}[{self.row.partition}] offset {self.row.record.offset}"
        return f"{self.store.application}/{self.store.name} {self.role} of {where}: id {self.schema_id} is {self.code}"


def live_rows(staged: StagedWorld, store: TrueStore) -> list[Row]:
    """The rows after a restore from nothing: the latest of each (partition, key) up to the limit."""
    setup = staged.world.topics.get(store.topic or "")
    if setup is None:
        return []
    return [Row(n, record) for n, log in enumerate(setup.logs) for record in _restored(staged, store, n, log)]


def _restored(staged: StagedWorld, store: TrueStore, partition: int, log: Log) -> list[Record]:
    if store.kind is Kind.GLOBAL:
        limit = log.end
    else:
        group = staged.world.groups.get(store.application)
        committed = None if group is None else group.commits.get((store.topic or "", partition))
        limit = 0 if committed is None else min(log.end, committed)
    return latest(log.records, limit, staged.key_bytes)


def ids_in_log(staged: StagedWorld, store: TrueStore, role: str) -> set[int]:
    """Every id that any record of the source topic carries in this role, live or not."""
    setup = staged.world.topics.get(store.topic or "")
    records = [record for log in setup.logs for record in log.records] if setup else []
    return {found for record in records if (found := id_of(staged, record, role)) is not None}


def id_of(staged: StagedWorld, record: Record, role: str) -> int | None:
    """The schema id that a registry serializer wrote; None if none did."""
    if role == "key":
        key = record.key
        return None if key is None or key.format is not KeyFormat.AVRO else staged.ids[key.schema or ""]
    return None if record.value is None else staged.ids.get(record.value)


def failures(staged: StagedWorld, store: TrueStore) -> list[Failure]:
    """The rows that the store's reader cannot read, because the registry answers 40401 or 40403. Damaged rows are left
    out: they fail earlier. Only iterations read keys.
    """
    found = []
    answers: dict[tuple[str, int], int | None] = {}
    for row in live_rows(staged, store):
        for role in ("key", "value"):
            schema_id = id_of(staged, row.record, role)
            is_whole = (row.record.key.body if row.record.key and role == "key" else row.record.body) == WHOLE
            if schema_id is None or not is_whole:
                continue
            if (role, schema_id) not in answers:
                answers[role, schema_id] = _answer(staged, store, role, schema_id)
            code = answers[role, schema_id]
            if code is not None:
                found.append(Failure(store, role, row, schema_id, code))
    return found


def _answer(staged: StagedWorld, store: TrueStore, role: str, schema_id: int) -> int | None:
    """The registry's answer to the store's reader; under both subjects if nobody knows which one it asks."""
    world = staged.world
    subjects = {world.asked_subject(store, role)}
    if asks_source(world, store) is None or is_of_ksqldb(store):
        subjects.add(world.table_subject(store, role))  # `StaticTopicSerde` asks it first on every version
    by_id_alone = store.reader == "plain"
    answers = [look_up(staged, staged.qualified(each), schema_id, by_id_alone=by_id_alone) for each in sorted(subjects)]
    return None if None in answers else answers[0]


def is_of_ksqldb(store: TrueStore) -> bool:
    return store.application.startswith("_confluent-ksql-")


def failures_on_disk(staged: StagedWorld, store: TrueStore) -> list[str]:
    """The same for the rows that the person gave, if their directory is not in use."""
    seen = on_disk(staged.world, store)
    is_source = asks_source(staged.world, store)
    if seen is None or seen.is_in_use or is_source is None or store.topic not in staged.world.topics:
        return []
    failed = []
    for row in seen.rows:
        for role, name in (("key", row.key.schema), ("value", row.value)):
            is_whole = (row.key.body if role == "key" else row.body) == WHOLE
            if name is None or name not in staged.ids or not is_whole:
                continue
            code = _answer(staged, store, role, staged.ids[name])
            if code is not None:
                failed.append(
                    f"on disk {store.application}/{store.name} has a {role} with id {staged.ids[name]}: {code}"
                )
    return failed


def rows_that_a_wipe_loses(staged: StagedWorld, store: TrueStore) -> list[DiskRow]:
    """Rows on disk without a record in the source topic; rows with a lost id are left out, because they are already
    lost.
    """
    seen = on_disk(staged.world, store)
    setup = staged.world.topics.get(store.topic or "")
    if seen is None or setup is None or setup.policy == "compact":
        return []
    # The application's own key schema does not make another key of it.
    held = {r.key.number for log in setup.logs for r in log.records if r.key is not None and r.value is not None}
    return [row for row in seen.rows if row.key.number not in held and row.value not in LOST]


def may_be_table(staged: StagedWorld, store: TrueStore) -> bool:
    """True for a store without logging that nobody can distinguish from a table which restores from its topic, because
    both leave the same traces. On 3.3 and later, the store's own schema can show the difference: each put of such a
    table would register it under the source's own subject, unless somebody permanently deleted it there.
    """
    world = staged.world
    group = world.groups.get(store.application)
    own = world.subjects.get(world.table_subject(store, "value"), SubjectSetup(())).versions
    held = world.subjects.get(f"{store.fed_by}-value", SubjectSetup(())).versions
    if store.fed_by is None or group is None or store.fed_by not in world.topics:
        return store.fed_by is not None
    logs = enumerate(world.topics[store.fed_by].logs)
    # Kafka Streams commits again after it has read a record; an older version may have put the records before.
    last = [r for n, log in logs for r in log.records if r.offset == group.commits.get((store.fed_by, n), 0) - 1]
    # A value that does not deserialise is never put: the thread dies of it, or a handler skips it.
    if not any(r.key is not None and r.body == WHOLE and _is_read(staged, store.fed_by, r.value) for r in last):
        return True  # nothing shows a put
    own = tuple(version for version in own if not version.deleted)  # a put would have brought the others back
    if not own or {version.schema for version in own} & ({version.schema for version in held} | PRODUCED):
        return True
    if any(r.value in LOST for log in world.topics[store.fed_by].logs for r in log.records):
        return True  # somebody deletes for good there
    return not (group.metadata == METADATA_FROM_3_3 and world.registers)


def _is_read(staged: StagedWorld, topic: str, value: str | None) -> bool:
    """True if every reader that the store may have gets a value. One that names its schema by GUID is read like any other."""
    world = staged.world
    if value in (None, UNFRAMED, *LOST):
        return False
    readers = {store.reader for store in world.truth}
    by_id_alone = world.says_reader and readers == {"plain"}
    subject = staged.qualified(f"{topic}-value")
    return value == GUID or look_up(staged, subject, staged.ids[value or ""], by_id_alone=by_id_alone) is None


def look_up(staged: StagedWorld, subject: str, schema_id: int, *, by_id_alone: bool = False) -> int | None:
    """The requests of Connect's AvroConverter: the schema by id, then its version by the text that Avro writes for it.
    None if the registry has both.
    """
    name = quote(subject, safe="")
    status, document = staged.ask("GET", f"/schemas/ids/{schema_id}?fetchMaxId=false&subject={name}")
    if status != 200:
        return _code(document)
    if by_id_alone:
        return None
    sent = {"schema": as_java_writes(str(document["schema"]))}
    status, document = staged.ask("POST", f"/subjects/{name}?normalize=false&deleted=true", sent)
    return None if status == 200 else _code(document)


def _code(document: dict[str, Json]) -> int:
    code = document["error_code"]
    assert isinstance(code, int)
    assert code in (40401, 40403), document
    return code

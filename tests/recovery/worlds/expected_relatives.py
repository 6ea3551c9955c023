"""Which findings of the relatives a store whose source is known calls for, and which it forbids.

Written from the contract and the facts; if they leave a choice, nothing is expected and nothing is forbidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from srfix.recovery.findings import Severity
from tests.recovery.worlds.expectation import Expectation
from tests.recovery.worlds.families import PRODUCED
from tests.recovery.worlds.restoring import Row, id_of, ids_in_log, look_up
from tests.recovery.worlds.schemas import LOST, record_name, text
from tests.recovery.worlds.seen import OnDisk, asks_source, on_disk, row_ids
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import GUID, DiskRow, Record, SubjectSetup, TrueStore


def of_relatives(staged: StagedWorld, store: TrueStore, rows: list[Row]) -> Iterator[Expectation]:
    seen = on_disk(staged.world, store)
    yield from _upgrade_mirror(staged, store, rows, seen)
    yield from _pollution(staged, store, seen)
    yield from _lost_in_rows(staged, store, seen)
    yield from _refused_writes(staged, store, rows)
    yield from _refused_upgrade(staged, store)
    yield from _untransformed(staged, store, seen)


def _lacks(staged: StagedWorld, subject: str, schema_id: int) -> bool:
    return look_up(staged, subject, schema_id) is not None


def _upgrade_mirror(
    staged: StagedWorld, store: TrueStore, rows: list[Row], seen: OnDisk | None
) -> Iterator[Expectation]:
    """SRF004: the ids that an older Streams stored are only under the phantom subject, but 2.7 asks the source's."""
    world = staged.world
    source, in_log = staged.qualified(f"{store.topic}-value"), ids_in_log(staged, store, "value")
    phantom = world.subjects.get(world.table_subject(store, "value"))
    held = {staged.ids[version.schema] for version in phantom.versions} if phantom else set()
    carried = row_ids(staged, seen, "value") - set(LOST.values()) if seen is not None else set()
    lacking = {n for n in carried if _lacks(staged, source, n)}
    internal = lacking - in_log
    if seen is not None and seen.is_whole and world.is_upgraded:
        if internal:
            why = "rows on disk carry ids that the source's own subject lacks"
            yield Expectation("SRF004", "value", True, why, named=frozenset(internal))
        elif not lacking:
            yield Expectation(
                "SRF004", "value", False, "all rows are on disk, and the source's own subject has their ids"
            )
    elif not lacking and not any(_lacks(staged, source, n) for n in held):
        yield Expectation("SRF004", "value", False, "every id of the phantom subject is under the source's own subject")
    elif world.is_upgraded and seen is not None and internal and phantom is None:
        yield Expectation("SRF004", "value", True, "rows on disk carry ids that the source's own subject lacks")
    elif store.application in world.renewed:
        pass  # it stored nothing before
    elif world.is_upgraded and phantom and rows and (seen is None or seen.is_whole is False):
        own = held - in_log
        is_certain = own and all(_lacks(staged, source, n) for n in own)
        if is_certain and not any(version.deleted for version in phantom.versions):
            yield Expectation("SRF004", "value", True, "the application's own ids are under the phantom subject alone")


def _pollution(staged: StagedWorld, store: TrueStore, seen: OnDisk | None) -> Iterator[Expectation]:
    """SRF010: a live version of the source subject that no record carries, and that is an internal schema."""
    must, may = unused_internal(staged, store, seen)
    if must:
        in_log = frozenset(ids_in_log(staged, store, "value"))
        why = "no record carries a version of the source subject, and the application registered it"
        yield Expectation("SRF010", "value", True, why, named=frozenset(must), sound=in_log, severity=Severity.LITTER)
    elif not may:
        yield Expectation("SRF010", "value", False, "no version of the source subject is internal and unused")


def unused_internal(staged: StagedWorld, store: TrueStore, seen: OnDisk | None) -> tuple[set[int], set[int]]:
    """Two sets of ids of live versions of a store's source subject: those that must be found as litter, and those that
    may be found.
    """
    world = staged.world
    source = world.subjects.get(f"{store.topic}-value", SubjectSetup(()))
    phantom = world.subjects.get(world.table_subject(store, "value"), SubjectSetup(()))
    in_log = ids_in_log(staged, store, "value")
    of_rows = row_ids(staged, seen, "value") if seen is not None else set()
    live = [version.schema for version in phantom.versions if not version.deleted]
    ksql = {schema_id for schema, schema_id in staged.ids.items() if record_name(schema) == "KsqlDataSourceSchema"}
    there = {staged.ids[version.schema] for version in phantom.versions}
    values = {record.value for log in world.topics[store.topic or ""].logs for record in log.records}
    # Nothing is known of an empty topic, of ids that no record names, or of producers whose schemas are lost.
    is_told = bool(in_log - set(LOST.values())) and GUID not in values
    must, may = set(), set()
    earlier: set[int] = set()
    for version in source.versions:
        schema_id = staged.ids[version.schema]
        before, earlier = earlier, earlier | {schema_id}
        if version.deleted or schema_id in in_log:
            continue
        if version.schema in PRODUCED:
            if schema_id in of_rows:
                may.add(schema_id)  # the application writes under it, and no producer does
            if (before & in_log) - there and phantom.versions and version.schema == phantom.versions[0].schema:
                may.add(schema_id)  # the application's own schema, which happens to be one of the producers' too
            continue
        may.add(schema_id)
        # If it comes before all ids that records carry, it may be the producers', as far as the order shows.
        is_later = bool(before & in_log) or in_log.isdisjoint(staged.ids[each.schema] for each in source.versions)
        is_marked = is_later and before and version.schema in live and schema_id in ksql and not in_log & ksql
        # A serde that keeps the writer's schema would have copied an earlier one too; copies alone tell nothing by their order.
        is_own = bool((before & in_log) - there)
        is_first = is_own and version.schema in live and version.schema == phantom.versions[0].schema
        if is_told and (is_marked or is_first or (is_later and schema_id in of_rows)):
            must.add(schema_id)
    return must, may


def _lost_in_rows(staged: StagedWorld, store: TrueStore, seen: OnDisk | None) -> Iterator[Expectation]:
    """SRF014 of a store: the registry no longer knows an id of its rows, and no record carries the id."""
    for role in ("key", "value"):
        lost = row_ids(staged, seen, role) & set(LOST.values()) if seen is not None else set()
        own = lost - ids_in_log(staged, store, role)
        if own:
            why = "the registry lost ids of rows on disk"
            yield Expectation("SRF014", role, True, why, named=frozenset(own), severity=Severity.BROKEN)
        elif not lost:
            yield Expectation("SRF014", role, False, "the registry knows every id on disk")


def _refused_writes(staged: StagedWorld, store: TrueStore, rows: list[Row]) -> Iterator[Expectation]:
    """SRF015: the serializer's subject has no version, and nobody may register one."""
    world = staged.world
    is_source = asks_source(world, store)
    if is_source is None or (is_source and store.application.startswith("_confluent-ksql-")):
        return  # ksqlDB's serde names the changelog on every version (StaticTopicSerde)
    subject = f"{store.topic}-value" if is_source else world.table_subject(store, "value")
    held = world.subjects.get(subject, SubjectSetup(()))
    mode = held.mode or world.modes.get(subject) or world.modes.get("")
    is_refused = mode == "READONLY" or not world.registers
    carried = [row for row in rows if id_of(staged, row.record, "value") is not None]
    if not is_refused:
        yield Expectation("SRF015", "value", False, "whoever writes registers its schema")
    elif is_source and held.versions:
        pass  # it holds the producers' schemas, and perhaps not what the application writes
    elif any(not version.deleted for version in held.versions):
        yield Expectation("SRF015", "value", False, "the subject holds what the application writes")
    elif not held.versions and carried:
        yield Expectation(
            "SRF015", "value", True, f"nothing is under {subject}, and nothing can be", severity=Severity.BROKEN
        )


def _refused_upgrade(staged: StagedWorld, store: TrueStore) -> Iterator[Expectation]:
    """SRF016: 2.7 registers the internal schema under the source's own subject, which refuses it or takes it."""
    world = staged.world
    is_source = asks_source(world, store)
    if is_source is False:
        yield Expectation("SRF016", "value", False, "no Streams runs that asks the source's own subject")
    source = world.subjects.get(f"{store.topic}-value")
    phantom = world.subjects.get(world.table_subject(store, "value"), SubjectSetup(()))
    if not is_source or source is None or all(version.deleted for version in source.versions):
        return
    if store.application.startswith("_confluent-ksql-"):
        return  # ksqlDB's serde names the changelog on every version (StaticTopicSerde)
    name, in_log = staged.qualified(f"{store.topic}-value"), ids_in_log(staged, store, "value")
    own = [
        v for v in phantom.versions if staged.ids[v.schema] not in in_log and _lacks(staged, name, staged.ids[v.schema])
    ]
    live = {version.schema for version in source.versions if not version.deleted}
    if all(version.schema in live for version in phantom.versions):
        yield Expectation("SRF016", "value", False, "the source's own subject has all that the application writes")
    if store.application in world.renewed:
        return  # it has written there already
    carried = {record.value for log in world.topics[store.topic or ""].logs for record in log.records}
    if any(f"!{version.schema}" in carried for version in own):
        return  # as a repair leaves it in a registry that keeps texts as sent: the reader's text of what records carry
    verdicts = {_is_accepted(staged, name, version.schema) for version in own}
    if not world.registers or "READONLY" in (source.mode, world.modes.get(f"{store.topic}-value"), world.modes.get("")):
        pass  # nothing is registered there, whatever it is compatible with: SRF015
    elif verdicts == {False} and not any(version.deleted for version in own):
        why = "the source's own subject refuses the internal schema"
        yield Expectation("SRF016", "value", True, why, severity=Severity.BREAKS_ON_UPGRADE)
    elif verdicts == {True}:
        why = "the source's own subject takes the internal schema"
        yield Expectation("SRF016", "value", False, why, severity=Severity.BREAKS_ON_UPGRADE)


def _is_accepted(staged: StagedWorld, subject: str, schema: str) -> bool | None:
    """The registry's answer to a registration at the level in force; None if the answer depends on the compared
    versions.
    """
    name = quote(subject, safe="")
    sent = {"schema": text(schema)}
    answers = {
        staged.ask("POST", f"/compatibility/subjects/{name}/versions{which}", sent)[1].get("is_compatible")
        for which in ("", "/latest")
    }
    return None if len(answers) > 1 else answers == {True}


def _untransformed(staged: StagedWorld, store: TrueStore, seen: OnDisk | None) -> Iterator[Expectation]:
    """SRF019: a restore puts unchanged records into a store that a processor fills with other rows."""
    world = staged.world
    if not store.has_own_processor or world.is_reprocessing:
        yield Expectation("SRF019", "value", False, "no processor is seen that a restore goes past")
        return
    if seen is None:
        return
    is_behind = world.layouts.get(store.application) == "behind"
    records = [record for log in world.topics[store.topic or ""].logs for record in log.records]
    found = {row: [r for r in records if r.key == row.key and r.value is not None] for row in seen.rows}
    keys = [{record.key for record in log.records} for log in world.topics[store.topic or ""].logs]
    alone = {row for row in found if sum(row.key in of_partition for of_partition in keys) == 1}
    if len({key.schema for of_partition in keys for key in of_partition if key is not None}) > 1:
        alone = set()  # the store's serde may have changed the keys
    if all(any(_is_raw(row, record) for record in of) for row, of in found.items()):
        yield Expectation("SRF019", "value", False, "every row is what a record holds")
    elif (
        not seen.is_in_use
        and not is_behind
        and any(of and row in alone and _says_another(row, of) for row, of in found.items())
    ):
        yield Expectation("SRF019", "value", True, "rows differ from their records", severity=Severity.SILENT)


def _says_another(row: DiskRow, records: list[Record]) -> bool:
    """True if a row's content differs from the record of its key; a row under an id that the registry lost has no known
    content.
    """
    return row.value not in LOST and row.number not in {record.offset % 50 for record in records}


def _is_raw(row: DiskRow, record: Record) -> bool:
    return (row.value, row.number, row.body) == (record.value, record.offset % 50, record.body)

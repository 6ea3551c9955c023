"""What a diagnosis did not look at, in words: a store, or a part of what was examined of it."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.bodies import Bodies
from srfix.recovery.findings import Skipped
from srfix.recovery.stores import StoreFacts, SuspectStore
from srfix.serde.errors import AccessDeniedError
from srfix.serde.subjects import Role, Topic

__all__ = ["from_nowhere", "not_allowed", "of_examined", "other_split", "taken", "without_source"]


def of_examined(facts: StoreFacts) -> Iterator[Skipped]:
    """What the examination of a store left out."""
    census = facts.census
    if census is None:
        return
    configs = facts.source_configs
    if configs is not None and configs.is_compacted is None:
        yield Skipped(
            what=f"cleanup.policy of topic {configs.topic}",
            reason=f"{configs.problem or 'the cluster does not name it'}; whether retention deletes rows of store "
            f"{facts.store.name} was not looked at (SRF018)",
            could_hide=False,
        )
    for role, bodies in facts.bodies.items():
        yield from _not_decoded(census.topic, role, bodies)
    if facts.keys is not None and facts.keys.not_looked_at is not None:
        yield Skipped(
            what=f"keys of topic {census.topic}",
            reason=facts.keys.not_looked_at,
            could_hide=facts.keys.could_hide,
        )
    for partition in census.partitions:
        where = f"topic {census.topic}, partition {partition.partition}"
        if partition.stopped_early is not None:
            yield Skipped(what=where, reason=partition.stopped_early, could_hide=True)
        for role in Role:
            if role is Role.KEY and role not in facts.roles and Role.VALUE in facts.roles:
                continue  # the key serde asks no registry
            counted = partition.of(role)
            if counted.guids:
                yield Skipped(
                    what=f"{counted.guids} {role.value}(s) of {where}",
                    reason="they name their schema by GUID, which a diagnosis does not look up under the subjects",
                    could_hide=True,
                )
            told = facts.source is not None and role in facts.roles and bool(counted.live_unframed_keys)  # by SRF013
            if role is Role.VALUE and counted.unframed and not told and not facts.value_asks_no_registry:
                yield Skipped(
                    what=f"{counted.unframed} {role.value}(s) of {where}, the first at offset "
                    f"{counted.first_unframed_offset}",
                    reason="they are not framed by a schema registry serializer, so they carry no schema id",
                    could_hide=True,
                )


def _not_decoded(topic: Topic, role: Role, bodies: Bodies) -> Iterator[Skipped]:
    """Rows that nobody decoded. They could hide a finding where all were asked for; else nobody takes them for proven."""
    what = f"bodies of the {role.value}s of topic {topic}"
    if bodies.newest_only and bodies.decoded < bodies.live_keys:
        yield Skipped(
            what=what,
            reason=f"only the newest live one of each schema id and partition was decoded ({bodies.decoded} of "
            f"{bodies.live_keys}); srfix diagnose --decode-values decodes them all (SRF013)",
            could_hide=False,
        )
    for left_out in bodies.left_out:
        yield Skipped(what=what, reason=f"not decoded: {left_out}", could_hide=not bodies.newest_only)


def not_allowed(suspect: SuspectStore, error: AccessDeniedError) -> Skipped:
    """Its group or its topic may not be read."""
    return Skipped(
        what=_store(suspect),
        reason=f"{error} Without it, what a restore loads cannot be told",
        could_hide=True,
    )


def without_source(suspect: SuspectStore) -> Skipped:
    """No evidence points to any topic."""
    return Skipped(
        what=_store(suspect),
        reason="nothing tells which topic it restores from (no committed offsets, no schema to compare); "
        f"name it with --source {suspect.name}=TOPIC",
        could_hide=True,
    )


def other_split(suspect: SuspectStore) -> Skipped:
    """Its name may be another application's."""
    others = ", ".join(suspect.other_applications)
    return Skipped(
        what=f"the subjects of {suspect.changelog} as those of {others}",
        reason=f"the name allows more than one application; it was examined as store {suspect.name} of "
        f"{suspect.application}. If it is another one's, name both with --application and --store",
        could_hide=True,
    )


def taken(suspect: SuspectStore, topic: Topic) -> Skipped:
    """Its topic is another store's."""
    return Skipped(
        what=_store(suspect),
        reason=f"the only topic that it may restore from, {topic}, is another store's, so it restores from nowhere "
        f"(logging disabled, say); if that is wrong, name its topic with --source {suspect.name}=TOPIC",
        could_hide=False,
    )


def from_nowhere(suspect: SuspectStore) -> Skipped:
    """Its logging is disabled."""
    return Skipped(
        what=_store(suspect),
        reason="its state directory says that nothing is restored into it: its logging is disabled, so its subjects have no "
        f"topic by design (srfix explain SRF007). If that is wrong, name its topic with --source {suspect.name}=TOPIC",
        could_hide=False,
    )


def _store(suspect: SuspectStore) -> str:
    return f"store {suspect.name} of application {suspect.application}"

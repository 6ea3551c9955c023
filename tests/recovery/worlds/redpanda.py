"""Worlds in a registry of Redpanda's: it keeps texts as they were sent, or does not find soft-deleted versions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Final

from tests.recovery.worlds.drawing import often, one
from tests.recovery.worlds.families import FAMILIES, KEYS
from tests.recovery.worlds.world import Log, SubjectSetup, World

_OF_PRODUCERS: Final = {f"{name}-{role}" for name in FAMILIES for role in ("key", "value")}


def in_redpanda(dice: Random, world: World) -> World:
    """Producers of some topics sent another text than Java writes, as all stores do; the registry has no modes to set."""
    sent = {name for name in FAMILIES if name != "HITS" and often(dice, 60)}  # ksqlDB writes that one, in Java's text
    texts = {line: f"!{line}" for name in sent for line in FAMILIES[name]}
    subjects = {}
    for subject, held in world.subjects.items():
        is_key = subject.endswith("-key") and subject.removesuffix("-key") in sent
        is_internal = subject.endswith(("-changelog-value", "-changelog-key")) and subject not in _OF_PRODUCERS
        versions = tuple(
            replace(v, schema=texts.get(v.schema, f"!{v.schema}" if is_key and v.schema in KEYS else v.schema))
            for v in held.versions
        )
        subjects[subject] = replace(held, mode=None, versions=held.versions if is_internal else versions)
    topics = {
        name: replace(setup, logs=tuple(_sent(log, texts, with_keys=name in sent) for log in setup.logs))
        for name, setup in world.topics.items()
    }
    for store in (store for store in world.truth if store.application in world.renewed and store.topic in topics):
        for role in ("key", "value"):  # what 2.7 puts is another text there
            own = subjects.get(world.table_subject(store, role), SubjectSetup(())).versions
            source = subjects.get(f"{store.topic}-{role}", SubjectSetup(()))
            known = {version.schema for version in source.versions}
            added = tuple(v for v in own if v.schema not in known and not v.deleted)
            if added:
                subjects[f"{store.topic}-{role}"] = replace(source, versions=(*source.versions, *added))
    registry = one(dice, ("redpanda-23.1", "redpanda-25.1"))
    return replace(world, registry=registry, modes={}, subjects=subjects, topics=topics)


def _sent(log: Log, texts: Mapping[str, str], *, with_keys: bool) -> Log:
    """Records under the ids of what their producers sent."""
    records = []
    for record in log.records:
        key = record.key
        if with_keys and key is not None and key.schema is not None:
            key = replace(key, schema=f"!{key.schema}")
        records.append(replace(record, key=key, value=texts.get(record.value or "", record.value)))
    return replace(log, records=tuple(records))

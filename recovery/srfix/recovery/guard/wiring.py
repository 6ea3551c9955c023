"""Where a store restores from, and the topic that its serdes are handed, by the version of Kafka Streams.

| store | restores from | serdes are handed |
|---|---|---|
| table whose source topic is reused | the source topic, byte for byte | up to 2.6 the changelog's name, then the source's |
| global store | the source topic, whatever the optimisation | the same |
| any other | a changelog of its own, or nothing (logging disabled) | the changelog's name, in every version |
| ksqlDB's table (StaticTopicSerde) | the source topic | the changelog's name, in every version |

`ProcessorContextUtils.changelogFor`, `InternalStreamsBuilder.reuseKTableSourceTopics`, KAFKA-10179. 1.0 and 1.1 never reuse.
"""

from __future__ import annotations

from typing import Final

from srfix.recovery.facts.reader import StreamsVersion
from srfix.recovery.findings import Weight
from srfix.recovery.guard.models import GuardedStore, Optimization, StoreKind, Wiring
from srfix.serde.subjects.names import Topic

SOURCE_BYTES: Final = (Wiring.REUSED, Wiring.GLOBAL)
"""Where a restore loads the source topic's records as they are."""

_REUSE_IS_A_SETTING: Final = StreamsVersion(2, 0)
_REUSE_WAS_TAKEN_OUT: Final = StreamsVersion(1, 0)

_Seen = bool | None


def wirings(
    store: GuardedStore, version: StreamsVersion | None, optimization: Optimization, *, has_changelog: _Seen, runs: bool
) -> tuple[Wiring, ...]:
    """All that are possible under a version.

    :param has_changelog: whether its changelog topic exists; None if no cluster was looked at.
    :param runs: True if the application has committed offsets: then an internal topic that it needs exists.
    """
    match store.kind:
        case StoreKind.GLOBAL:
            return (Wiring.GLOBAL,)
        case StoreKind.OTHER:
            found = {Wiring.OWN, Wiring.NONE}
        case StoreKind.TABLE:
            found = _of_table(store, version, optimization)
    if has_changelog and optimization.reuses_source_topics is not True:
        # Streams made that topic for it; one that is left over from before a setting was changed is for the person to tell.
        found = found & {Wiring.OWN} or found
    elif has_changelog is False and runs:
        found = found - {Wiring.OWN} or found
    return tuple(wiring for wiring in Wiring if wiring in found)


def _of_table(store: GuardedStore, version: StreamsVersion | None, optimization: Optimization) -> set[Wiring]:
    reuses = _reuses(store, version, optimization)
    found = {Wiring.REUSED} if reuses else {Wiring.OWN, Wiring.NONE}
    if reuses is None:
        found = {Wiring.REUSED, Wiring.OWN, Wiring.NONE}
    if store.weight is Weight.WEAK:
        found |= {Wiring.OWN, Wiring.NONE}
        if version is None or version.asks_the_source_subject:
            # addReadOnlyStateStore (KIP-813, 3.8) makes the source topic the changelog. What was concluded of the version is
            # as exact as KAFKA-10179 needs it, so that any with the fix may be a later one.
            found.add(Wiring.REUSED)
    return found


def _reuses(store: GuardedStore, version: StreamsVersion | None, optimization: Optimization) -> bool | None:
    if version is not None and version < _REUSE_IS_A_SETTING:
        return version < _REUSE_WAS_TAKEN_OUT
    said = optimization.reuses_source_topics
    return True if said is None and (store.is_ksqldb or store.has_left_a_phantom) else said


def handed(store: GuardedStore, wiring: Wiring, version: StreamsVersion | None) -> tuple[Topic, ...]:
    """The topics that the store's serdes may be handed: two where it depends on the version, and nobody said which."""
    if wiring not in SOURCE_BYTES or store.topic is None or (store.is_ksqldb and wiring is Wiring.REUSED):
        return (store.changelog,)
    if version is None:
        return store.changelog, store.topic
    return (store.topic,) if version.asks_the_source_subject else (store.changelog,)


def loads(store: GuardedStore, wiring: Wiring, version: StreamsVersion | None) -> str:
    """What a restore puts in the store, in words."""
    match wiring:
        case Wiring.REUSED:
            return f"the bytes of topic {store.topic} as they are, up to the committed offsets"
        case Wiring.GLOBAL if version is None or version.restores_through_processors:
            return (
                f"the bytes of topic {store.topic} as they are; a store of addGlobalStore, from 3.8 on, what its processor "
                "makes of them (KAFKA-7663)"
            )
        case Wiring.GLOBAL:
            return f"the bytes of topic {store.topic} as they are, all of them"
        case Wiring.OWN:
            return f"the records of its changelog topic {store.changelog}"
        case Wiring.NONE:
            return "nothing"

"""A store with all that is known of it, from a person's words and from what srfix saw; what this makes certain, and
what may happen to the store. The place from which a store restores, and the topic name that its serdes get, by the
version of Kafka Streams:

| store | restores from | serdes get |
|---|---|---|
| table whose source topic is reused | the source topic, byte for byte | up to 2.6 the changelog's name, then the source's |
| global store | the source topic, whatever the optimisation | the same |
| any other | a changelog of its own, or nothing (logging disabled) | the changelog's name, in every version |
| ksqlDB's table (StaticTopicSerde) | the source topic | the changelog's name, in every version |

`ProcessorContextUtils.changelogFor`, `InternalStreamsBuilder.reuseKTableSourceTopics`, KAFKA-10179. 1.0 and 1.1 never
reuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from srfix.recovery.facts.reader import Reader, StreamsVersion
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import Severity, Weight
from srfix.recovery.forecasts import Certainty, Foretold, Moment, weakest
from srfix.recovery.guard.looking import Sight, SubjectPair
from srfix.recovery.guard.models import Assumed, GuardedStore, NewSchema, StoreForecast, StoreKind, Wiring
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, Topic
from srfix.serde.wire import SchemaId

SOURCE_BYTES: Final = (Wiring.REUSED, Wiring.GLOBAL)
"""Wirings in which a restore loads the source topic's records unchanged."""

_REUSE_IS_A_SETTING: Final = StreamsVersion(2, 0)
_REUSE_WAS_TAKEN_OUT: Final = StreamsVersion(1, 0)


def handed(store: GuardedStore, wiring: Wiring, version: StreamsVersion | None) -> tuple[Topic, ...]:
    """The topic names that the store's serdes may get: two if it depends on the version, and nobody named the version."""
    if wiring not in SOURCE_BYTES or store.topic is None or (store.is_ksqldb and wiring is Wiring.REUSED):
        return (store.changelog,)
    if version is None:
        return store.changelog, store.topic
    return (store.topic,) if version.asks_the_source_subject else (store.changelog,)


def loads(store: GuardedStore, wiring: Wiring, version: StreamsVersion | None) -> str:
    match wiring:
        case Wiring.REUSED:
            return f"the unchanged bytes of topic {store.topic}, up to the committed offsets"
        case Wiring.GLOBAL if version is None or version.restores_through_processors:
            return (
                f"the unchanged bytes of topic {store.topic}; but from 3.8 on, a store of addGlobalStore gets the "
                "output of its processor (KAFKA-7663)"
            )
        case Wiring.GLOBAL:
            return f"all bytes of topic {store.topic}, unchanged"
        case Wiring.OWN:
            return f"the records of its changelog topic {store.changelog}"
        case Wiring.NONE:
            return "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedStore:
    store: GuardedStore
    assumed: Assumed
    running: StreamsVersion | None
    """The version that runs: as the person said, else as srfix concluded from traces on the cluster."""
    reader: Reader
    """Its reader: as the person said, else as ksqlDB's version or the schemas show."""
    sight: Sight

    def wirings(self, version: StreamsVersion | None) -> tuple[Wiring, ...]:
        """All wirings that are possible under a version. If the application runs, the internal topics that it needs exist."""
        store, reuses = self.store, self.assumed.optimization.reuses_source_topics
        has_changelog, runs = self.sight.has_topic(store.changelog), self.sight.runs(store)
        match store.kind:
            case StoreKind.GLOBAL:
                return (Wiring.GLOBAL,)
            case StoreKind.OTHER:
                candidates = {Wiring.OWN, Wiring.NONE}
            case StoreKind.TABLE:
                candidates = self._of_table(version)
        if has_changelog and reuses is not True:
            # Streams made that topic for the store. If it is left over from before a setting was changed, the person must
            # say so.
            candidates = candidates & {Wiring.OWN} or candidates
        elif has_changelog is False and runs:
            candidates = candidates - {Wiring.OWN} or candidates
        return tuple(wiring for wiring in Wiring if wiring in candidates)

    def _of_table(self, version: StreamsVersion | None) -> set[Wiring]:
        store, reuses = self.store, self.assumed.optimization.reuses_source_topics
        if version is not None and version < _REUSE_IS_A_SETTING:
            reuses = version < _REUSE_WAS_TAKEN_OUT
        elif reuses is None and (store.is_ksqldb or store.has_left_a_phantom):
            reuses = True
        candidates = set() if reuses is False else {Wiring.REUSED}
        if not reuses or store.weight is Weight.WEAK:
            candidates |= {Wiring.OWN, Wiring.NONE}
        if store.weight is Weight.WEAK and (version is None or version.asks_the_source_subject):
            # addReadOnlyStateStore (KIP-813, 3.8) makes the source topic the changelog. A concluded version is only as
            # exact as KAFKA-10179 needs it, so a version with the fix may be a later one.
            candidates.add(Wiring.REUSED)
        return candidates

    def forecast(self, version: StreamsVersion | None) -> StoreForecast:
        candidates = self.wirings(version)
        names = {topic: None for wiring in candidates for topic in handed(self.store, wiring, version)}
        # A concluded version is only as exact as KAFKA-10179 needs it.
        named_version = version if version in (self.assumed.running, self.assumed.to) else None
        return StoreForecast(
            store=self.store,
            version=version,
            wirings=candidates,
            handed=tuple(names),
            loads=tuple(loads(self.store, wiring, named_version) for wiring in candidates),
        )

    def subject_pair(self, role: Role) -> SubjectPair | None:
        return self.sight.subject_pair(self.store, role)

    def writes_nothing_of_its_own(self, role: Role) -> bool:
        """True if the versions under the phantom subject show that the application writes no schema of its own."""
        pair = self.subject_pair(role)
        return pair is not None and not pair.own and (bool(pair.phantom.versions) or role is Role.KEY)

    def facts(self) -> StoreFacts | None:
        return self.sight.facts(self.store, self.running)

    def foretold(
        self,
        code: str | None,
        role: Role,
        *,
        severity: Severity,
        certainty: Certainty,
        moment: Moment,
        subject: Subject,
        explanation: str,
        schema_ids: tuple[SchemaId, ...] = (),
        first: tuple[str, ...] = (),
    ) -> Foretold:
        store = self.store
        return Foretold(
            code=code,
            severity=severity,
            certainty=certainty,
            moment=moment,
            application=store.application,
            store=store.name,
            role=role,
            subject=subject,
            topic=store.topic,
            schema_ids=schema_ids,
            explanation=explanation,
            first=first,
        )

    def restores_source_bytes(self, version: StreamsVersion | None) -> Certainty:
        candidates = self.wirings(version)
        if not any(wiring in SOURCE_BYTES for wiring in candidates):
            return Certainty.EXCLUDED
        if not all(wiring in SOURCE_BYTES for wiring in candidates):
            return Certainty.UNTOLD
        # A changelog topic contradicts the person's word about the optimisation, but it may be left over.
        is_doubted = self.store.kind is StoreKind.TABLE and self.sight.has_topic(self.store.changelog)
        is_sure = self.store.weight is Weight.CONCLUSIVE and not is_doubted
        return Certainty.CERTAIN if is_sure else Certainty.POSSIBLE

    def asks_the_phantom(self, version: StreamsVersion | None) -> Certainty:
        """Whether it restores the source topic's bytes and its serdes ask for their schemas under the changelog's name."""
        return self._asks(self.store.changelog, version)

    def asks_the_source(self, version: StreamsVersion | None) -> Certainty:
        """Whether it restores the source topic's bytes and its serdes ask for their schemas under the source topic's name."""
        return self._asks(self.store.topic, version)

    def _asks(self, topic: Topic | None, version: StreamsVersion | None) -> Certainty:
        restores = self.restores_source_bytes(version)
        names = handed(self.store, Wiring.GLOBAL if self.store.is_global else Wiring.REUSED, version)
        if restores is Certainty.EXCLUDED or topic not in names:
            return Certainty.EXCLUDED
        return weakest((restores, Certainty.UNTOLD if len(names) > 1 else self.of_version(version)))

    def makes_the_phantom(self, version: StreamsVersion | None) -> Certainty:
        """Whether its serdes get the name of a changelog that is no topic, whatever the store restores from."""
        if self.sight.has_topic(self.store.changelog):
            return Certainty.EXCLUDED
        candidates = self.wirings(version)
        certain = [wiring is not Wiring.OWN and handed(self.store, wiring, version) for wiring in candidates]
        hits = [bool(names) and self.store.changelog in (names or ()) for names in certain]
        if not any(hits):
            return Certainty.EXCLUDED
        if not all(hits) or any(names and len(names) > 1 for names in certain):
            return Certainty.UNTOLD
        weight = Certainty.CERTAIN if self.store.weight is Weight.CONCLUSIVE else Certainty.POSSIBLE
        return weakest((weight, self.of_version(version)))

    def does_without(self, subject: Subject) -> bool:
        if self.reader is Reader.PLAIN:
            return self.sight.context_of(subject) == DEFAULT_CONTEXT == self.store.context
        return self.is_dual

    @property
    def is_dual(self) -> bool:
        return self.reader is Reader.DUAL

    @property
    def is_reader_told(self) -> bool:
        return self.assumed.reader is not Reader.UNKNOWN

    @property
    def looks_versions_up(self) -> Certainty:
        """Whether its reader needs a version under the subject that it asks. A plain one fails on the id in a named context."""
        is_named = self.assumed.reader in (Reader.CONNECT, Reader.PLAIN)
        is_old_ksqldb = self.store.is_ksqldb and self.store.falls_back is False
        return Certainty.CERTAIN if is_named or is_old_ksqldb else Certainty.POSSIBLE

    def of_version(self, version: StreamsVersion | None) -> Certainty:
        """How certain a version is: one that was only concluded from traces is never certain."""
        is_named = version in (self.assumed.running, self.assumed.to) or self.store.is_ksqldb
        return Certainty.CERTAIN if is_named else Certainty.POSSIBLE

    def _roles(self) -> Iterator[Role]:
        """Values, and keys if the registry shows that they belong to a registry. Without a registry nothing shows that."""
        for role in (Role.VALUE, Role.KEY):
            pair = self.subject_pair(role)
            if (pair is None and role is Role.VALUE and self.store.has_schemas) or (
                pair is not None and pair.asks_a_registry
            ):
                yield role

    def on_restore(self) -> Prospect:
        asks = self.asks_the_phantom(self.running)
        return Prospect(judged=self, moment=Moment.RESTORE, asks_the_phantom=asks, roles=tuple(self._roles()))

    def on_upgrade(self, target: StreamsVersion) -> Prospect:
        crosses = weakest((self.asks_the_phantom(self.running), self.asks_the_source(target)))
        back = weakest((self.asks_the_source(self.running), self.asks_the_phantom(target)))
        return Prospect(
            judged=self,
            moment=Moment.UPGRADE,
            asks_the_phantom=back,
            turns_to_the_source=crosses,
            roles=tuple(self._roles()),
        )

    def on_schema(self, new: NewSchema) -> Prospect:
        asks = self.asks_the_phantom(self.running)
        roles = (new.role,) if new.role is Role.KEY or self.store.has_schemas else ()
        return Prospect(judged=self, moment=Moment.SCHEMA, asks_the_phantom=asks, roles=roles, new=new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """An event that may happen to a store, as input for a check's prediction."""

    judged: JudgedStore
    moment: Moment
    """The event; a restore also stands for the next put."""
    roles: tuple[Role, ...]
    """Keys, values, or both, as far as they may belong to a registry."""
    asks_the_phantom: Certainty
    """Whether its serdes then ask, or after an upgrade begin to ask, for the source's bytes by the changelog's name."""
    turns_to_the_source: Certainty = Certainty.EXCLUDED
    """Whether it is an upgrade from the phantom subject to the source topic's own."""
    new: NewSchema | None = None


def judge(store: GuardedStore, assumed: Assumed, sight: Sight) -> JudgedStore:
    hinted = sight.assumed_of(store, assumed)
    reader = assumed.reader if hinted is None else hinted.reader
    running = assumed.running if hinted is None else hinted.streams_version
    if reader is Reader.UNKNOWN and store.is_ksqldb and store.falls_back is not None:
        reader = Reader.DUAL if store.falls_back else Reader.CONNECT
    return JudgedStore(store=store, assumed=assumed, running=running, reader=reader, sight=sight)

"""What breaks in a store: on the next restore, and on the change to another version of Kafka Streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.facts import Reader, StreamsVersion
from srfix.recovery.findings import Severity
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import RoleKnown
from srfix.recovery.guard.models import Certainty, Foretold, Moment, StoreKind, weakest
from srfix.recovery.guard.steps import plan_of_phantom, plan_of_source
from srfix.recovery.guard.taking import refusal_of_id
from srfix.recovery.ids_in_words import listed
from srfix.serde.subjects import Role
from srfix.serde.wire import SchemaId

_MOST_IDS: Final = 10
_GLOBAL_STORES_REPROCESS: Final = StreamsVersion(3, 8)
"""From here on a restore of `addGlobalStore` runs its processor (KAFKA-7663, KIP-1024)."""
_OFFSETS_IN_ROCKSDB: Final = StreamsVersion(4, 3)
"""From here on every RocksDB has the column family `offsets`, which older versions cannot open (KIP-1035)."""


def on_restore(judged: JudgedStore) -> Iterator[Foretold]:
    """What the next restore brings about, under the version that runs."""
    asks = judged.asks_the_phantom(judged.running)
    for role in _roles(judged):
        yield from _phantom_lacks(judged, role, asks, Moment.RESTORE)
    yield from _untransformed(judged)


def on_upgrade(judged: JudgedStore) -> Iterator[Foretold]:
    """What the change of `--to` brings about; nothing without one."""
    target = judged.assumed.to
    if target is None:
        return
    crosses = weakest((judged.asks_the_phantom(judged.running), judged.asks_the_source(target)))
    back = weakest((judged.asks_the_source(judged.running), judged.asks_the_phantom(target)))
    for role in _roles(judged):
        if crosses is not Certainty.EXCLUDED:
            yield from _source_lacks(judged, role, crosses)
            yield from _source_refuses(judged, role, crosses)
        if back is not Certainty.EXCLUDED:
            yield from _phantom_lacks(judged, role, back, Moment.UPGRADE)
    yield from _cannot_open(judged, target)


def _roles(judged: JudgedStore) -> Iterator[Role]:
    """Values, and keys where the registry shows that they are a registry's. Offline nothing tells of keys."""
    for role in (Role.VALUE, Role.KEY):
        known = judged.known(role)
        if (known is None and role is Role.VALUE) or (known is not None and known.asks_a_registry):
            yield role


def _phantom_lacks(judged: JudgedStore, role: Role, asks: Certainty, moment: Moment) -> Iterator[Foretold]:
    store, known = judged.store, judged.known(role)
    if asks is Certainty.EXCLUDED or (known is not None and not known.missing and (known.ids or role is Role.KEY)):
        return
    subject = store.changelog_subject(role)
    needless = judged.does_without(subject)
    certainty = weakest((asks, judged.looks_versions_up, _evidence(known, role)))
    ids = () if known is None else known.missing
    breaks = Severity.BREAKS_ON_UPGRADE if moment is Moment.UPGRADE else Severity.BREAKS_ON_RESTORE
    yield Foretold(
        code=judged.code,
        severity=Severity.NOTE if needless else breaks,
        certainty=certainty,
        moment=moment,
        application=store.application,
        store=store.name,
        role=role,
        subject=subject,
        topic=store.topic,
        schema_ids=ids,
        explanation=" ".join(_of_phantom(judged, role, known, needless=needless, moment=moment)),
        first=() if needless else tuple(plan_of_phantom(judged, is_known=known is not None)),
    )


def _evidence(known: RoleKnown | None, role: Role) -> Certainty:
    """How far registry and topic show that ids are restored that the phantom subject lacks, and goes on lacking.

    A serde that writes the producers' schema again registers it there by itself. That this one does not is shown by a schema
    of its own under the phantom, beside ids that records below the committed offsets carry and it lacks.
    """
    if known is None or not known.own or role is Role.KEY:
        return Certainty.POSSIBLE
    return Certainty.CERTAIN if set(known.missing) & set(known.live) else Certainty.POSSIBLE


def _of_phantom(
    judged: JudgedStore, role: Role, known: RoleKnown | None, *, needless: bool, moment: Moment
) -> Iterator[str]:
    store, subject = judged.store, judged.store.changelog_subject(role)
    what = "global store" if store.kind is StoreKind.GLOBAL else "store"
    yield f"A restore loads the records of topic {store.topic} as they are into {what} {store.name}."
    if moment is Moment.UPGRADE:
        yield f"Kafka Streams {judged.assumed.to} asks {subject} for their schemas, and for those of the rows that are kept."
    else:
        yield f"Its serdes ask {subject} for their schemas."
    if known is None:
        yield "Only what the application writes is registered there: not the producers' schemas, unless it writes those."
    elif known.missing:
        held = known.phantom.schema_ids
        does = f"holds {_ids(held)}, but not" if held else "does not exist yet; the records carry"
        yield f"{subject} {does} {_ids(known.missing)}."
    if needless:
        yield f"A {judged.reader.value} reader does not need that version, so nothing fails."
        return
    if judged.looks_versions_up is not Certainty.CERTAIN:
        yield "If the reader looks the version up there, as Connect's converters and ksqlDB do, those rows cannot be read."
    else:
        yield "Those rows cannot be read."
    if judged.asks_the_phantom(judged.running) is Certainty.UNTOLD and moment is Moment.RESTORE:
        yield _what_decides(judged)


def _what_decides(judged: JudgedStore) -> str:
    missing = []
    if judged.running is None and not judged.store.is_ksqldb:
        missing.append("the version (--streams-version; from 2.7 on the source topic's subject is asked)")
    if len(judged.wirings(judged.running)) > 1:
        missing.append("whether the source topic is reused (--optimization)")
    return f"What decides it was not said: {' and '.join(missing)}."


def _source_lacks(judged: JudgedStore, role: Role, crosses: Certainty) -> Iterator[Foretold]:
    """SRF004: rows that the old version wrote carry ids that stand under the phantom subject only."""
    store, known = judged.store, judged.known(role)
    subject = store.source_subject(role)
    if judged.does_without(subject) or _has_nothing_of_its_own(known, role):
        return
    own = () if known is None else known.own
    carried = (
        f"{_ids(own)}, which {subject} lacks" if own else "ids of the application's own schema, which stand there only"
    )
    yield Foretold(
        code="SRF004",
        severity=Severity.BREAKS_ON_UPGRADE,
        # No row of the store was looked at: one that was restored, and not written since, carries the producers' ids.
        certainty=weakest((crosses, judged.looks_versions_up, Certainty.POSSIBLE)),
        moment=Moment.UPGRADE,
        application=store.application,
        store=store.name,
        role=role,
        subject=subject,
        topic=store.topic,
        schema_ids=own,
        explanation=f"Rows that were written before the upgrade carry ids under {store.changelog_subject(role)}: {carried}. "
        f"Kafka Streams {judged.assumed.to} asks {subject} for them, so that rows in a state directory that is kept cannot be "
        "read.",
        first=tuple(plan_of_source(judged)),
    )


def _source_refuses(judged: JudgedStore, role: Role, crosses: Certainty) -> Iterator[Foretold]:
    """SRF016: from 2.7 on the application's own schema goes under the user's own subject."""
    store, known = judged.store, judged.known(role)
    subject = store.source_subject(role)
    if judged.reader is Reader.DUAL or _has_nothing_of_its_own(known, role):
        return
    own = () if known is None else known.own
    refused = None if known is None else _refused(judged, role, known)
    breaks = refused is not None
    what = f"the application's own schema ({_ids(own)})" if own else "the application's own schema"
    if not own:
        then = "where the subject's compatibility level is against it, the registry refuses it (409) and the put fails"
    elif breaks:
        then = f"the registry will refuse it ({refused}), and the first put fails, if the application still writes that schema"
    else:
        then = "the registry will take it: it becomes the latest version there, which no record of the topic uses"
    yield Foretold(
        code="SRF016",
        severity=Severity.BREAKS_ON_UPGRADE if breaks else Severity.NOTE,
        certainty=crosses if own else weakest((crosses, Certainty.POSSIBLE)),
        moment=Moment.UPGRADE,
        application=store.application,
        store=store.name,
        role=role,
        subject=subject,
        topic=store.topic,
        schema_ids=own,
        explanation=f"Kafka Streams {judged.assumed.to} registers {what} under {subject}: {then}.",
        first=tuple(plan_of_source(judged)) if breaks else (),
    )


def _has_nothing_of_its_own(known: RoleKnown | None, role: Role) -> bool:
    """True if what stands under the phantom subject shows that the application writes no schema of its own."""
    return known is not None and not known.own and (bool(known.phantom.versions) or role is Role.KEY)


def _refused(judged: JudgedStore, role: Role, known: RoleKnown) -> str | None:
    """Why the source topic's subject would refuse the newest of the application's own schemas; None if it would take it."""
    registry = judged.sight.registry
    newest = max((v for v in known.phantom.versions if v.schema_id in known.own), default=None)
    if registry is None or newest is None:
        return None
    return refusal_of_id(registry, known.source, role, newest.schema_id)


def _untransformed(judged: JudgedStore) -> Iterator[Foretold]:
    """SRF019: a restore before 3.8 stores what a global store's own processor would have transformed."""
    store, running = judged.store, judged.running
    if not store.may_have_own_processor or (running is not None and running >= _GLOBAL_STORES_REPROCESS):
        return
    yield Foretold(
        code="SRF019",
        severity=Severity.SILENT,
        certainty=Certainty.UNTOLD,
        moment=Moment.RESTORE,
        application=store.application,
        store=store.name,
        role=Role.VALUE,
        subject=store.changelog_subject(Role.VALUE),
        topic=store.topic,
        explanation=f"The processor of global store {store.name} has a name that a person gave it. If it changes what it "
        f"stores, a restore before Kafka Streams 3.8 goes past it, and stores the records of topic {store.topic} as they are.",
        first=(f"Look in the code whether the processor of {store.name} stores what it is given, unchanged.",),
    )


def _cannot_open(judged: JudgedStore, target: StreamsVersion) -> Iterator[Foretold]:
    """4.3 and later write what older versions cannot open; no code of the catalogue."""
    store, running = judged.store, judged.assumed.running
    if running is None or not target < _OFFSETS_IN_ROCKSDB <= running:
        return
    role = Role.VALUE
    yield Foretold(
        code=None,
        severity=Severity.BREAKS_ON_UPGRADE,
        certainty=Certainty.POSSIBLE,  # a store in memory leaves nothing
        moment=Moment.UPGRADE,
        application=store.application,
        store=store.name,
        role=role,
        subject=store.changelog_subject(role),
        topic=store.topic,
        explanation=f"Kafka Streams {running} keeps offsets in each RocksDB (column family offsets), and {target} cannot open "
        "such a store: it dies on a state directory that is kept.",
        first=(
            "Delete the state directory with the change, after a look that a restore can be read (what is foretold here).",
        ),
    )


def _ids(ids: tuple[SchemaId, ...]) -> str:
    return f"{'schema id' if len(ids) == 1 else 'schema ids'} {listed(ids, most=_MOST_IDS)}"

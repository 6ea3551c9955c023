"""What a diagnosis must find in a world: slow, obvious, and written from the rules alone, not from the code.

Rules: the architecture's "Semantics" and "Findings", and what a restore of Kafka Streams 2.0 to 2.6.3 loads. Schemas
are short names here; a test translates them into the ids that the registry gave.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.recovery.worlds.schemas import FIELDS, LOST
from tests.recovery.worlds.world import GUID, LONG, UNFRAMED, WHOLE, Folder, Log, Record, World

__all__ = ["Expected", "ExpectedFinding", "Refused", "expect"]

CHANGELOG = "-changelog"
INTERNAL = (CHANGELOG, "-repartition")
ROLES = ("key", "value")
AUTOMATIC = "-STATE-STORE-"

Places = tuple[tuple[int, int | None, int, int, int], ...]
"""Per partition where a schema is: partition, live keys, pending keys, first offset, last offset."""


class Refused(Exception):
    """The person named something that does not exist."""


@dataclass(frozen=True)
class ExpectedFinding:
    """One finding."""

    code: str
    severity: str
    application: str
    store: str
    role: str
    subject: str
    topic: str | None
    faults: Mapping[str, Places]
    repairable: bool


@dataclass
class Expected:
    """What must come out."""

    findings: list[ExpectedFinding] = field(default_factory=list)
    examined: list[str] = field(default_factory=list)
    sources: dict[str, str | None] = field(default_factory=dict)
    """Per examined store where it restores from; None while undecided."""
    evidence: dict[str, set[tuple[str, str, str]]] = field(default_factory=dict)
    """Per examined store kind, topic and weight."""
    not_decoded: set[str] = field(default_factory=set)
    """What must be said of rows that nobody decoded."""
    could_hide: bool = False
    """True if something was not looked at that could hide a finding."""


def expect(world: World) -> Expected:
    """:raises Refused: if an application, store or source that is named does not exist."""
    expected = Expected()
    stores = _stores(world, expected)
    for application, store, others in sorted(stores):
        name = f"{application}/{store}"
        expected.examined.append(name)
        pieces = set(_evidence(world, application, store))
        expected.evidence[name] = pieces
        topic = _choose(pieces)
        rivals = set(_rivals(world, application, store, topic, pieces)) if topic is not None else set()
        expected.sources[name] = None if rivals else topic
        if "theirs" in rivals:
            continue  # the topic is another store's, so this one restores from nowhere
        if rivals:
            topic = None
        if store not in world.sources and _from_nowhere(world, application, store):
            continue
        before = len(expected.findings)
        if topic is not None:
            expected.findings.extend(_decided(world, application, store, topic))
            expected.not_decoded.update(_not_decoded(world, application, store, topic))
            expected.could_hide |= _unreadable(world, topic)
        elif pieces:
            _undecided(world, application, store, sorted({topic for _, topic, _ in pieces}), expected)
        else:
            expected.could_hide = True
        if others and len(expected.findings) == before:
            expected.could_hide = True
    return expected


# --- candidates ---------------------------------------------------------------------------------------------------


def _stores(world: World, expected: Expected) -> set[tuple[str, str, bool]]:
    """Application, store, and whether the name allows another application too."""
    found: dict[tuple[str, str], bool] = {}
    for changelog in {c for subject in world.subjects for c in _changelog_of(subject)}:
        if changelog in world.topics:
            continue
        splits = {changelog[:at]: changelog[at + 1 : -len(CHANGELOG)] for at in _dashes(changelog)}
        splits = {app: store for app, store in splits.items() if app and store}
        if world.application is not None and world.application not in splits:
            continue
        owners = sorted((app for app in splits if _exists(world, app)), key=len)
        if world.application is not None and world.store is not None:
            owners = [world.application]
        elif world.application is not None:
            if owners and len(owners[-1]) > len(world.application):
                expected.could_hide = True  # rather the longer one's
                continue
            owners = [world.application]
        if not owners:
            expected.could_hide = True  # nobody's, as far as can be told
            continue
        if world.store in (None, splits[owners[-1]]):
            found[owners[-1], splits[owners[-1]]] = len(owners) > 1
    for subject in world.subjects:  # TopicRecordNameStrategy is not examined
        topic, dash, record = subject.rpartition("-")
        of_it = world.application is None or (
            topic.startswith(f"{world.application}-") and len(topic) > len(f"{world.application}-{CHANGELOG}")
        )
        if dash and topic.endswith(CHANGELOG) and record not in ROLES and topic not in world.topics and of_it:
            expected.could_hide = True
    for table in world.tables:
        owner = table.application
        if owner is None or world.application not in (None, owner) or world.store not in (None, table.store):
            continue
        if table.topic in world.topics and f"{owner}-{table.store}{CHANGELOG}" not in world.topics:
            found.setdefault((owner, table.store), False)
    for folder in world.folders:
        if world.application not in (None, folder.application):
            continue
        for name in _restoring_from_elsewhere(folder):
            unclaimed = _unclaimed(folder)
            expected.could_hide |= not unclaimed <= world.topics.keys()  # another cluster's directory?
            suspicious = unclaimed or folder.topics is None
            own = f"{folder.application}-{name}{CHANGELOG}"
            if suspicious and own not in world.topics and world.store in (None, name):
                found.setdefault((folder.application, name), False)
    for table in world.tables:
        if table.application is None and table.store not in {store for _, store in found}:
            expected.could_hide = True  # whose store is it?
        if table.topic not in world.topics:
            expected.could_hide = True  # another cluster's topology?
    if world.application is not None and world.store is not None:
        if f"{world.application}-{world.store}{CHANGELOG}" not in world.topics:
            found.setdefault((world.application, world.store), False)
    elif world.store is not None and not found:
        raise Refused("store")
    if world.application is not None and not found and not _exists(world, world.application):
        raise Refused("application")
    return {(application, store, others) for (application, store), others in found.items()}


def _changelog_of(subject: str) -> Iterator[str]:
    for role in ROLES:
        topic = subject.removesuffix(f"-{role}")
        if topic != subject and topic.endswith(CHANGELOG) and "-" in topic.removesuffix(CHANGELOG).strip("-"):
            yield topic


def _dashes(text: str) -> list[int]:
    return [at for at, character in enumerate(text) if character == "-"]


def _exists(world: World, application: str) -> bool:
    """As a listed group, as one with committed offsets, or by a topology that is said to be its own."""
    return (
        (world.listed is not None and application in world.listed)
        or bool(world.groups.get(application))
        or any(table.application == application for table in world.tables)
        or any(folder.application == application for folder in world.folders)
    )


def _restoring_from_elsewhere(folder: Folder) -> list[str]:
    """The stores that have no changelog of their own in the checkpoint."""
    return [store for store in folder.stores if f"{folder.application}-{store}{CHANGELOG}" not in (folder.topics or ())]


def _unclaimed(folder: Folder) -> set[str]:
    """The topics in the checkpoint that are no internal ones of the application."""
    return {topic for topic in folder.topics or () if not _is_own(topic, folder.application)}


def _from_nowhere(world: World, application: str, store: str) -> bool:
    """A checkpoint is there, and names no topic that could be this store's: its logging is disabled."""
    ours = [f for f in world.folders if f.application == application and store in f.stores]
    if any(store in _restoring_from_elsewhere(folder) and _unclaimed(folder) for folder in ours):
        return False
    return any(store in _restoring_from_elsewhere(folder) and folder.topics is not None for folder in ours)


# --- evidence -----------------------------------------------------------------------------------------------------


def _evidence(world: World, application: str, store: str) -> Iterator[tuple[str, str, str]]:
    """Kind, topic and weight."""
    if store in world.sources:
        if world.sources[store] not in world.topics:
            raise Refused("source")
        yield "explicit", world.sources[store], "conclusive"
    for table in world.tables:
        if table.store == store and table.application in (None, application) and table.topic in world.topics:
            yield "topology", table.topic, "conclusive" if table.application == application else "strong"
    for folder in world.folders:
        left, unclaimed = _restoring_from_elsewhere(folder), _unclaimed(folder)
        if folder.application == application and store in left:
            alone = len(left) == 1 and len(unclaimed) == 1
            for topic in unclaimed & world.topics.keys():
                yield "state-directory", topic, "conclusive" if alone else "weak"
    named = store.partition(AUTOMATIC)[0]
    if AUTOMATIC in store and named in world.topics:
        yield "store-name", named, "strong"
    every_read = {topic for topic, _ in world.groups.get(application, {})}
    read = {topic for topic in every_read if not _is_own(topic, application)}
    for topic in read:
        yield "committed-offsets", topic, "strong" if len(read) == 1 else "weak"
    own = _latest(world, f"{application}-{store}{CHANGELOG}-value")
    if own is None or not FIELDS[own]:
        return
    said = any(f"{topic}-value" in world.subjects for topic in every_read)
    for topic in read if said else {t for t in world.topics if not _is_own(t, application)}:
        writer = _latest(world, f"{topic}-value")
        if writer is None:
            continue
        shared = len(FIELDS[own] & FIELDS[writer])
        if shared == len(FIELDS[own]):
            yield "schema-similarity", topic, "strong"
        elif 2 * shared >= len(FIELDS[own]):
            yield "schema-similarity", topic, "weak"


def _is_own(topic: str, application: str) -> bool:
    """Named as an internal topic of that application is."""
    return topic.startswith(f"{application}-") and topic.endswith(INTERNAL)


def _latest(world: World, subject: str) -> str | None:
    """The latest live version; the latest soft-deleted one where none is live."""
    if subject not in world.subjects:
        return None
    versions = world.subjects[subject].versions
    live = [version for version in versions if not version.deleted]
    return (live or list(versions))[-1].schema


def _choose(pieces: set[tuple[str, str, str]]) -> str | None:
    """One conclusive topic wins; otherwise a single best; otherwise a person decides. `--source` is a person."""
    said = [topic for kind, topic, _ in pieces if kind == "explicit"]
    if said:
        return said[0]
    for weight in ("conclusive", "strong"):
        kinds: dict[str, set[str]] = {}
        for kind, topic, of in pieces:
            if of == weight:
                kinds.setdefault(topic, set()).add(kind)
        if weight == "conclusive" and kinds:
            return next(iter(kinds)) if len(kinds) == 1 else None
        if kinds:
            most = max(len(of) for of in kinds.values())
            best = [topic for topic, of in kinds.items() if len(of) == most]
            return best[0] if len(best) == 1 else None
    topics = {topic for _, topic, _ in pieces}
    return topics.pop() if len(topics) == 1 else None


def _rivals(world: World, application: str, store: str, topic: str, pieces: set[tuple[str, str, str]]) -> Iterator[str]:
    """Stores of the same task that may restore from the topic that was chosen, for it is one store's only.

    `theirs` where that is certain, `open` where as much speaks for them. Committed offsets speak for them all.
    """

    def said(by: set[tuple[str, str, str]], weight: str) -> int:
        return len({kind for kind, of, as_ in by if (of, as_) == (topic, weight) and kind != "committed-offsets"})

    if said(pieces, "conclusive"):
        return
    for folder in world.folders:
        left = _restoring_from_elsewhere(folder)
        if folder.application != application or store not in left or topic not in _unclaimed(folder):
            continue
        for rival in left:
            theirs = set(_evidence(world, application, rival)) if rival != store else set()
            if rival == store or any(weight == "conclusive" and of != topic for _, of, weight in theirs):
                continue
            if said(theirs, "conclusive"):
                yield "theirs"
            elif said(theirs, "strong") >= said(pieces, "strong"):
                yield "open"


# --- what a restore loads, and what is wrong with it --------------------------------------------------------------


@dataclass
class Rows:
    """What a restore loads of one partition."""

    partition: int
    log: Log
    is_restored: bool
    """False if the group has no commit there."""
    live: dict[object, Record]
    """The latest record of each key before the restore limit."""
    pending: dict[object, Record]
    """The same from there on."""


def _rows(world: World, application: str, store: str, topic: str) -> Iterator[Rows]:
    everything = any(t.is_global and (t.application, t.store) == (application, store) for t in world.tables)
    for partition, log in enumerate(world.topics[topic]):
        committed = world.groups.get(application, {}).get((topic, partition))
        limit = log.end if everything else None if committed is None else min(log.end, committed)
        live: dict[object, Record] = {}
        pending: dict[object, Record] = {}
        for record in log.records:
            rows = live if limit is not None and record.offset < limit else pending
            if record.key is None:
                continue
            if record.value is None:
                rows.pop(record.key, None)
            else:
                rows[record.key] = record
        yield Rows(partition=partition, log=log, is_restored=limit is not None, live=live, pending=pending)


def _places(world: World, application: str, store: str, topic: str, role: str) -> dict[str, Places]:
    """Per schema where its records are."""
    found: dict[str, list[tuple[int, int | None, int, int, int]]] = {}
    for rows in _rows(world, application, store, topic):
        log = rows.log
        for schema in {s for record in log.records if (s := _schema(record, role)) is not None}:
            carriers = [record for record in log.records if _schema(record, role) == schema]
            found.setdefault(schema, []).append(
                (
                    rows.partition,
                    sum(_schema(r, role) == schema for r in rows.live.values()) if rows.is_restored else None,
                    sum(_schema(r, role) == schema for r in rows.pending.values()),
                    carriers[0].offset,
                    carriers[-1].offset,
                )
            )
    return {schema: tuple(places) for schema, places in found.items()}


def _schema(record: Record, role: str) -> str | None:
    if role == "key":
        return None if record.key is None else record.key.schema
    return None if record.value in (UNFRAMED, GUID) else record.value


def _body(record: Record, role: str) -> str:
    if role == "key":
        return WHOLE if record.key is None else record.key.body
    return record.body


def _bad_bodies(
    world: World, application: str, store: str, topic: str, role: str
) -> tuple[dict[str, Places], set[str], bool]:
    """Per schema where live rows do not decode, in which ways, and whether some row was not decoded at all.

    Without `--decode-values` the newest live row of each schema and partition is decoded.
    """
    found: dict[str, list[tuple[int, int | None, int, int, int]]] = {}
    ways: set[str] = set()
    left_out = False
    for rows in _rows(world, application, store, topic):
        for schema in {_schema(record, role) for record in rows.live.values()} - {None, *LOST}:
            assert schema is not None
            carriers = sorted((r for r in rows.live.values() if _schema(r, role) == schema), key=lambda r: r.offset)
            if not world.decode_values:
                left_out |= len(carriers) > 1
                carriers = carriers[-1:]
            bad = [record for record in carriers if _body(record, role) != WHOLE]
            if bad:
                ways.update(_body(record, role) for record in bad)
                place = (rows.partition, len(bad), 0, bad[0].offset, bad[-1].offset)
                found.setdefault(schema, []).append(place)
    return {schema: tuple(places) for schema, places in found.items()}, ways, left_out


def _looked_at(world: World, application: str, store: str, topic: str) -> Iterator[tuple[str, str]]:
    """The roles whose serde asks a registry at all: records with ids, or a subject of the store."""
    for role, phantom in _roles(world, application, store):
        if phantom in world.subjects or _places(world, application, store, topic, role):
            yield role, phantom


def _not_decoded(world: World, application: str, store: str, topic: str) -> Iterator[str]:
    for role, _ in _looked_at(world, application, store, topic):
        if _bad_bodies(world, application, store, topic, role)[2]:
            yield f"bodies of the {role}s of topic {topic}"


def _roles(world: World, application: str, store: str) -> Iterator[tuple[str, str]]:
    """Role and phantom subject. Rows were put without a key schema: then the key serde asks no registry."""
    phantom = f"{application}-{store}{CHANGELOG}"
    for role in ROLES:
        if role == "key" and f"{phantom}-value" in world.subjects and f"{phantom}-key" not in world.subjects:
            continue
        yield role, f"{phantom}-{role}"


def _held(world: World, subject: str) -> set[str]:
    """What is registered there, soft-deleted or not: the failing reader asks with `deleted=true`."""
    return {version.schema for version in world.subjects[subject].versions} if subject in world.subjects else set()


def _restored(places: Mapping[str, Places]) -> set[str]:
    """The schemas of rows that are, or will be, in the store."""
    return {schema for schema, rows in places.items() if any(live or pending for _, live, pending, *_ in rows)}


def _severity(world: World) -> str:
    return "note" if world.reader in ("plain", "dual") or world.streams == "2.7" else "broken"


def _decided(world: World, application: str, store: str, topic: str) -> Iterator[ExpectedFinding]:
    for role, phantom in _roles(world, application, store):
        places = _places(world, application, store, topic, role)
        restored = _restored(places)
        unknown = restored & set(LOST)
        missing = restored - unknown - _held(world, phantom)

        def finding(
            code: str, severity: str, subject: str, ids: set[str], *, repairable: bool, role: str = role
        ) -> ExpectedFinding:
            return ExpectedFinding(
                code=code,
                severity=severity,
                application=application,
                store=store,
                role=role,
                subject=subject,
                topic=topic,
                faults={schema: places[schema] for schema in ids},  # noqa: B023  (called in this turn)
                repairable=repairable,
            )

        elsewhere = {s for s in restored - unknown if s not in _held(world, f"{topic}-{role}")}
        if elsewhere:
            severity = _severity_of_elsewhere(world, in_neither=bool(elsewhere & missing))
            yield finding("SRF017", severity, f"{topic}-{role}", elsewhere, repairable=False)
        if missing:
            yield finding("SRF001", _severity(world), phantom, missing, repairable=True)
        if unknown:
            yield finding("SRF011", "broken", f"{topic}-{role}", unknown, repairable=False)
        if restored and not missing and not unknown and _held(world, phantom):
            yield finding("SRF003", "note", phantom, restored, repairable=False)

    yield from _kept(world, application, store, topic)
    for role, phantom in _looked_at(world, application, store, topic):
        bad, ways, _ = _bad_bodies(world, application, store, topic, role)
        unframed = role == "value" and any(
            record.value == UNFRAMED
            for rows in _rows(world, application, store, topic)
            for record in rows.live.values()
        )
        if bad or unframed:
            yield ExpectedFinding(
                code="SRF013",
                # Java's decoder does not look behind the last field
                severity="silent wrong results" if ways == {LONG} and not unframed else "broken",
                application=application,
                store=store,
                role=role,
                subject=phantom,
                topic=topic,
                faults=bad,
                repairable=False,
            )
    if world.policies.get(topic, "compact") == "delete":
        yield ExpectedFinding(
            code="SRF018",
            severity="silent wrong results",
            application=application,
            store=store,
            role="value",
            subject=f"{topic}-value",
            topic=topic,
            faults={},
            repairable=False,
        )


def _kept(world: World, application: str, store: str, topic: str) -> Iterator[ExpectedFinding]:
    """What 2.6.3 wrote and kept, 2.7 asks of the source's own subject: soft-deleted versions count on both sides."""
    if world.streams != "2.7":
        return
    for role, phantom in _looked_at(world, application, store, topic):
        absent = _held(world, phantom) - _held(world, f"{topic}-{role}")
        if absent:
            yield ExpectedFinding(
                code="SRF004",
                severity="note" if world.reader in ("plain", "dual") else "breaks on upgrade",
                application=application,
                store=store,
                role=role,
                subject=f"{topic}-{role}",
                topic=topic,
                faults=dict.fromkeys(absent, ()),
                repairable=True,
            )


def _severity_of_elsewhere(world: World, *, in_neither: bool) -> str:
    """Ids that the source's own subject lacks: who asks it now, who asks it second, who will ask it one day."""
    if world.reader == "plain":
        return "note"
    if world.reader == "dual":
        return "broken" if in_neither else "note"
    return "broken" if world.streams == "2.7" else "breaks on upgrade"


def _undecided(world: World, application: str, store: str, candidates: list[str], expected: Expected) -> None:
    found: dict[str, ExpectedFinding] = {}
    doubtful = False
    for topic in candidates:
        for finding in _decided(world, application, store, topic):
            if finding.code == "SRF001":
                found[finding.role] = ExpectedFinding(
                    code="SRF001",
                    severity=finding.severity,
                    application=application,
                    store=store,
                    role=finding.role,
                    subject=finding.subject,
                    topic=None,
                    faults={},
                    repairable=False,
                )
        unreadable = _unreadable(world, topic)
        expected.could_hide |= unreadable
        doubtful |= unreadable or any(
            set(_places(world, application, store, topic, role)) & set(LOST)
            for role, _ in _roles(world, application, store)
        )
    expected.findings.extend(found.values())
    if doubtful and not found:
        expected.could_hide = True


def _unreadable(world: World, topic: str) -> bool:
    """Values without an id: whether a reader accepts them is not looked at."""
    return any(record.value in (UNFRAMED, GUID) for log in world.topics[topic] for record in log.records)

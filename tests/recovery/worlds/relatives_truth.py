"""Compares findings that need no source with the truth of a world: applications, joins, changelogs, things by
design.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from srfix.recovery.checks.table import BY_CODE
from srfix.recovery.findings import Diagnosis, Finding, Severity
from srfix.recovery.internal_topics import InternalTopicKind, operator_behind, recognise
from srfix.serde.subjects.names import Subject, split_context, split_subject
from tests.recovery.worlds.expected_relatives import unused_internal
from tests.recovery.worlds.restoring import may_be_table
from tests.recovery.worlds.schemas import LOST
from tests.recovery.worlds.seen import (
    asks_source,
    is_known_global,
    lives,
    looks_global,
    may_hold_lost,
    on_disk,
)
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import Kind, SubjectSetup, TrueStore, World

_EXCLUSIVE: Final = (
    ("SRF001", "SRF002", "SRF003", "SRF006", "SRF007"),
    ("SRF004", "SRF007"),
    ("SRF008", "SRF009"),
)
"""Groups of codes; at most one code of each group is true of one store and role."""
_LOST: Final = frozenset(LOST.values())


def forbidden(staged: StagedWorld, diagnosis: Diagnosis) -> Iterator[str]:
    """Findings that the truth forbids."""
    world = staged.world
    for finding in diagnosis.findings:
        subject = _bare(finding.subject)
        name = f"{finding.code} {finding.role.value} of {finding.application}/{finding.store} ({subject})"
        if subject in world.by_design:
            yield f"{name}, which is by design"
        if finding.code != "SRF009" and finding.application in world.says_gone and "SRF009" in BY_CODE:
            yield f"{name}, whose application is gone, as the person says"
        why = _FORBIDS.get(finding.code, _nothing)(staged, finding)
        if why:
            yield f"{name}, though {why}"
    for skipped in diagnosis.skipped:
        joins = {subject for join in world.joins if join.is_living for subject in join.subjects}
        hidden = sorted(joins.intersection(map(_bare, skipped.subjects)))
        if hidden and skipped.could_hide:
            yield f"{hidden[0]} is said to hide something ({skipped.reason}), and is by design"


def look_alikes(diagnosis: Diagnosis) -> Iterator[str]:
    """Findings of which only one can be true."""
    by_place: dict[tuple[str, str, str, str], list[Finding]] = {}
    for finding in diagnosis.findings:
        context, _ = split_context(finding.subject)
        by_place.setdefault((context, finding.application, finding.store, finding.role.value), []).append(finding)
    for (_, application, store, role), found in by_place.items():
        codes = [finding.code for finding in found]
        for group in _EXCLUSIVE:
            both = sorted(set(group).intersection(codes))
            if len(both) > 1:
                yield f"{' and '.join(both)} {role} of {application}/{store}"
        for code in {code for code in codes if codes.count(code) > 1}:
            yield f"{code} {role} of {application}/{store} comes {codes.count(code)} times"
        lost = {
            code: {int(f.schema_id) for each in found if each.code == code for f in each.schema_ids} for code in codes
        }
        for schema_id in lost.get("SRF011", set()) & lost.get("SRF014", set()):
            yield f"SRF011 and SRF014 {role} of {application}/{store} name id {schema_id}"
        if "SRF004" in codes and any(f.code == "SRF016" and f.severity is Severity.NOTE for f in found):
            yield f"SRF004 and the note SRF016 {role} of {application}/{store}"


def missed(staged: StagedWorld, diagnosis: Diagnosis) -> Iterator[str]:
    """Facts that the evidence shows, but that are missing in the findings."""
    world = staged.world
    if world.context or world.mirror or world.store is not None:
        return
    found = {(finding.code, _bare(finding.subject)) for finding in diagnosis.findings}
    for join in world.joins:
        is_asked = world.application in (None, join.application)
        if "SRF008" in BY_CODE and not join.is_living and is_asked and lives(world, join.application):
            for subject in join.subjects:
                if ("SRF008", subject) not in found:
                    yield f"SRF008 of {subject} is not there, though {join.application} lives and has no such join"
                    break
    for application, left in world.gone.items() if world.application is None and "SRF009" in BY_CODE else ():
        for subject in left if application in world.says_gone else _sure_signs(world, application):
            if ("SRF009", subject) not in found:
                yield f"SRF009 of {subject} is not there, though {application} is gone"
                break
    for store in world.truth:
        if world.application in (None, store.application):
            yield from _missed_of(staged, store, found)


def _missed_of(staged: StagedWorld, store: TrueStore, found: set[tuple[str, str]]) -> Iterator[str]:
    world, subject = staged.world, f"{store.changelog}-value"
    held = world.subjects.get(subject, SubjectSetup(()))
    is_told = store.kind is Kind.UNLOGGED and any(not v.deleted for v in held.versions) and _logs_nothing(world, store)
    if is_told and ("SRF007", subject) not in found:
        yield f"SRF007 of {subject} is not there, though it is told that the store logs nothing"
    # Whether a join's window holds the serde's bytes as they are depends on the version: nothing is claimed of it.
    is_plain = store.kind is not Kind.JOIN_WINDOW and _lost_in_changelog(staged, store)
    is_lost = is_plain and lives(world, store.application) and "SRF009" in BY_CODE
    if is_lost and not any(code == "SRF014" and name.startswith(store.changelog) for code, name in found):
        yield f"SRF014 of {store.changelog} is not there, though it carries an id that the registry lost"


def _logs_nothing(world: World, store: TrueStore) -> bool:
    """True if the application is alive, and a topology or the other stores on disk leave no topic to restore the store
    from.
    """
    if not _is_at_work(world, store.application) or store.changelog in world.topics or store.fed_by is not None:
        return False
    if any(store.changelog.startswith(f"{name}-") for name in world.groups if name != store.application):
        return False  # it may be a table of theirs
    others = [s for s in world.truth if s.application == store.application and s != store]
    # A checkpoint that names nothing is no file.
    has_files = store.application in world.state_of and world.layouts.get(store.application) != "died"
    beside = has_files and {s.kind for s in others} - {Kind.GLOBAL} == {Kind.AGGREGATE}
    is_there = f"{store.application}/{store.name}" not in world.disk or on_disk(world, store) is not None
    return store.application in world.topology_of or (beside and is_there)


def _is_at_work(world: World, application: str) -> bool:
    """True if it is alive, with a member or an offset after the start of a topic; a reset application has neither."""
    group = world.groups.get(application)
    if group is None or not lives(world, application):
        return False
    starts = {(topic, n): log.start for topic, setup in world.topics.items() for n, log in enumerate(setup.logs)}
    return bool(group.client_ids) or any(offset > starts.get(place, offset) for place, offset in group.commits.items())


def _lost_in_changelog(staged: StagedWorld, store: TrueStore) -> bool:
    """True if the first or the newest record of a changelog that exists carries an id that the registry lost, and a subject
    says that its values are a registry serializer's.
    """
    setup = staged.world.topics.get(store.changelog)
    is_told = f"{store.changelog}-value" in staged.world.subjects
    return (
        is_told
        and setup is not None
        and any(
            record.value in LOST for log in setup.logs if log.records for record in (log.records[0], log.records[-1])
        )
    )


def _nothing(_staged: StagedWorld, _finding: Finding) -> str:
    return ""


def _restores_from_nowhere(staged: StagedWorld, finding: Finding) -> str:
    store = _true(staged.world, finding)
    if store is None or store.kind not in (Kind.UNLOGGED, Kind.AGGREGATE, Kind.JOIN_WINDOW):
        return "the store is none without logging"
    is_told = store.application in {*staged.world.state_of, *staged.world.topology_of}
    if not is_told and not asks_source(staged.world, store):
        return "nothing tells that the store logs nothing"
    return "" if finding.severity is Severity.NOTE else "it is a note"


def _left_of_a_join(staged: StagedWorld, finding: Finding) -> str:
    subject = _bare(finding.subject)
    joins = [join for join in staged.world.joins if subject in join.subjects and not join.is_living]
    if not joins:
        return "it is left of no join that a living application had"
    return "" if finding.severity is Severity.NOTE else "it is a note"


def _gone(staged: StagedWorld, finding: Finding) -> str:
    world, subject = staged.world, _bare(finding.subject)
    if finding.application in world.says_gone:
        return "" if subject.startswith(f"{finding.application}-") else "the subject is not its"
    if not world.lists_groups:
        return "the cluster lists no groups"
    for application in (finding.application, *_owners(world, subject)):
        if application in world.groups:
            return f"there is a group {application}"
        if any(topic.startswith(f"{application}-") and recognise(topic) for topic in world.topics):
            return f"topics of {application} are there"
        if application in {*world.state_of, *world.topology_of}:
            return f"the person handed something of {application} over"
    return "" if _signs(world, finding.application) else "nothing shows that the application is gone"


def _owners(world: World, subject: str) -> Iterable[str]:
    """The applications that really left a subject, and are not gone."""
    stores = [s.application for s in world.truth if subject.startswith(f"{s.changelog}-")]
    return {*stores, *(join.application for join in world.joins if subject in join.subjects)}


def _signs(world: World, application: str) -> list[str]:
    """Subjects of an application that would also have a topic if the application was only stopped."""
    if not world.lists_groups or application in world.groups or (application == "shop-old" and "shop" in world.groups):
        mine: list[str] = []  # a living `shop` may have all that `shop-old` has
    else:
        mine = [subject for subject in world.subjects if subject.startswith(f"{application}-")]
    return [subject for subject in mine if _is_sign(world, subject)]


def _sure_signs(world: World, application: str) -> list[str]:
    """Those of `_signs` that no application with a shorter name may have that may live."""
    shorter = application.rpartition("-")[0]
    handed_over = {*world.groups, *world.state_of, *world.topology_of}
    may_live = shorter and (
        shorter in handed_over or any(recognise(topic) for topic in world.topics if topic.startswith(f"{shorter}-"))
    )
    return [] if may_live else _signs(world, application)


def _is_sign(world: World, subject: str) -> bool:
    parts = split_subject(Subject(subject))
    if parts is None:
        return False
    topic = str(parts[0])
    kind = recognise(topic)
    if kind is None or topic in world.topics:
        return False
    return kind is not InternalTopicKind.CHANGELOG or operator_behind(topic) is not None


def _polluted(staged: StagedWorld, finding: Finding) -> str:
    """Litter under a source subject: of any store of that topic."""
    world = staged.world
    stores = [store for store in world.truth if f"{store.topic}-value" == _bare(finding.subject)]
    may: set[int] = set().union(*(unused_internal(staged, store, on_disk(world, store))[1] for store in stores))
    if finding.role.value == "key":
        may = {schema_id for line, schema_id in staged.ids.items() if line.startswith("KeyRow(")}
        if world.registry:  # what 2.7 puts is another text there than the producers'
            of_topic = (store for store in world.truth if f"{store.topic}-key" == _bare(finding.subject))
            renewed = (store for store in of_topic if store.application in world.renewed)
            held = (world.subjects.get(world.table_subject(store, "key"), SubjectSetup(())) for store in renewed)
            may |= {staged.ids[version.schema] for setup in held for version in setup.versions}
        # Nobody can know it for a key on disk whose records compaction has removed.
        if "cannot tell these cases apart" in finding.explanation:
            may |= {schema_id for line, schema_id in staged.ids.items() if "Key(" in line}
    wrong = {int(fault.schema_id) for fault in finding.schema_ids} - may
    if wrong or not may:
        return (
            f"{sorted(wrong)} are the producers' own, or used" if wrong else "no version there is internal and unused"
        )
    return "" if finding.severity is Severity.LITTER else "it is litter"


def _lost(staged: StagedWorld, finding: Finding) -> str:
    world = staged.world
    named = {int(fault.schema_id) for fault in finding.schema_ids}
    is_elsewhere = world.context and not world.by_context_url  # nobody knows the context of a store without subjects
    if named - _LOST and not (is_elsewhere and _bare(finding.subject) not in world.subjects):
        return f"the registry knows {sorted(named - _LOST)}"
    store = _true(world, finding) or _split_otherwise(world, finding)
    if store is None:
        return "there is no such store"
    if is_elsewhere and _bare(finding.subject) not in world.subjects:
        return ""
    seen = on_disk(world, store)
    in_rows = seen is not None and any(row.value in LOST or row.key.schema in LOST for row in seen.rows)
    setup = world.topics.get(store.changelog)
    records = [record for log in setup.logs for record in log.records] if setup is not None else []
    return "" if in_rows or any(r.value in LOST for r in records) else "no row and no changelog carries a lost id"


def _split_otherwise(world: World, finding: Finding) -> TrueStore | None:
    """The store whose changelog a finding is about, if the finding names it beside: nobody could tell from the name."""
    return next((s for s in world.truth if f"{s.application}/{s.name}" in finding.other_splits), None)


def _not_yet_restored(staged: StagedWorld, finding: Finding) -> str:
    store = _true(staged.world, finding)
    seen = on_disk(staged.world, store) if store is not None else None
    return "not all of its rows were seen" if seen is None or seen.is_whole is False else ""


def _global(staged: StagedWorld, finding: Finding) -> str:
    store = _true(staged.world, finding)
    if store is not None and asks_source(staged.world, store):
        return "Streams 2.7 or later runs"
    if store is None or not (is_known_global(staged.world, store) or looks_global(staged.world, store)):
        return "nothing shows a global store"
    return ""


def _of_a_store(staged: StagedWorld, finding: Finding) -> str:
    store = _true(staged.world, finding)
    if store is not None and (store.kind in (Kind.TABLE, Kind.GLOBAL) or may_be_table(staged, store)):
        return ""
    if store is not None and finding.source is not None and may_hold_lost(staged.world, store, finding.source.topic):
        return ""
    return "it is no table of a topic"


def _untransformed(staged: StagedWorld, finding: Finding) -> str:
    store = _true(staged.world, finding)
    return "" if store is not None and store.has_own_processor else "no processor of the user's own fills it"


_FORBIDS: Final = {
    "SRF002": _not_yet_restored,
    "SRF006": _global,
    "SRF007": _restores_from_nowhere,
    "SRF008": _left_of_a_join,
    "SRF009": _gone,
    "SRF010": _polluted,
    "SRF014": _lost,
    "SRF015": _of_a_store,
    "SRF016": _of_a_store,
    "SRF019": _untransformed,
}


def _true(world: World, finding: Finding) -> TrueStore | None:
    mine = [s for s in world.truth if (s.application, s.name) == (finding.application, finding.store)]
    return mine[0] if mine else None


def _bare(subject: str) -> str:
    return str(split_context(Subject(subject))[1])

"""Texts on things that a diagnosis did not look at: a store, or a part of a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from srfix.recovery.checks.missing import is_untold, missing_ids
from srfix.recovery.commands import CommandLine, positional
from srfix.recovery.diagnosis.learning import Counter
from srfix.recovery.evidence.application import Applications
from srfix.recovery.facts.bodies import Bodies, newest_bodies, whole_bodies
from srfix.recovery.facts.isolation import RestoreIsolation
from srfix.recovery.facts.reader import CheckContext
from srfix.recovery.facts.stores import StoreFacts, Suspect, SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Skipped
from srfix.recovery.ids_in_words import named_ids
from srfix.recovery.internal_topics import is_internal
from srfix.serde.errors import ClusterError
from srfix.serde.printable import counted
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Subject, Topic, subject_for

_MOST_RECORDS: Final = 10_000_000
"""How many records of a topic are read if the person names no number."""
_MOST_DECODED: Final = 100_000
"""If a topic has at most this number of records, srfix decodes every live record even without an option for it."""


def of_examined(facts: StoreFacts, context: CheckContext) -> Iterator[Skipped]:
    census = facts.census
    if census is None:
        return
    yield from _not_told(facts, context)
    configs = facts.source_configs
    if configs is not None and configs.is_compacted is None:
        yield facts.store.skipped(
            f"{configs.problem or 'the cluster does not say'}; so srfix did not check whether retention deletes rows of "
            f"store {facts.store.name} (SRF018)",
            what=f"cleanup.policy of topic {configs.topic}",
            could_hide=False,
        )
    yield from _rows_not_read(facts)
    for role, bodies in facts.bodies.items():
        yield from _not_decoded(census.topic, role, bodies, facts.store)
    if facts.keys is not None and facts.keys.not_looked_at is not None:
        what, hides = f"keys of topic {census.topic}", facts.keys.could_hide
        yield facts.store.skipped(facts.keys.not_looked_at, what=what, role=Role.KEY, could_hide=hides)
    for partition in census.partitions:
        where = f"topic {census.topic}, partition {partition.partition}"
        if partition.stopped_early is not None:
            yield facts.store.skipped(partition.stopped_early, what=where)
        for role in Role:
            if role is Role.KEY and role not in facts.roles and Role.VALUE in facts.roles:
                continue  # the key serde asks no registry
            half = partition.of(role)
            if half.guids:
                reason = "they carry a GUID in place of a schema id, and diagnose does not look up GUIDs under subjects"
                yield facts.store.skipped(reason, what=f"{counted(half.guids, role.value)} of {where}", role=role)
            # SRF013 reports this for a store whose source is decided.
            is_said_elsewhere = facts.source is not None and role in facts.roles and bool(half.live_unframed_keys)
            if role is Role.VALUE and half.unframed and not is_said_elsewhere and not facts.value_asks_no_registry:
                what = (
                    f"{counted(half.unframed, role.value)} of {where}, the first at offset {half.first_unframed_offset}"
                )
                reason = "they are not framed by a schema registry serializer, so they carry no schema id"
                yield facts.store.skipped(reason, what=what, role=role)


def _not_told(facts: StoreFacts, context: CheckContext) -> Iterator[Skipped]:
    store, source = facts.store, facts.source
    roles = [role for role in facts.roles.values() if missing_ids(facts, role)]
    if source is None or not roles or context.does_without(roles[0].subject) or not is_untold(facts, context):
        return
    again = context.command_line.quoted("diagnose", "--application", store.application, "--streams-version", "2.6.3")
    subjects = " and ".join(role.subject for role in roles)
    own = " and ".join(store.source_subject(source.topic, role.role) for role in roles)
    yield Skipped(
        what=f"which subjects the serdes of {store.in_words} ask",
        reason=(
            f"the store restores the records of topic {source.topic}, byte for byte, and srfix does not know which "
            f"Kafka Streams runs. Up to 2.6 the store's serdes ask {subjects}; there is no such subject. A reader "
            "that looks up versions then cannot read any restored row (SRF001; for a global store, SRF006). From 2.7 on "
            f"they ask {own}, and there is no such problem. Cluster and disk look the same in both cases, so give "
            f"the version, for example {again}"
        ),
        could_hide=True,
        subjects=tuple(role.subject for role in roles),
    )


def whether_another_wrote(store: SuspectStore, seen: str, command_line: CommandLine) -> Skipped:
    """Another application with the same serde may have registered the schema that shows the version (`seen`)."""
    again = command_line.quoted("diagnose", "--application", store.application, "--streams-version", "2.6.3")
    return store.skipped(
        f"{seen}; serdes do this from Kafka Streams 2.7 on. In that case all restored rows can be read. But another "
        "application with the same serde may have registered that id. If it did, and if this application runs 2.6.3 or "
        f"older, the restored rows cannot be read (SRF001). To check this case: {again}"
    )


def _rows_not_read(facts: StoreFacts) -> Iterator[Skipped]:
    store, rows = facts.store, facts.rows
    what = f"rows of {store.in_words} on disk"
    if facts.rows_not_read is not None:
        yield store.skipped(f"not read: {facts.rows_not_read}", what=what)
    if rows is not None and rows.not_read:
        yield store.skipped(
            f"srfix did not read all of these rows, or some are not on disk: {'; '.join(rows.not_read)}. So the "
            "rows do not prove that a schema id is missing in the store",
            what=what,
            could_hide=rows.could_hide,
        )
    yield from _not_compared(facts)
    guids = 0 if rows is None else sum(rows.guids.values())
    if guids:
        by_guid = "carry a GUID in place of a schema id, and diagnose does not look up GUIDs under subjects"
        yield store.skipped(f"{guids} of these keys or values {by_guid}", what=what)


def _not_compared(facts: StoreFacts) -> Iterator[Skipped]:
    store, processed = facts.store, facts.processed
    if (
        processed is None
        or processed.not_compared is None
        or processed.transformed
        or not (processed.processor or processed.untold)
    ):
        return
    where = "" if processed.origin is None else f" in {processed.origin}"
    who = (
        "a global table or a processor of your own (addGlobalStore) fills the store; Kafka Streams names both alike."
        if processed.processor is None
        else f"processor {processed.processor}{where} is one of your own."
    )
    change = "a processor changes the records" if processed.processor is None else "the processor changes the records"
    yield store.skipped(
        f"{who} Before Kafka Streams 3.8, a restore copies the topic's records without the processor. srfix does "
        f"not know whether {change}; if so, a restore loads wrong rows (SRF019). The reason: {processed.not_compared}. "
        "With --state-dir srfix compares the rows. If 3.8 or later runs, say so with --streams-version",
        what=f"rows of global {store.in_words}",
    )


def _not_decoded(topic: Topic, role: Role, bodies: Bodies, store: SuspectStore) -> Iterator[Skipped]:
    what = f"bodies of the {role.value}s of topic {topic}"
    if bodies.newest_only and bodies.decoded < bodies.live_keys:
        yield store.skipped(
            f"srfix decoded only the newest live record of each schema id and partition ({bodies.decoded} of "
            f"{bodies.live_keys}); --decode-values decodes all (SRF013)",
            what=what,
            role=role,
            could_hide=False,
        )
    for left_out in bodies.left_out:
        yield store.skipped(f"not decoded: {left_out}", what=what, role=role, could_hide=not bodies.newest_only)


def isolation(application: str, restore_isolation: RestoreIsolation) -> Iterator[Skipped]:
    if restore_isolation.weight is None and restore_isolation.detail is not None:
        # The extra records in the count can only make more ids seem restored.
        yield Skipped(
            what=f"whether restores of application {application} read committed or uncommitted records",
            reason=restore_isolation.detail,
            could_hide=False,
        )


def groups(problem: str, *, is_all: bool) -> Skipped:
    """Groups that the cluster does not list; `is_all` if nothing at all was looked at, although there are topics."""
    instead = "srfix looked for application ids in the prefixes of subjects instead"
    if is_all:
        instead += (
            ", and there is none; stores on Kafka Streams 2.7 and later may leave no subject. Name an "
            "application with --application"
        )
    return Skipped(what="the list of consumer groups", reason=f"{problem}; {instead}", could_hide=is_all)


def no_topic() -> Skipped:
    return Skipped(
        what="the topics",
        reason="the registry has subjects, but the cluster shows no topics. Check --bootstrap-servers, and that this user may "
        "see the topics (the ACL Describe)",
        could_hide=True,
    )


def no_store(application: str) -> Skipped:
    return Skipped(
        what=f"the stores of application {application}",
        reason=(
            "no store was examined. srfix finds a store by itself only if the store left a changelog subject "
            "without a topic. Name another store with --store NAME, or give --state-dir DIR or --topology FILE, "
            "which name the stores"
        ),
        could_hide=True,
    )


def no_put() -> Skipped:
    return Skipped(
        what="whether a put would be refused (--no-auto-register)",
        reason=(
            "no store was examined: a store that never wrote a schema leaves no subject, so srfix cannot find it. "
            "Name the stores: give --topology FILE with --application, --ksqldb URL, or --application ID --store "
            "NAME"
        ),
        could_hide=True,
    )


def not_read(suspect: SuspectStore, error: ClusterError) -> Skipped:
    return suspect.skipped(f"{error} So srfix does not know what a restore loads")


def of_operator(suspect: Suspect, operator: str) -> Skipped:
    return suspect.skipped(
        f"the name ends like that of {operator} store. Such a store has its own changelog, and does not restore from a "
        "source topic. Here the changelog topic is missing: the application was reset or is gone, or the store's logging is "
        "disabled",
        could_hide=False,
    )


def of_transient_query(suspect: Suspect, query_id: str) -> Skipped:
    """A push query's state is never restored."""
    why = f"they are left over from ksqlDB's transient query {query_id}; the state of such a query is never restored"
    return suspect.skipped(why, could_hide=False)


def by_record_name(subject: Subject) -> Skipped:
    return Skipped(
        what=f"subject {subject}",
        reason="it follows TopicRecordNameStrategy, which this version does not examine",
        could_hide=True,
        subjects=(subject,),
    )


def from_nowhere(suspect: SuspectStore, shown: str, command_line: CommandLine) -> Skipped:
    """A store into which nothing is restored, and whose application shows no sign of life, or which left no subject."""
    named = command_line.quoted("diagnose", "--source", f"{suspect.application}/{suspect.name}=TOPIC")
    return suspect.skipped(
        f"{shown}: either the store's logging is disabled, so its subjects have no topic by design (`srfix explain "
        f"SRF007`), or the application was reset or is gone. If neither is true, name the store's topic: {named}",
        could_hide=False,
    )


def of_unexamined(
    survey: Survey, applications: Applications, counter: Counter, context: CheckContext, names: Iterable[str]
) -> Iterator[Skipped]:
    """Possible faults in the tables of applications without a known store: one entry per application."""
    groups = sorted(names)
    survey.ask_commits(groups)
    most = counter.max_records or _MOST_RECORDS
    look = _Look(survey, replace(counter, max_records=most), context)
    for group in groups:
        try:
            read = sorted({topic for topic, _partition in survey.commits(group)})
            is_application = applications.commits_as_streams(group)
        except ClusterError as error:
            yield Skipped(what=f"what group {group} reads", reason=error.message, could_hide=False)
            continue
        troubles = {topic: why for topic in read if is_application and (why := look.at(topic))}
        if troubles:
            topics = ", ".join(f"topic {topic} ({'; '.join(why)})" for topic, why in troubles.items())
            first = next(iter(troubles))
            again = context.command_line.quoted("check", *positional(first))
            named = context.command_line.quoted("diagnose", "--source", f"{group}/STORE={first}")
            yield Skipped(
                what=f"the stores of application {group}",
                reason=(
                    f"no store was examined, but the application has read {topics}: a table of this topic may hold "
                    f"unreadable rows. {again} looks at the topic; {named} examines a store, and so do --topology "
                    "FILE and --state-dir DIR"
                ),
                could_hide=True,
            )
    for topic, reason in look.not_decoded:
        yield Skipped(what=f"bodies of the values of topic {topic}", reason=reason, could_hide=False)


@dataclass(slots=True)
class _Look:
    survey: Survey
    counter: Counter
    context: CheckContext
    not_decoded: list[tuple[Topic, str]] = field(default_factory=list)
    troubles: dict[Topic, tuple[str, ...]] = field(default_factory=dict)

    def at(self, topic: Topic) -> tuple[str, ...]:
        """Why a table of the topic may hold unreadable rows; empty if each live value can be read."""
        if topic not in self.troubles:
            try:
                self.troubles[topic] = tuple(self._troubles(topic))
            except ClusterError as error:
                self.survey.cluster.require_answers(error)
                self.troubles[topic] = (error.message,)
        return self.troubles[topic]

    def _troubles(self, topic: Topic) -> Iterator[str]:
        survey, subject = self.survey, subject_for(topic, Role.VALUE)
        if topic not in survey.topics() or is_internal(topic):
            return
        is_registered = survey.has_subject(subject)
        if not is_registered and not survey.peek(topic).schema_ids:
            return  # of another format
        census = self.counter(topic, None, Isolation.READ_UNCOMMITTED)
        unframed = sum(partition.values.live_unframed_keys or 0 for partition in census.partitions)
        if unframed:
            yield f"{counted(unframed, 'live value')} not framed by a schema registry serializer"
        guids = sum(partition.values.guids for partition in census.partitions)
        if guids:
            yield f"{counted(guids, 'value')} with a GUID in place of a schema id, which diagnose does not look up"
        memberships = [survey.membership(subject, schema_id) for schema_id in census.restorable_ids(Role.VALUE)]
        if unknown := [membership.schema_id for membership in memberships if not membership.is_known]:
            yield f"{named_ids(unknown)}, which the registry does not know"
        missing = [membership.schema_id for membership in memberships if membership.is_known and membership.is_missing]
        if missing and is_registered and not self.context.does_without(subject):
            yield f"{named_ids(missing)}, not registered under {subject}"
        is_whole = self.counter.decode_values or sum(p.records for p in census.partitions) <= _MOST_DECODED
        if not is_whole:
            why = (
                f"there are more than {_MOST_DECODED} records, so srfix decoded only the newest live one of each schema id "
                "and partition"
            )
            self.not_decoded.append((topic, f"{why} (--decode-values decodes them all)"))
        decode = whole_bodies if is_whole else newest_bodies
        deadline_s = self.counter.deadline_s
        bodies = decode(survey.cluster, survey.registry, census, (Role.VALUE,), deadline_s=deadline_s)[Role.VALUE]
        self.not_decoded += [(topic, f"not decoded: {left_out}") for left_out in bodies.left_out]
        if bodies.undecodable:
            yield f"not decodable: {counted(sum(rows.keys for rows in bodies.undecodable), 'live value')}"
        yield from dict.fromkeys(p.stopped_early for p in census.partitions if p.stopped_early is not None)

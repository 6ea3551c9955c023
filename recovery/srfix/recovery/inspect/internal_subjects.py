"""The internal-looking subjects of a registry, classified from full listings alone: ten thousand subjects cost a
handful of requests. An orphan is a subject that SRF009 reports without a person's word: a missing group alone is not
enough, because a stopped application's offsets expire.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from msgspec import field

from srfix.recovery.checks.srf008 import CODE as FOREIGN_KEY_JOIN
from srfix.recovery.checks.srf009 import CODE as LITTER
from srfix.recovery.cluster.answers import GroupListing
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.commands import CommandLine
from srfix.recovery.documents import Count, DatedDocument, Id, NotLookedAt, Part
from srfix.recovery.facts.applications import orphans
from srfix.recovery.facts.refusals import list_holders
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Skipped
from srfix.recovery.internal_topics import (
    InternalTopicKind,
    application_prefixes,
    ksqldb_query,
    parse,
    recognise,
    record_name_subject,
)
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.schemas.errors import EndpointNotSupportedError
from srfix.serde.subjects.names import Role, Subject, Topic, split_context, split_subject


class SubjectClass(Enum):
    CHANGELOG = "changelog"
    PHANTOM = "changelog without a topic"
    REPARTITION = "repartition"
    SUBSCRIPTION = "foreign-key subscription"
    PSEUDO = "foreign-key pseudo-topic"
    ORPHAN = "orphan"


class ListedSubject(Part):
    """One internal-looking subject."""

    subject: str
    kind: SubjectClass = field(name="class")
    topic: str | None
    has_topic: bool | None = field(name="topic_exists")
    role: Role | None
    naming: Literal["TopicNameStrategy", "TopicRecordNameStrategy"]
    is_live: bool = field(name="live")
    application: str | None
    store: str | None
    schema_ids: list[Id] | None = field(name="ids")
    next: str | None
    """The command to run next."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InternalSubjects:
    subjects: tuple[ListedSubject, ...]
    """By name."""
    looked_at: int
    """How many subjects the registry has, soft-deleted ones too."""
    skipped: tuple[Skipped, ...]


class SubjectsDocument(DatedDocument, tag="srfix.subjects/1"):
    """The internal-looking subjects: `srfix subjects`."""

    looked_at: Count
    """Subjects of the registry."""
    subjects: list[ListedSubject]
    skipped: list[NotLookedAt]


def list_internal_subjects(
    cluster: Cluster,
    registry: ReadableRegistry,
    *,
    application: str | None = None,
    command_line: CommandLine | None = None,
) -> InternalSubjects:
    topics = cluster.topics()
    listing = cluster.groups()
    every = registry.subjects(deleted=True)
    live = frozenset(registry.subjects())
    internal = [subject for subject in every if _topic_of(subject) is not None]
    skipped: list[Skipped] = []
    if listing.problem is not None:
        unknown = "name an application with --application"
        if application is not None:
            unknown = f"so srfix does not know whether the application {application!r} is gone"
        skipped.append(
            Skipped(
                what="the list of consumer groups",
                reason=f"{listing.problem}; {unknown}",
                could_hide=bool(internal),  # names alone show whether a subject is internal
            )
        )
    ids: defaultdict[Subject, set[int]] = defaultdict(set)
    if internal:
        try:
            for holder in list_holders(registry):
                ids[holder.subject].add(int(holder.schema_id))
        except EndpointNotSupportedError as error:
            skipped.append(Skipped(what="the ids of the subjects", reason=error.message, could_hide=False))
    gone = {} if listing.problem is not None else orphans(Survey(cluster=cluster, registry=registry), listing.groups)
    subjects = (
        classify(
            subject,
            topics=topics,
            groups=listing,
            is_live=subject in live,
            schema_ids=sorted(ids[subject]) or None,  # the listing leaves out subjects of other contexts
            application=application,
            orphan_of=gone.get(subject),
            command_line=command_line,
        )
        for subject in sorted(internal)
    )
    return InternalSubjects(
        subjects=tuple(s for s in subjects if s is not None and application in (None, s.application)),
        looked_at=len(every),
        skipped=tuple(skipped),
    )


def classify(
    subject: str,
    *,
    topics: Iterable[str],
    groups: GroupListing,
    is_live: bool,
    schema_ids: Iterable[int] | None,
    application: str | None = None,
    orphan_of: str | None = None,
    command_line: CommandLine | None = None,
) -> ListedSubject | None:
    """Classifies one subject by full listings (None: not internal); `application` from elsewhere than the groups."""
    topic_and_role = _topic_of(subject)
    if topic_and_role is None:
        return None
    topic, role = topic_and_role
    applications = frozenset(groups.groups) | ({application} if application is not None else frozenset())
    owner = orphan_of or _application(topic, application, applications)
    has_topic = topic in topics
    parsed = None if owner is None else parse(topic, application=owner)
    kind = SubjectClass.ORPHAN if orphan_of is not None else _kind(topic, has_topic)
    store = None if parsed is None else parsed.store
    return ListedSubject(
        subject=subject,
        kind=kind,
        topic=topic,
        has_topic=has_topic,
        role=role,
        naming="TopicRecordNameStrategy" if role is None else "TopicNameStrategy",
        is_live=is_live,
        application=owner,
        store=store,
        schema_ids=None if schema_ids is None else list(schema_ids),
        next=_next(kind, owner, store, role, command_line or CommandLine()),
    )


def _topic_of(subject: str) -> tuple[Topic, Role | None] | None:
    _context, name = split_context(subject)
    split = split_subject(name)
    if split is not None:
        return split if recognise(split[0]) is not None else None
    topic = record_name_subject(name)
    return None if topic is None else (topic, None)


def _application(topic: Topic, named: str | None, applications: frozenset[str]) -> str | None:
    prefixes = application_prefixes(topic)
    if named is not None and named in prefixes:
        return named
    listed = next((prefix for prefix in prefixes if prefix in applications), None)  # the longest first
    if listed is not None:
        return listed
    query = ksqldb_query(topic)
    if query is not None and query.application in prefixes:
        return query.application
    return prefixes[0] if len(prefixes) == 1 else None


def _kind(topic: Topic, has_topic: bool) -> SubjectClass:
    match recognise(topic):
        case InternalTopicKind.CHANGELOG:
            return SubjectClass.CHANGELOG if has_topic else SubjectClass.PHANTOM
        case InternalTopicKind.REPARTITION:
            return SubjectClass.REPARTITION
        case InternalTopicKind.PSEUDO:
            return SubjectClass.PSEUDO
        case _:
            return SubjectClass.SUBSCRIPTION


def _next(
    kind: SubjectClass, application: str | None, store: str | None, role: Role | None, command_line: CommandLine
) -> str | None:
    if kind is SubjectClass.ORPHAN:
        return f"srfix explain {LITTER}"
    if kind is SubjectClass.PSEUDO:
        return f"srfix explain {FOREIGN_KEY_JOIN}"
    if kind is not SubjectClass.PHANTOM or role is None:
        return None
    if application is None or store is None:
        return command_line.command("diagnose")
    return command_line.command("diagnose", "--application", application, "--store", store)

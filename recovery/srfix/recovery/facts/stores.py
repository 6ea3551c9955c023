"""A suspect store, the facts about it, and which schemas under its phantom subject are the application's internal ones.

A phantom subject holds versions that the application has registered, and versions that repairs have registered for the
records of the source topic. Their ids distinguish them: ids that the source's subject has, or that records carry, come
from repairs. If the source also has a version of the application's own, srfix treats it as a repair's, unless something
shows that the store's serde registered it there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.answers import TopicConfigs
from srfix.recovery.facts.bodies import Bodies
from srfix.recovery.facts.key_role import KeyAsymmetry, KeyRole, asymmetry
from srfix.recovery.facts.subject_state import SubjectState, VersionState
from srfix.recovery.findings import Evidence, Finding, IdAtFault, Severity, Skipped, Source
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, Topic, changelog_topic, join_context, subject_for
from srfix.serde.wire import SchemaId

_MARK: Final = re.compile(
    r'"(connect\.(?:name|version|parameters|default|internal\.type)|avro\.java\.string)"\s*:|\b(KsqlDataSourceSchema)'
)
MARKS_OF_CONNECT: Final = frozenset(
    ("connect.name", "connect.version", "connect.parameters", "connect.default", "connect.internal.type")
) | {"KsqlDataSourceSchema"}
"""Marks that Connect's converter and ksqlDB write into schemas; avro.java.string comes from generated classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRows:
    rows: int
    schema_ids: Mapping[Role, Mapping[SchemaId, int]]
    """Per role and id, the rows whose key or value carries it; for keys only if a registry serializer wrote them."""
    found_in: Mapping[Role, Mapping[SchemaId, tuple[int, ...]]] = field(default_factory=dict)
    """Per role and id, the partitions whose store has such rows, ascending; empty for a global store."""
    guids: Mapping[Role, int] = field(default_factory=dict)
    """Per role, the number of rows that name their schema by GUID; their ids are not known."""
    unframed: Mapping[Role, int] = field(default_factory=dict)
    partitions: tuple[int, ...] = ()
    """The partitions whose store was read to its end, ascending; empty for a global store, which has no partitions."""
    not_read: tuple[str, ...] = ()
    """Stores that were not read, or not completely, or may have more rows; each a text with the task and the reason."""
    could_hide: bool = False
    """True if damage or a missing library hid rows, which may carry ids that the registry has lost."""
    is_whole: bool = False
    """True if every partition of the source topic was read to its end, and no application is running on any of it. Only
    then an id that no row carries is not in the store. It means that the given directories hold every row that the
    application has committed: no process holds them, every database was read to its end, and the offset in the
    checkpoint (or in the store, from 4.3 on) has reached the group's committed offset. Kafka Streams writes that offset
    after it has flushed the rows (up to 4.2), or together with them (4.3 and later), so no row up to this offset can be
    only in a memtable, as it can be in a copy of a running application's directory. It says nothing about other copies
    of the same partitions: a standby elsewhere, or an instance that has restored since the directory was copied.
    """

    def ids(self, role: Role) -> frozenset[SchemaId]:
        return frozenset(self.schema_ids.get(role, {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedRows:
    """A global store that the user's own processor fills, or may fill, and what a restore would change in it."""

    processor: str | None = None
    """The name that a person gave it; None if no topology shows one (`addGlobalStore` names like `globalTable`)."""
    origin: str | None = None
    transformed: int = 0
    """Rows that differ from what a restore would put in their place."""
    untransformed: int = 0
    """Rows that a restore would not change, or whose encoding alone it would change."""
    untold: int = 0
    """Rows that differ in bytes, while srfix does not know whether a restore would change their content."""
    example: tuple[int, int] | None = None
    """Partition and offset of a record that differs from the store's row; None if there is none."""
    not_compared: str | None = None
    """A clause that says why no rows, or not all of them, were compared; None if they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectStore:
    """A store whose changelog topic does not exist although a subject was, or would be, named after it."""

    application: str
    name: str
    other_applications: tuple[str, ...] = ()
    """Other applications whose name is also a prefix of the subject, likeliest first: the store may be theirs."""
    context: str = DEFAULT_CONTEXT
    """The registry context in which its serdes register and look up schemas; it also has the source topic's subjects."""

    @property
    def changelog(self) -> Topic:
        return changelog_topic(self.application, self.name)

    def subject(self, role: Role) -> Subject:
        return join_context(self.context, subject_for(self.changelog, role))

    @property
    def subjects(self) -> tuple[Subject, ...]:
        return self.subject(Role.VALUE), self.subject(Role.KEY)

    def source_subject(self, topic: Topic, role: Role) -> Subject:
        """The subject of the keys or values of the topic that it restores from, as its serdes would ask for it."""
        return join_context(self.context, subject_for(topic, role))

    @property
    def options(self) -> tuple[str, ...]:
        return "--application", self.application, "--store", self.name

    @property
    def in_words(self) -> str:
        return f"store {self.name} of application {self.application}"

    def skipped(
        self, reason: str, *, what: str | None = None, role: Role | None = None, could_hide: bool = True
    ) -> Skipped:
        subjects = self.subjects if role is None else (self.subject(role),)
        return Skipped(what=what or self.in_words, reason=reason, could_hide=could_hide, subjects=subjects)

    def __str__(self) -> str:
        name = f"{self.application}/{self.name}"
        return name if self.context == DEFAULT_CONTEXT else f"{name} in context {self.context}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A changelog topic that does not exist, and every store to which its name may belong."""

    changelog: Topic
    context: str = DEFAULT_CONTEXT
    """The registry context of the subjects that have its name."""
    splits: tuple[SuspectStore, ...]
    """Every way to split its name into an application and a store that were asked for, the longest application first."""

    def skipped(self, reason: str, *, could_hide: bool = True) -> Skipped:
        subjects = self.splits[0].subjects
        return Skipped(
            what=f"the subjects of {self.changelog}", reason=reason, could_hide=could_hide, subjects=subjects
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Whether the schema behind an id is registered under the phantom subject, asked by content as the reader asks."""

    schema_id: SchemaId
    schema: Schema | None
    """Its schema, with the text in the reader's request; None if the registry does not know the id at all."""
    error_code: int | None
    """40401 or 40403 if it is not registered there; 42201 if the registry does not accept its text (any more), on which
    the reader fails too. None if it is registered.
    """
    answered_id: SchemaId | None
    """The id that the look-up answered with; by content, so it may differ from `schema_id`. In a named context the reader
    needs the id itself: there `error_code` is 40403 if only another id is found."""
    answered_subject: Subject | None = None
    """The subject in the look-up's answer, if it is not the one that was asked: because of an alias, or another context."""
    problem: str | None = None
    """The registry's message with 42201."""

    @property
    def is_known(self) -> bool:
        return self.schema is not None

    @property
    def is_missing(self) -> bool:
        """True if the id is known, but its schema is not registered under the phantom subject."""
        return self.schema is not None and self.error_code is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFacts:
    role: Role
    subject: Subject
    """The phantom subject."""
    state: SubjectState
    memberships: Mapping[SchemaId, Membership]
    """For each id in the log of the source topic, whether the phantom subject holds it."""
    row_memberships: Mapping[SchemaId, Membership] = field(default_factory=dict)
    """The same for ids that rows on disk carry, but no record in the log; empty if no rows were read."""
    source_memberships: Mapping[SchemaId, Membership] = field(default_factory=dict)
    """For each id that a restore loads, whether the source topic's own subject holds it: Kafka Streams 2.7 asks that,
    and a dual-subject reader asks it second. Empty while the source is undecided.
    """

    def membership(self, schema_id: SchemaId) -> Membership:
        return self.memberships.get(schema_id) or self.row_memberships[schema_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFacts:
    store: SuspectStore
    source: Source | None
    """The source that it restores from (with the value subject); None while undecided."""
    evidence: tuple[Evidence, ...]
    census: Census | None
    """The ids in the source topic; None while the source is undecided."""
    roles: Mapping[Role, RoleFacts]
    bodies: Mapping[Role, Bodies] = field(default_factory=dict)
    """For each role, whether the rows that a restore loads decode; empty while the source is undecided."""
    source_configs: TopicConfigs | None = None
    """The configuration of the source topic, or why it is not known; None while the source is undecided."""
    keys: KeyRole | None = None
    is_global: bool = False
    """True if it is a global table's or global store's: it restores the whole topic at every start without state."""
    is_told_global: bool = False
    """True if a state directory or a topology says so; False if srfix concludes it from offsets committed elsewhere."""
    value_asks_no_registry: bool = False
    """True if no value schema is registered, and rows have a key schema or are all unframed on disk."""
    logs_nothing: str | None = None
    """A clause: the sign that nothing is ever restored into the store; None if there is no such sign."""
    rows: StoreRows | None = None
    """The ids in the store's rows on disk; None if none of the given state directories holds the store."""
    rows_not_read: str | None = None
    """A sentence that says why no rows were read although a state directory holds the store; None if rows were read."""
    starts_anew: bool = False
    """True if its directories show that a start of Streams 2.7 or later restores it whole, even if it kept rows."""
    processed: ProcessedRows | None = None
    """What topology and disk show of a global store's processor; None if neither, or if a restore runs it (3.8)."""

    def source_of(self, role: Role) -> Source | None:
        """The source that it restores from, with the source topic's subject for one role; None while undecided."""
        source = self.source
        return source and Source(topic=source.topic, subject=self.store.source_subject(source.topic, role))

    @property
    def key_asymmetry(self) -> KeyAsymmetry | None:
        """Whether the reader writes another key id than the topic's keys carry; None if not, or if srfix does not know."""
        role = self.roles.get(Role.KEY)
        if role is None or self.source is None or self.census is None or self.keys is None or not self.keys.is_certain:
            return None
        carried = [i for i in self.census.restorable_ids(Role.KEY) if role.memberships[i].is_known]
        # A repair also registers ids that are only in the log, even only on tombstones, and not just ids that the
        # source has.
        difference = asymmetry(carried, role.state, {*self.keys.source.schema_ids, *self.census.ids(Role.KEY)})
        written = self._key_ids_put() if difference is None and carried and len(role.state.schema_ids) != 1 else None
        return KeyAsymmetry(topic_ids=tuple(carried), reader_id=max(written)) if written else difference

    def _key_ids_put(self) -> frozenset[SchemaId]:
        """The ids in keys on disk that no record carries, if the topic has lost no key: a serde put them there."""
        if self.rows is None or self.census is None or self.census.is_partial:
            return frozenset()
        is_kept = self.source_configs is not None and self.source_configs.is_compacted is True
        if not is_kept and any(partition.start_offset for partition in self.census.partitions):
            return frozenset()
        return self.rows.ids(Role.KEY).difference(self.census.ids(Role.KEY))

    def finding(
        self,
        code: str,
        role: Role,
        *,
        severity: Severity,
        explanation: str,
        next_step: str,
        subject: Subject | None = None,
        schema_ids: tuple[IdAtFault, ...] = (),
        registered_ids: tuple[SchemaId, ...] | None = None,
        repairable: bool = False,
    ) -> Finding:
        role_facts = self.roles.get(role)
        return Finding(
            code=code,
            severity=severity,
            application=self.store.application,
            store=self.store.name,
            role=role,
            subject=subject or self.store.subject(role),
            source=self.source_of(role),
            schema_ids=schema_ids,
            registered_ids=(role_facts.state.schema_ids if role_facts else ())
            if registered_ids is None
            else registered_ids,
            evidence=self.evidence,
            explanation=explanation,
            next=next_step,
            repairable=repairable,
        )


AskMembership: TypeAlias = Callable[[Subject, SchemaId], Membership]


def marks_in(text: str) -> frozenset[str]:
    return frozenset(match[1] or match[2] for match in _MARK.finditer(text))


def own_versions(role: RoleFacts, known_under: Subject, membership: AskMembership) -> tuple[VersionState, ...]:
    copies = set(role.memberships)
    copies |= {m.answered_id for m in role.memberships.values() if m.answered_id is not None}
    if known_under != role.subject:
        memberships = (
            membership(known_under, schema_id) for schema_id in role.state.schema_ids if schema_id not in copies
        )
        copies |= {
            m.schema_id for m in memberships if m.is_known and m.error_code is None and m.answered_subject is None
        }
    return tuple(version for version in role.state.versions if version.schema_id not in copies)


def latest_own(own: Iterable[VersionState]) -> VersionState | None:
    """The latest of the owner's versions, a soft-deleted one if none is live; None without any."""
    versions = tuple(own)
    live = [version for version in versions if not version.deleted]
    return max(live or versions, key=lambda version: version.version, default=None)


def is_first_of_its_own(
    phantom: SubjectState, source: SubjectState, carried: Collection[SchemaId], schema_id: SchemaId
) -> bool:
    """True if a schema of both subjects is the phantom subject's first version, and no copy of the source's: a serde
    that writes the writer's schemas back would have copied the schemas of the records."""
    if not phantom.versions or phantom.versions[0].schema_id != schema_id:
        return False
    numbers: dict[SchemaId, int] = {}
    for version in source.versions:
        numbers.setdefault(version.schema_id, version.version)
    if schema_id not in numbers:
        return False

    def is_before(other: SchemaId) -> bool:
        return other != schema_id and numbers.get(other, 0) < numbers[schema_id]

    phantom_ids = set(phantom.schema_ids)
    return any(is_before(i) for i in carried if i not in phantom_ids)

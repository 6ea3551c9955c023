"""A store under suspicion, and what was learned of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.answers import TopicConfigs
from srfix.recovery.facts.bodies import Bodies
from srfix.recovery.facts.key_role import KeyAsymmetry, KeyRole, asymmetry
from srfix.recovery.facts.subject_state import SubjectState
from srfix.recovery.findings import Evidence, Finding, IdAtFault, Severity, Skipped, Source
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, Topic, changelog_topic, join_context, subject_for
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreRows:
    """What the state directories that were handed over hold of one store."""

    rows: int
    schema_ids: Mapping[Role, Mapping[SchemaId, int]]
    """Per role and id the rows whose key or value carries it; of keys only where they are a schema registry's."""
    found_in: Mapping[Role, Mapping[SchemaId, tuple[int, ...]]] = field(default_factory=dict)
    """Per role and id the partitions in whose store such rows are, ascending; none for a global store."""
    guids: Mapping[Role, int] = field(default_factory=dict)
    """Per role the rows that name their schema by GUID, whose ids are not known."""
    unframed: Mapping[Role, int] = field(default_factory=dict)
    partitions: tuple[int, ...] = ()
    """The partitions whose store was read to its end, ascending; empty for a global store, which has none."""
    not_read: tuple[str, ...] = ()
    """What could not be read, or only in part, or may be more than what was read, each as a sentence's beginning: a task and
    why."""
    could_hide: bool = False
    """True if damage or a missing library kept rows back, which may carry ids that the registry has lost."""
    is_whole: bool = False
    """True if every partition of the source topic was read to its end, with no application running on any of it: only then
    an id that no row carries is not in the store.

    It claims that the directories, as they were handed over, hold every row that the application has committed: no process
    holds them, every database was read to its end, and the offset that stands in the checkpoint (or in the store, from 4.3
    on) has reached the group's committed offset. Kafka Streams writes that offset after it has flushed the rows (up to 4.2),
    or together with them (4.3 and later), so that nothing up to it can be in a memtable alone, as in a copy of a running
    application's directory. It claims nothing of other copies of the same partitions: of a standby elsewhere, or of an
    instance that has restored since the directory was copied.
    """

    def ids(self, role: Role) -> frozenset[SchemaId]:
        return frozenset(self.schema_ids.get(role, {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessedRows:
    """A global store that a processor of the user's own fills, or may, and what a restore would change in it."""

    processor: str | None = None
    """The name that a person gave to the processor; None where no topology shows one: `StreamsBuilder.addGlobalStore` names
    its processor as `globalTable` does."""
    origin: str | None = None
    transformed: int = 0
    """Rows that differ from what a restore would put in their place."""
    untransformed: int = 0
    """Rows that a restore would leave as they are, or differ in their encoding alone."""
    untold: int = 0
    """Rows that differ in bytes, and of which nothing tells whether a restore would change what they say."""
    example: tuple[int, int] | None = None
    """Partition and offset of a record of which the store holds something else; None without any."""
    not_compared: str | None = None
    """Why no rows, or not all that were to be, were compared, in a clause; None if they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectStore:
    """A store whose changelog topic does not exist although a subject was, or would be, named after it."""

    application: str
    name: str
    other_applications: tuple[str, ...] = ()
    """Other applications whose name is a prefix of the subject too, likeliest first: it may be a store of theirs."""
    context: str = DEFAULT_CONTEXT
    """The registry context in which its serdes register and look up; the source topic's subjects are in the same."""

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
        """The words of a command that concerns it alone."""
        return "--application", self.application, "--store", self.name

    @property
    def in_words(self) -> str:
        """The store in a sentence."""
        return f"store {self.name} of application {self.application}"

    def skipped(
        self, reason: str, *, what: str | None = None, role: Role | None = None, could_hide: bool = True
    ) -> Skipped:
        """The store, or what else is said of it, as something that was not looked at; of one role, or of both."""
        subjects = self.subjects if role is None else (self.subject(role),)
        return Skipped(what=what or self.in_words, reason=reason, could_hide=could_hide, subjects=subjects)

    def __str__(self) -> str:
        name = f"{self.application}/{self.name}"
        return name if self.context == DEFAULT_CONTEXT else f"{name} in context {self.context}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A changelog topic that does not exist, and every store that its name may be that of."""

    changelog: Topic
    context: str = DEFAULT_CONTEXT
    """The registry context of the subjects that are named after it."""
    splits: tuple[SuspectStore, ...]
    """Every way to take its name apart into application and store that was asked for, the longest application first."""

    def skipped(self, reason: str, *, could_hide: bool = True) -> Skipped:
        """Its subjects as something that was not looked at."""
        subjects = self.splits[0].subjects
        return Skipped(
            what=f"the subjects of {self.changelog}", reason=reason, could_hide=could_hide, subjects=subjects
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Whether the schema behind an id is registered under the phantom subject, asked by content as the reader asks."""

    schema_id: SchemaId
    """The id in the records."""
    schema: Schema | None
    """Its schema, with the text that the reader asks by; None if the registry does not know the id at all."""
    error_code: int | None
    """40401 or 40403 if it is not registered there, 42201 if the registry does not take its text for a schema (a reference
    is missing, or it validates more strictly than when it was registered): the reader fails on that too. None if it is
    registered."""
    answered_id: SchemaId | None
    """The id that the look-up answered with; by content, so it may differ from `schema_id`. In a named context the reader
    needs the id itself: there `error_code` is 40403 where only another id is found."""
    answered_subject: Subject | None = None
    """The subject that the look-up's answer names, if it is another one than was asked: by an alias, or a context."""
    problem: str | None = None
    """The registry's words with 42201."""

    @property
    def is_known(self) -> bool:
        return self.schema is not None

    @property
    def is_missing(self) -> bool:
        """True if the id is known, but its schema is not registered under the phantom subject."""
        return self.schema is not None and self.error_code is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleFacts:
    """The keys or the values of a store."""

    role: Role
    subject: Subject
    """The phantom subject."""
    state: SubjectState
    """What stands under it."""
    memberships: Mapping[SchemaId, Membership]
    """Per id in the log of the source topic."""
    row_memberships: Mapping[SchemaId, Membership] = field(default_factory=dict)
    """Per id that rows on disk carry, and no record in the log of the source topic; empty where no rows were read."""
    source_memberships: Mapping[SchemaId, Membership] = field(default_factory=dict)
    """Per id that a restore loads, whether its schema is registered under the source topic's own subject of this role:
    what Kafka Streams 2.7 asks, and a dual-subject reader second. Empty while the source is undecided."""

    def membership(self, schema_id: SchemaId) -> Membership:
        """That of an id in the log, or on disk."""
        return self.memberships.get(schema_id) or self.row_memberships[schema_id]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreFacts:
    """All that was learned of one suspect store."""

    store: SuspectStore
    source: Source | None
    """Where it restores from (the value subject); None while undecided."""
    evidence: tuple[Evidence, ...]
    census: Census | None
    """The ids in the source topic; None while the source is undecided."""
    roles: Mapping[Role, RoleFacts]
    bodies: Mapping[Role, Bodies] = field(default_factory=dict)
    """Per role whether the rows that a restore loads decode; empty while the source is undecided."""
    source_configs: TopicConfigs | None = None
    """The configuration of the source topic, or why it is not known; None while the source is undecided."""
    keys: KeyRole | None = None
    is_global: bool = False
    """True if it is a global table's or global store's: it restores the whole topic at every start without state."""
    is_told_global: bool = False
    """True if a state directory or a topology says so; else it is concluded from offsets that are committed elsewhere alone."""
    value_asks_no_registry: bool = False
    """True if no value schema is registered anywhere, and rows were put under a key schema, or all rows on disk are unframed:
    the value serde asks none."""
    logs_nothing: str | None = None
    """What shows that nothing is ever restored into it, in a clause; None if nothing does."""
    rows: StoreRows | None = None
    """What the store's rows carry on disk; None where no state directory that was handed over holds the store."""
    rows_not_read: str | None = None
    """Why the rows were not read at all although a state directory holds the store, in a sentence; None if they were."""
    starts_anew: bool = False
    """True if its directories show that a start of Kafka Streams 2.7 or later restores all of it, whatever rows it kept."""
    processed: ProcessedRows | None = None
    """What a topology and the rows on disk say of the processor of a global store; None where no topology shows one of the
    user's own, or Kafka Streams runs it on a restore too."""

    def source_of(self, role: Role) -> Source | None:
        """Where it restores from, with the source topic's subject for one role; None while undecided."""
        source = self.source
        return source and Source(topic=source.topic, subject=self.store.source_subject(source.topic, role))

    @property
    def key_asymmetry(self) -> KeyAsymmetry | None:
        """Whether the reader writes another key id than the topic's keys carry; None if not, or if nothing tells."""
        role = self.roles.get(Role.KEY)
        if role is None or self.source is None or self.census is None or self.keys is None or not self.keys.is_certain:
            return None
        carried = [i for i in self.census.restorable_ids(Role.KEY) if role.memberships[i].is_known]
        # A repair registers what is in the log too, be it that of tombstones alone, and not only what the source has.
        difference = asymmetry(carried, role.state, {*self.keys.source.schema_ids, *self.census.ids(Role.KEY)})
        written = self._key_ids_put() if difference is None and carried and len(role.state.schema_ids) != 1 else None
        return KeyAsymmetry(topic_ids=tuple(carried), reader_id=max(written)) if written else difference

    def _key_ids_put(self) -> frozenset[SchemaId]:
        """The ids in keys on disk that no record's key carries, of a topic of which no key is gone: a serde put them there.

        From Kafka Streams 2.7 on nothing else tells: the key serde registers under the source's own subject.
        """
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
        """A finding of this store: of the phantom subject and what stands there, if no other one is said."""
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

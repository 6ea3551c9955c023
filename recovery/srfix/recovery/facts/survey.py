"""The cluster and the registry as one diagnosis sees them: asked once, read-only, and remembered until its end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final, TypeVar, cast

from srfix.recovery.cluster.answers import Commit, GroupState, TopicConfigs
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts import isolation
from srfix.recovery.facts.isolation import RestoreIsolation
from srfix.recovery.facts.refusals import Holder, list_holders
from srfix.recovery.facts.stores import Membership, SuspectStore
from srfix.recovery.facts.subject_state import SubjectState, read_subject_state, version_at, version_numbers
from srfix.recovery.facts.supplied import Supplied
from srfix.recovery.internal_topics import is_internal
from srfix.recovery.registry import ReadableRegistry, usable
from srfix.serde.errors import ClusterError
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.registries.given import AnyClient
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    InvalidSchemaError,
    SchemaNotFoundError,
    SubjectNotFoundError,
)
from srfix.serde.schemas.models import Schema, SchemaVersion, answered_elsewhere
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, Topic, join_context
from srfix.serde.wire import SchemaId
from srfix.serde.wire_peek import BY_GUID, SchemaIdPeek, peek_headers

_T = TypeVar("_T")

_MOST_VERSIONS: Final = 20
_PEEKED_OFFSETS: Final = 5
"""How many offsets at the end of each partition a peek reads, besides its first one."""
_PEEKED_PARTITIONS: Final = 16
_MOST_PASSED: Final = 10_000
"""How many tombstones a peek skips in a partition to find a value."""
_MOST_ONE_BY_ONE: Final = 50
"""How many latest versions are asked one by one; a listing of 10,000 subjects needs about ten pages, and megabytes."""
_SCHEMA_NOT_FOUND: Final = 40403


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedSource:
    topic: Topic
    argument: str
    """The option's value, `STORE=TOPIC` or `APPLICATION/STORE=TOPIC`."""
    has_application: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Peek:
    looked_at: int
    """How many values, without tombstones, or how many keys of such records, without null keys, were looked at."""
    schema_ids: tuple[SchemaId, ...]
    guids: int


@dataclass(slots=True)
class Survey:
    """The state of cluster and registry. Answers are remembered, so one diagnosis never contradicts itself."""

    cluster: Cluster
    registry: ReadableRegistry
    """The caller may give it in any form (`srfix.recovery.registry.usable`)."""
    sources: Mapping[str, Topic] = field(default_factory=dict)
    """The source topic that the person named: per store, or per `APPLICATION/STORE` for one of several applications."""
    supplied: Supplied = field(default_factory=Supplied)
    """State directories, topologies and ksqlDB's answers that the person gave."""
    isolation: Isolation | None = None
    """How restores read, if the person said."""
    gone: frozenset[str] = frozenset()
    """Applications that the person calls gone for good."""

    _commits: dict[str, Mapping[tuple[Topic, int], Commit] | ClusterError] = field(default_factory=dict)
    _latest: dict[Subject, SchemaVersion | None] = field(default_factory=dict)
    _latest_is_listed: bool = False
    _worked_out: dict[tuple[object, ...], object] = field(default_factory=dict)

    if TYPE_CHECKING:

        def __init__(
            self,
            cluster: Cluster,
            registry: ReadableRegistry | AnyClient,
            sources: Mapping[str, Topic] = ...,
            supplied: Supplied = ...,
            isolation: Isolation | None = ...,
            gone: frozenset[str] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        self.registry = usable(self.registry)

    def anew(self, registry: ReadableRegistry) -> Survey:
        """A survey with all that the person said, but of this registry, and with no remembered answers."""
        return Survey(self.cluster, registry, self.sources, self.supplied, self.isolation, self.gone)

    def once(self, key: tuple[object, ...], make: Callable[[], _T]) -> _T:
        """The result of a computation on the answers. It is computed only once, because hundreds of stores need the same
        result for thousands of topics and subjects. An error of the cluster is remembered, too: waiting for it takes long.

        :param key: hashable; it identifies the computation and its arguments.
        """
        if key not in self._worked_out:
            try:
                self._worked_out[key] = make()
            except ClusterError as error:
                self._worked_out[key] = error
        answer = self._worked_out[key]
        if isinstance(answer, ClusterError):
            raise answer
        return cast("_T", answer)

    def named_source(self, store: SuspectStore) -> NamedSource | None:
        """The topic that the person named for a store; a topic that names the application, too, has priority."""
        for key in (f"{store.application}/{store.name}", store.name):
            if key in self.sources:
                topic = self.sources[key]
                return NamedSource(topic=topic, argument=f"{key}={topic}", has_application=key != store.name)
        return None

    def topics(self) -> Mapping[Topic, int]:
        """Every topic and its number of partitions, from the full listing, because a question about one topic can create it."""
        return self.once(("topics",), self.cluster.topics)

    def subjects(self) -> tuple[Subject, ...]:
        """Every subject, soft-deleted ones too."""
        return self.once(("subjects",), lambda: self.registry.subjects(deleted=True))

    def has_subject(self, subject: Subject) -> bool:
        """True if the subject is in the listing, even with only soft-deleted versions."""
        return subject in self.once(("known subjects",), lambda: frozenset(self.subjects()))

    def ask_commits(self, groups: Iterable[str]) -> None:
        """Asks for the committed offsets of many groups side by side; `commits` then answers from memory.

        An error for one group is kept, and raised when its offsets are asked for.
        """
        unknown = [group for group in dict.fromkeys(groups) if group not in self._commits]
        if not unknown:
            return
        partitions = [
            (topic, partition)
            for topic, count in self.topics().items()
            if not is_internal(topic)
            for partition in range(count)
        ]
        self._commits.update(self.cluster.committed_by(unknown, partitions))

    def commits(self, group: str) -> Mapping[tuple[Topic, int], int]:
        """A group's committed offsets, for all partitions that have one.

        :raises AccessDeniedError: if this user may not ask about the group.
        :raises ClusterError: if the broker does not answer.
        """
        return {where: commit.offset for where, commit in self._committed(group).items()}

    def commit_metadata(self, group: str) -> Mapping[tuple[Topic, int], str]:
        """The metadata beside a group's committed offsets, which shows the generation of Kafka Streams.

        :raises ClusterError: if the broker does not answer.
        """
        return {where: commit.metadata for where, commit in self._committed(group).items()}

    def _committed(self, group: str) -> Mapping[tuple[Topic, int], Commit]:
        self.ask_commits([group])
        answer = self._commits[group]
        if isinstance(answer, ClusterError):
            raise answer
        return answer

    def restore_isolation(self, application: str) -> RestoreIsolation:
        """How the restore of an application reads. If the person did not say it, the transactional ids decide."""
        if self.isolation is not None:
            return isolation.named_isolation(self.isolation)
        partitions = self.topics().get(isolation.TRANSACTIONS)
        ids = self.once(("transactional ids",), lambda: isolation.known_transactional_ids(self.cluster, partitions))
        return isolation.by_transactional_ids(application, ids)

    def group_state(self, group: str) -> GroupState:
        return self.once(("group", group), lambda: self.cluster.group_state(group))

    def subscriptions(self, group: str) -> tuple[int, ...]:
        """For each member of a running application, the latest version of `SubscriptionInfo` that it knows; empty if no
        member says it.
        """
        return self.once(
            ("subscriptions", group),
            lambda: tuple(member.subscription for member in self.cluster.streams_members(group).members),
        )

    def topic_configs(self, topic: Topic) -> TopicConfigs:
        """The configuration of a topic that exists, or the problem that kept srfix from reading it."""
        return self.once(("configs", topic), lambda: self.cluster.topic_configs(topic))

    def latest(self, subject: Subject) -> SchemaVersion | None:
        """A subject's latest version, a soft-deleted one if there is no other; None if there is none at all.

        Subjects are asked one by one, because most diagnoses need only a few of thousands. A store that may restore
        from any topic needs the latest version of each; then one listing is cheaper.
        """
        if len(self._latest) >= _MOST_ONE_BY_ONE and not self._latest_is_listed:
            self._list_latest()
        if subject not in self._latest:
            self._latest[subject] = self._ask_latest(subject)
        return self._latest[subject]

    def _list_latest(self) -> None:
        self._latest_is_listed = True
        try:
            listing = self.registry.schemas(latest_only=True)
        except EndpointNotSupportedError:  # before 7.0, and Apicurio: srfix goes on asking one by one
            return
        latest: dict[Subject, SchemaVersion] = {}
        for version in listing:  # a registry that ignores `latestOnly` lists them all
            if version.subject not in latest or latest[version.subject].version < version.version:
                latest[version.subject] = version
        self._latest = {**latest, **self._latest}

    def _ask_latest(self, subject: Subject) -> SchemaVersion | None:
        try:
            return self.registry.version(subject, "latest")
        except SubjectNotFoundError:
            pass
        numbers = version_numbers(self.registry, subject, deleted=True)
        return self.registry.version(subject, max(numbers), deleted=True) if numbers else None

    def versions(self, subject: Subject) -> tuple[SchemaVersion, ...]:
        """The newest 20 versions of a subject, with soft-deleted ones, the newest first; empty if there is no such subject."""
        return self.once(("versions", subject), lambda: tuple(self._newest_versions(subject)))

    def _newest_versions(self, subject: Subject) -> Iterator[SchemaVersion]:
        latest = self._latest.get(subject)
        for number in sorted(self._version_numbers(subject), reverse=True)[:_MOST_VERSIONS]:
            if latest is not None and latest.version == number:
                yield latest
                continue
            version = version_at(self.registry, subject, number, deleted=True)
            if version is not None:
                yield version

    def _version_numbers(self, subject: Subject) -> tuple[int, ...]:
        """A subject's versions, with soft-deleted ones. They come from the listing of all versions, if srfix has it and
        the subject is in it: the listing covers only one context.
        """
        if ("holders",) in self._worked_out:
            listed = self.once(("version numbers",), self._listed_numbers).get(subject)
            if listed is not None or not self.has_subject(subject):
                return listed or ()
        return version_numbers(self.registry, subject, deleted=True)

    def _listed_numbers(self) -> Mapping[Subject, tuple[int, ...]]:
        by_subject = groupby(self.holders(), key=lambda holder: holder.subject)
        return {subject: tuple(holder.version for holder in holders) for subject, holders in by_subject}

    def holders(self) -> tuple[Holder, ...]:
        """Every version of every subject of the registry URL's context, soft-deleted ones too, by subject and version.

        :raises EndpointNotSupportedError: if the registry does not list its schemas.
        """
        return self.once(("holders",), lambda: list_holders(self.registry))

    def subject_state(self, subject: Subject) -> SubjectState:
        """The state of a subject; remembered, because a store that may restore from many topics asks for it with each topic."""
        return self.once(("state", subject), lambda: read_subject_state(self.registry, subject))

    def ids_under(self, subject: Subject, *, deleted: bool) -> frozenset[SchemaId]:
        """The ids of all versions of a subject; empty if there is no such subject.

        :param deleted: True to include soft-deleted ones.
        """
        numbers = version_numbers(self.registry, subject, deleted=deleted)
        return frozenset(self.registry.version(subject, number, deleted=deleted).schema_id for number in numbers)

    def schema_of_id(self, schema_id: SchemaId, context: str) -> Schema | None:
        """The schema behind an id in a context; None if the registry does not know the id."""

        return self.once(("schema", schema_id, context), lambda: known_schema(self.registry, schema_id, context))

    def peek(self, topic: Topic, role: Role = Role.VALUE) -> Peek:
        """The values (or keys) of a few records of a topic that exists: the first and the newest record of each of its
        first 16 partitions.

        :raises AccessDeniedError: if this user may not read it.
        :raises ClusterError: if the broker does not answer.
        """
        return self.once(("peek", topic, role), lambda: self._peek(topic, role))

    def _peek(self, topic: Topic, role: Role) -> Peek:
        records = self.sample(topic)
        payloads = [record.value if role is Role.VALUE else record.key for record in records]
        peeked = peek_headers([list(record.headers) for record in records], SchemaIdPeek()(payloads), role)
        return Peek(
            looked_at=sum(payload is not None for payload in payloads),
            schema_ids=tuple(sorted({schema_id for schema_id in peeked if schema_id >= 0})),
            guids=int(BY_GUID in peeked),
        )

    def sample(self, topic: Topic) -> tuple[RawRecord, ...]:
        """A few records of a topic that exists, no tombstones: the first and the newest of each of its first 16 partitions.

        :raises AccessDeniedError: if this user may not read it.
        :raises ClusterError: if the broker does not answer.
        """
        return self.once(("sample", topic), lambda: tuple(self._sample(topic)))

    def _sample(self, topic: Topic) -> list[RawRecord]:
        marks = self.cluster.watermarks(topic, range(min(self.topics()[topic], _PEEKED_PARTITIONS)))
        places = {
            (partition, offset)
            for partition, (start, end) in marks.items()
            for offset in {start, *range(max(start, end - _PEEKED_OFFSETS), end)}
            if offset < end
        }
        sampled_records = (record for _place, record in self.cluster.records_at(topic, places) if record is not None)
        records = [record for record in sampled_records if record.value is not None]
        for partition, (start, end) in () if records else marks.items():
            # Compaction left nothing there.
            read = islice(self.cluster.read(topic, partition, start, end), _MOST_PASSED)
            records.extend(islice((record for record in read if record.value is not None), 1))
        return records

    def is_redpanda(self) -> bool:
        return self.once(("redpanda",), self.registry.is_redpanda)

    def membership(self, subject: Subject, schema_id: SchemaId) -> Membership:
        """Whether the schema behind an id is registered under a subject, asked by content with `deleted=true`.

        :raises RegistryError: if the registry does not answer, or answers with an error other than 40401, 40403 and 42201.
        """
        return self.once(("membership", subject, schema_id), lambda: ask_membership(self.registry, subject, schema_id))


def known_schema(registry: ReadableRegistry, schema_id: SchemaId, context: str) -> Schema | None:
    """The schema behind an id in a context, whatever the subject; None if the registry does not know the id."""
    try:
        return schema_behind(registry, schema_id, context)
    except SchemaNotFoundError:
        return None


def schema_behind(registry: ReadableRegistry, schema_id: SchemaId, context: str) -> Schema:
    subject = None if context == DEFAULT_CONTEXT else join_context(context, Subject(""))
    return registry.schema_by_id(schema_id, subject=subject).schema


def ask_membership(registry: ReadableRegistry, subject: Subject, schema_id: SchemaId) -> Membership:
    """One content look-up, as the failing reader makes it (`AbstractKafkaAvroDeserializer.schemaVersion`): by its own
    text. In a named context the reader first asks for the schema with id and subject
    (`SchemaRegistryClient.getSchemaBySubjectAndId`), and fails if the subject does not hold the id itself. So content
    under another id counts as missing there.
    """
    schema: Schema | None = None
    try:
        schema = as_readers_ask(registry.schema_by_id(schema_id, subject=subject).schema)
    except SchemaNotFoundError:
        return Membership(schema_id=schema_id, schema=None, error_code=None, answered_id=None)
    try:
        answer = registry.lookup(subject, schema, deleted=True)
    except (SubjectNotFoundError, SchemaNotFoundError) as error:
        return Membership(schema_id=schema_id, schema=schema, error_code=error.error_code, answered_id=None)
    except InvalidSchemaError as error:  # the reader asks the same, and fails in the same way
        return Membership(
            schema_id=schema_id,
            schema=schema,
            error_code=error.error_code,
            answered_id=None,
            problem=error.registry_message,
        )
    is_given = (
        answer.schema_id == schema_id
        or registry.context_of(subject) == DEFAULT_CONTEXT
        or registry.gives_id_to(subject, schema_id)
    )
    return Membership(
        schema_id=schema_id,
        schema=schema,
        error_code=None if is_given else _SCHEMA_NOT_FOUND,
        answered_id=answer.schema_id,
        answered_subject=answer.subject if answered_elsewhere(subject, answer) else None,
    )

"""What shows that nothing is ever restored into a store: a state directory, a printed topology, or traces of puts. The
store's name and a missing changelog prove nothing: a table on Kafka Streams 2.6.3 or older that reuses its source topic
looks the same on cluster and registry.
"""

from __future__ import annotations

from pathlib import Path

from srfix.recovery.advice.hints import from_commit_metadata
from srfix.recovery.facts.reader import WITH_FIX, CheckContext, StreamsVersion
from srfix.recovery.facts.stores import StoreFacts, SuspectStore, latest_own
from srfix.recovery.facts.subject_state import version_numbers
from srfix.recovery.facts.survey import Survey
from srfix.recovery.internal_topics import ksqldb_query
from srfix.serde.errors import ClusterError
from srfix.serde.files import is_there
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.wire import SchemaId, is_framed, parse


def shown_to_restore_nothing(survey: Survey, suspect: SuspectStore) -> str | None:
    """A clause that says what shows it; None if nothing does, or if the person names the store's topic."""
    if survey.named_source(suspect) is not None:
        return None
    if _has_nothing_on_disk(survey, suspect):
        return "its state directory says that nothing is restored into it"
    supplied, application = survey.supplied, suspect.application
    tables = {table.store for _given, table in supplied.tables(application)}
    if suspect.name in supplied.stores_of_topologies(application) and suspect.name not in tables:
        return "the printed topology shows that it is not the table of one topic, so no source topic can serve as its changelog"
    return None


def registers_elsewhere(facts: StoreFacts, survey: Survey, context: CheckContext) -> str | None:
    """A clause why the topic is not reused, else None: from 2.7 on each put would register there (`changelogFor`)."""
    role, source, store = facts.roles.get(Role.VALUE), facts.source_of(Role.VALUE), facts.store
    if role is None or source is None or facts.census is None or facts.is_global:
        return None
    if survey.named_source(store) is not None or ksqldb_query(store.application) is not None:
        return None
    carried = facts.census.ids(Role.VALUE)
    own_ids = frozenset(role.state.schema_ids).difference(carried)  # a repair has copied the other ids
    if _has_no_checkpoint_of_commits(facts, own_ids, context):
        return "its rows have no checkpoint, although Kafka Streams up to 2.5 writes one with each commit"
    # A later put would have brought a soft-deleted version back, so puts do not write its schema.
    own = latest_own(version for version in role.state.live if version.schema_id not in carried)
    if own is None or not survey.membership(source.subject, own.schema_id).is_missing:
        return None
    if _has_lost_versions(facts, survey, source.subject):
        return None
    put = _has_committed(facts, survey, context) or _has_put_on_disk(facts, survey, own_ids, context)
    return put and (
        f"{put}. From 2.7 on, every put into a store that restores from topic {source.topic} registers the store's schema "
        f"(id {own.schema_id}) under {source.subject}. But id {own.schema_id} is not registered there"
    )


def _has_lost_versions(facts: StoreFacts, survey: Survey, subject: Subject) -> bool:
    """True if versions of the source's subject are gone for good: missing numbers, or unknown ids in records."""
    if not all(membership.is_known for membership in facts.roles[Role.VALUE].memberships.values()):
        return True
    numbers = version_numbers(survey.registry, subject, deleted=True) if survey.has_subject(subject) else ()
    return max(numbers, default=0) != len(numbers)


def _has_committed(facts: StoreFacts, survey: Survey, context: CheckContext) -> str | None:
    """What shows that Kafka Streams 3.3 or later has put what it processed: its mark beside committed offsets, one of
    which follows a record that is put under a schema."""
    source = facts.source_of(Role.VALUE)
    if facts.census is None or source is None:
        return None
    topic, marks = facts.census.topic, survey.commit_metadata(facts.store.application)
    put_into = [
        partition
        for partition in facts.census.partitions
        if partition.committed_offset
        and (partition.values.guids or any(c.first_offset < partition.committed_offset for c in partition.values.ids))
    ]
    by = [from_commit_metadata([marks.get((topic, partition.partition), "")]) for partition in put_into]
    if any(hint is None or hint.oldest is None or hint.oldest < WITH_FIX for hint in by):
        return None
    read = survey.cluster.records_at(
        topic,
        [(partition_census.partition, (partition_census.committed_offset or 0) - 1) for partition_census in put_into],
    )
    framed = (
        record
        for _place, record in read
        if record is not None and record.key is not None and is_framed(record.value, record.headers)
    )
    reads_all = context.does_without(source.subject)
    frames = (parse(record.value, headers=record.headers) for record in framed)
    ids = {None if frame is None else frame.schema_id for frame in frames}
    if not any(reads_all or i is None or not survey.membership(source.subject, i).is_missing for i in ids):
        return None
    return f"Kafka Streams 3.3 or later has processed records of topic {topic}"


def _has_no_checkpoint_of_commits(facts: StoreFacts, own_ids: frozenset[SchemaId], context: CheckContext) -> bool:
    """True if 2.5 or older has put the rows on disk, only with its own ids, and no later commit has left a checkpoint.
    If the directory were newer than the commits, a reused topic would have left rows with other ids.
    """
    version = context.streams_version
    if facts.rows is None or facts.census is None or version is None or version > StreamsVersion(2, 5):
        return False
    ids = facts.rows.ids(Role.VALUE)
    has_committed = any(partition.committed_offset for partition in facts.census.partitions)
    return facts.starts_anew and has_committed and bool(ids) and ids <= own_ids


def _has_put_on_disk(
    facts: StoreFacts, survey: Survey, own_ids: frozenset[SchemaId], context: CheckContext
) -> str | None:
    """What shows that 3.0 or later has put the rows on disk: RocksDB's options, only its own ids, no earlier row."""
    is_newer = any(
        state.traces.has_rocksdb_6 for state in survey.supplied.state if state.application == facts.store.application
    )
    if facts.rows is None or not context.asks_the_source_subject or not facts.starts_anew or not is_newer:
        return None
    ids = facts.rows.ids(Role.VALUE)
    if not ids or not ids <= own_ids:
        return None
    return "its own serde wrote the rows on disk, and no task's checkpoint shows that an older Kafka Streams wrote them"


def starts_anew(survey: Survey, suspect: SuspectStore) -> bool:
    """True if a store's directories show that a start restores it whole, or nothing: no task has a checkpoint. All
    versions but 2.6 keep one, unless exactly-once is on."""
    from srfix.recovery.state.directory import is_task_locked

    matches = tuple(survey.supplied.on_disk(suspect.application, suspect.name))
    own = [state for state in survey.supplied.state if state.application == suspect.application]
    has_dot_files = any(
        state.traces.has_task_locks
        or is_there(Path(state.path) / ".lock")
        or any(task.checkpoint is not None for task in state.tasks)
        for state in own
    )
    is_held = any(state.is_in_use or any(map(is_task_locked, state.tasks)) for state in own)
    reads = survey.restore_isolation(suspect.application)
    is_not_known = reads.weight is None and reads.detail is not None
    may_be_exactly_once = reads.isolation is Isolation.READ_COMMITTED or is_not_known
    is_still = has_dot_files and not is_held
    return bool(matches) and is_still and not may_be_exactly_once and all(disk.is_silent for disk in matches)


def is_alive(survey: Survey, application: str) -> bool:
    """True if the application has members, or committed offsets after the starts of its topics. An application that was
    reset has offsets, too, but at the starts, and no internal topics until it runs again (`StreamsResetter`).
    """
    if survey.group_state(application).members:
        return True
    commits = survey.commits(application)
    for topic in {topic for topic, _partition in commits}:
        offsets = {partition: offset for (of, partition), offset in commits.items() if of == topic}
        try:
            starts = {p: start for p, (start, _end) in survey.cluster.watermarks(topic, sorted(offsets)).items()}
        except ClusterError:  # this user may not ask about the topic, or it is gone
            starts = {}
        if any(offset > starts.get(partition, 0) for partition, offset in offsets.items()):
            return True
    return False


def _has_nothing_on_disk(survey: Survey, suspect: SuspectStore) -> bool:
    """True if a state directory shows that the store restores from no topic, and no state directory shows one."""
    stores = tuple(survey.supplied.on_disk(suspect.application, suspect.name))
    return any(on_disk.restores_from_nowhere for on_disk in stores) and not any(on_disk.sources for on_disk in stores)

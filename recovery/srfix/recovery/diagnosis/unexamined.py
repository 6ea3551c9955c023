"""Applications of which no store was examined, and whose topics hold rows that a table of them could not read.

From 2.7 on a store that reuses its source topic asks for that topic's own subject, and so leaves none by which it is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from srfix.recovery.commands import positional
from srfix.recovery.diagnosis.learning import Counter
from srfix.recovery.evidence.application import Applications
from srfix.recovery.facts.bodies import newest_bodies, whole_bodies
from srfix.recovery.facts.reader import CheckContext
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Skipped
from srfix.recovery.ids_in_words import counted, enumerated
from srfix.recovery.internal_topics import is_internal
from srfix.serde.errors import AccessDeniedError, ClusterError
from srfix.serde.properties.kafka_client import Isolation
from srfix.serde.subjects.names import Role, Topic, subject_for

_MOST_RECORDS: Final = 10_000_000
"""Records of a topic that are read where the person names no number."""
_MOST_DECODED: Final = 100_000
"""Records of a topic of which each live one is decoded unasked."""


def of_unexamined(
    survey: Survey, applications: Applications, counter: Counter, said: CheckContext, names: Iterable[str]
) -> Iterator[Skipped]:
    """What could be wrong with the tables of applications that no store is known of: one entry per application."""
    groups = sorted(names)
    survey.ask_commits(groups)
    most = counter.max_records or _MOST_RECORDS
    look = _Look(survey, replace(counter, max_records=most), said)
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
            again = said.given.quoted("check", *positional(first))
            named = said.given.quoted("diagnose", "--source", f"{group}/STORE={first}")
            yield Skipped(
                what=f"the stores of application {group}",
                reason=f"none was examined, and it has read {topics}: a table of that may hold rows that it cannot read. "
                f"{again} looks at the topic; {named} examines a store, and so do --topology FILE and --state-dir DIR",
                could_hide=True,
            )
    for topic, reason in look.not_decoded:
        yield Skipped(what=f"bodies of the values of topic {topic}", reason=reason, could_hide=False)


@dataclass(slots=True)
class _Look:
    survey: Survey
    counter: Counter
    said: CheckContext
    not_decoded: list[tuple[Topic, str]] = field(default_factory=list)
    known: dict[Topic, tuple[str, ...]] = field(default_factory=dict)

    def at(self, topic: Topic) -> tuple[str, ...]:
        """Why a table of the topic may hold what it cannot read; nothing if each live value can be read."""
        if topic not in self.known:
            try:
                self.known[topic] = tuple(self._troubles(topic))
            except AccessDeniedError as error:
                self.known[topic] = (error.message,)
        return self.known[topic]

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
            yield f"{counted(guids, 'value')} whose schema is named by GUID, which a diagnosis does not look up"
        memberships = [survey.membership(subject, schema_id) for schema_id in census.restorable_ids(Role.VALUE)]
        if unknown := [membership.schema_id for membership in memberships if not membership.is_known]:
            yield f"schema id {enumerated(unknown)}, which the registry does not know"
        missing = [membership.schema_id for membership in memberships if membership.is_known and membership.is_missing]
        if missing and is_registered and not self.said.does_without(subject):
            yield f"schema id {enumerated(missing)}, not registered under {subject}"
        is_whole = self.counter.decode_values or sum(p.records for p in census.partitions) <= _MOST_DECODED
        if not is_whole:
            why = f"of more than {_MOST_DECODED} records only the newest live one of each schema id and partition was decoded"
            self.not_decoded.append((topic, f"{why} (--decode-values decodes them all)"))
        decode = whole_bodies if is_whole else newest_bodies
        deadline_s = self.counter.deadline_s
        bodies = decode(survey.cluster, survey.registry, census, (Role.VALUE,), deadline_s=deadline_s)[Role.VALUE]
        self.not_decoded += [(topic, f"not decoded: {left_out}") for left_out in bodies.left_out]
        if bodies.undecodable:
            yield f"{counted(sum(rows.keys for rows in bodies.undecodable), 'live value')} that does not decode"
        yield from dict.fromkeys(p.stopped_early for p in census.partitions if p.stopped_early is not None)

"""Examines one topic with the requests of its reader: census, subjects, findings. Reads only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from srfix.recovery.census.interface import Census, CensusEngine, CensusProgress, CensusRequest
from srfix.recovery.checks.proofs import at_fault
from srfix.recovery.checks.table import CHECKS
from srfix.recovery.checks.topic_findings import TopicFinding, TopicRequest
from srfix.recovery.cluster.answers import TopicConfigs
from srfix.recovery.cluster.topic_lookup import did_you_mean, partitions_of
from srfix.recovery.commands import CommandLine
from srfix.recovery.facts.bodies import Bodies, newest_bodies
from srfix.recovery.facts.keys_of_store import keys_under
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import Lives, Positions, RoleAnswer, TopicAnswers, TopicQuestion, as_read, standing_of
from srfix.recovery.findings import Diagnosis, Skipped
from srfix.recovery.topic_check.ids import Judge, resolve_guids
from srfix.serde.errors import UsageError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role, Topic, subject_for


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCheck(Diagnosis):
    """The result of a look at a topic: a diagnosis of its reader instead of a store."""

    findings: tuple[TopicFinding, ...]
    """Worst first, then by role, subject, code."""
    examined: tuple[str, ...] = ()
    answers: TopicAnswers


def check_topic(
    question: TopicQuestion,
    survey: Survey,
    engine: CensusEngine,
    *,
    command_line: CommandLine | None = None,
    deadline_s: float | None = None,
    max_records: int | None = None,
    on_progress: Callable[[CensusProgress], None] | None = None,
) -> TopicCheck:
    """Asks for every id in the log, and says which ids the reader meets and cannot read; limits leave some out."""
    survey.registry.forget_unknown_ids()
    partitions = partitions_of(survey.cluster, question.topic)
    positions = _positions(question, survey, partitions)
    counted = engine.count(
        CensusRequest(
            topic=question.topic,
            partitions=partitions,
            committed=None,
            isolation=question.read.isolation,
            deadline_s=deadline_s,
            max_records=max_records,
        ),
        on_progress=on_progress,
    )
    configs = survey.topic_configs(question.topic)
    lives = Lives.LATEST_OF_KEY if configs.is_compacted else Lives.EVERY_RECORD
    look = _Look(question=question, survey=survey, lives=lives, positions=positions, deadline_s=deadline_s)
    census = as_read(counted, lives)
    parts = []
    for role in question.roles:
        part = look.at(role, census)
        census = part.census
        parts.append(part)
    bodies: dict[Role, Bodies] = {}
    for part in parts:
        if part.answer.ids:
            bodies |= newest_bodies(
                survey.cluster,
                survey.registry,
                census,
                (part.answer.role,),
                window=part.answer.window,
                context=part.context,
                deadline_s=deadline_s,
            )
    answers = TopicAnswers(
        question=question,
        census=census,
        lives=lives,
        cleanup_policy=None if configs.values is None else configs.values.get("cleanup.policy"),
        positions=positions,
        roles=tuple(part.answer for part in parts),
    )
    findings: list[TopicFinding] = []
    for answer in answers.roles:
        request = TopicRequest(
            answers=answers,
            answer=answer,
            bodies=bodies.get(answer.role),
            survey=survey,
            command_line=command_line or CommandLine(),
        )
        findings += [
            finding for check in CHECKS if check.find_of_topic is not None for finding in check.find_of_topic(request)
        ]
    skipped = (
        *(skipped for part in parts for skipped in part.skipped),
        *(
            Skipped(what=f"whether the {role.value}s of topic {question.topic} decode", reason=reason, could_hide=False)
            for role, of_role in bodies.items()
            for reason in of_role.left_out
        ),
        *_not_read(answers, configs),
    )
    findings.sort(key=lambda finding: (finding.severity.rank, finding.role.value, finding.subject, finding.code))
    return TopicCheck(answers=answers, findings=tuple(findings), skipped=tuple(dict.fromkeys(skipped)))


def _positions(question: TopicQuestion, survey: Survey, partitions: tuple[int, ...]) -> Positions | None:
    group = question.read.group
    if group is None:
        return None
    offsets = survey.cluster.committed(group, [(question.topic, partition) for partition in partitions])
    committed = {partition: offsets.get((Topic(question.topic), partition)) for partition in partitions}
    if all(offset is None for offset in committed.values()):
        listing = survey.cluster.groups()
        reason = f"has no committed offset on topic {question.topic}"
        if listing.problem is None and group not in listing.groups:
            reason = f"is not among the {counted(len(listing.groups), 'group')} of this cluster, and {reason}"
        raise UsageError(
            f"The group {group!r} {reason}, so srfix cannot know where it would continue to "
            f"read.{did_you_mean(group, listing.groups)} "
            "Check its spelling and the cluster (--bootstrap-servers); a Connect sink's group is connect-NAME. Without --group "
            "the whole topic is checked."
        )
    return Positions(group=group, committed=committed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    answer: RoleAnswer
    census: Census
    context: str
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    question: TopicQuestion
    survey: Survey
    lives: Lives
    positions: Positions | None
    deadline_s: float | None

    def at(self, role: Role, census: Census) -> _Part:
        judge = Judge(survey=self.survey, question=self.question, role=role)
        skipped: list[Skipped] = []
        window = None
        if role is Role.KEY and census.ids(role):
            subject_asked = self.question.subject_of(role)
            # With a strategy that makes subjects from record names, the key's subject is not known before its schema
            # is.
            states = [
                read_subject_state(self.survey.registry, subject)
                for subject in (subject_asked, subject_for(self.question.topic, role))
            ]
            keys = keys_under(self.survey, census, *states, context=judge.context)
            census, window = keys.census, keys.window
            if keys.not_looked_at is not None:
                skipped.append(
                    self._skipped(role, keys.not_looked_at, could_hide=keys.could_hide or self._is_asked(role))
                )
        guids = resolve_guids(self.survey, census, role, judge.context, self.lives, self.deadline_s)
        census = guids.census
        if guids.unread is not None:
            what = f"the {role.value}s of topic {self.question.topic} that name their schema by GUID"
            skipped.append(Skipped(what=what, reason=guids.unread, could_hide=True))
        ids = tuple(
            judge(
                fault,
                standing_of(census, role, fault.schema_id, self.positions),
                guids.by_id.get(fault.schema_id, ()),
            )
            for fault in at_fault(census, role, census.ids(role))
        )
        is_looked_at = bool(ids) or role is Role.VALUE
        payloads = [partition.of(role) for partition in census.partitions]
        framed = sum(payload.guids + sum(count.records for count in payload.ids) for payload in payloads)
        answer = RoleAnswer(
            role=role,
            ids=ids,
            unknown_guids=guids.unknown if is_looked_at else (),
            records=framed + sum(payload.unframed for payload in payloads),
            framed=framed,
            nulls=sum(payload.nulls for payload in payloads),
            is_looked_at=is_looked_at,
            window=window,
        )
        skipped.extend(self._unlooked(answer, already=bool(skipped)))
        return _Part(answer=answer, census=census, context=judge.context, skipped=tuple(skipped))

    def _unlooked(self, answer: RoleAnswer, *, already: bool) -> Iterator[Skipped]:
        role = answer.role
        if answer.framed or already:
            for asked_id in answer.ids:
                if asked_id.untold is not None and asked_id.standing.is_met:
                    yield self._skipped(
                        role,
                        f"whether the reader can read schema id {asked_id.schema_id}: {asked_id.untold}",
                        could_hide=True,
                    )
            return
        if answer.records and (role is Role.VALUE or self._is_asked(role)):
            other = " (if that is intended, --role key checks only the keys)" if role is Role.VALUE else ""
            yield self._skipped(
                role,
                f"none of them names a schema, so no schema registry serializer wrote them{other}",
                could_hide=True,
            )

    def _is_asked(self, role: Role) -> bool:
        return self.question.roles == (role,)

    def _skipped(self, role: Role, reason: str, *, could_hide: bool) -> Skipped:
        return Skipped(what=f"the {role.value}s of topic {self.question.topic}", reason=reason, could_hide=could_hide)


def _not_read(answers: TopicAnswers, configs: TopicConfigs) -> Iterator[Skipped]:
    census, positions, topic = answers.census, answers.positions, answers.census.topic
    for partition in census.partitions:
        where = f"topic {topic} partition {partition.partition}"
        if partition.stopped_early is not None:
            yield Skipped(what=where, reason=partition.stopped_early, could_hide=True)
        if positions is None or partition.end_offset <= partition.start_offset:
            continue
        if positions.is_beyond(partition):
            yield Skipped(
                what=where,
                reason=f"group {positions.group} has committed offset {positions.committed[partition.partition]} "
                f"there, but the log ends at {partition.end_offset}: the topic was created again, or the group "
                "belongs to another cluster",
                could_hide=True,
            )
        elif positions.committed.get(partition.partition) is None:
            yield Skipped(
                what=f"where group {positions.group} begins in {where}",
                reason="the group has committed no offset there, so auto.offset.reset decides; srfix counted all records there "
                "as not read yet",
                could_hide=False,
            )
    if configs.is_compacted is None:
        why = configs.problem or "the cluster does not show its cleanup.policy"
        yield Skipped(
            what=f"whether topic {topic} is compacted",
            reason=f"{why}; every record in the log counts",
            could_hide=False,
        )
    if not any(answer.records or answer.nulls for answer in answers.roles) and not census.is_partial:
        yield Skipped(
            what=f"topic {topic}",
            reason="it holds no record, so there is nothing to read. If it should have some, check --bootstrap-servers",
            could_hide=True,
        )

"""Which subjects of applications that are gone (SRF009) may be soft-deleted, and which may not."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from srfix.recovery.actions.actions import DeleteVersion
from srfix.recovery.census.interface import CensusEngine, CensusRequest
from srfix.recovery.checks.srf009 import CODE as LITTER
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.facts.refusals import list_holders
from srfix.recovery.facts.subject_state import SubjectState, read_subject_state
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Finding
from srfix.recovery.ids_in_words import named_ids
from srfix.recovery.internal_topics import is_internal
from srfix.recovery.repair.plan_file import Omission
from srfix.serde.errors import ClusterError
from srfix.serde.schemas.errors import EndpointNotSupportedError
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    finding: Finding
    state: SubjectState
    actions: tuple[DeleteVersion, ...]
    """The actions without numbers, the newest version first, so that an undo, in reverse, registers the oldest first."""

    @property
    def price(self) -> str:
        ids = named_ids(sorted({action.schema_id for action in self.actions}))
        return (
            f"{self.finding.subject}: the plan soft-deletes the versions with {ids} there. The schemas stay readable "
            "by their ids. Soft-deleted versions still count towards a registry's limit of schemas; srfix deletes nothing for "
            "good. A rollback registers the schemas again, under the same ids and new version numbers."
        )


def deletions(
    examination: Examination, survey: Survey, also: Collection[str], engine: CensusEngine | None
) -> Iterator[Deletion | Omission]:
    """The soft deletions that `also` asks for: of gone applications, if the id is live elsewhere or in no record."""
    proved = [f for f in examination.diagnosis.findings if f.code == LITTER and f.repairable]
    if LITTER not in also or not proved:
        return
    try:
        holders = list_holders(survey.registry)
    except EndpointNotSupportedError:
        for finding in proved:
            yield _left(
                finding,
                (),
                "the registry does not list its versions, so srfix cannot tell which other subjects hold an id",
            )
        return
    leaving = frozenset(finding.subject for finding in proved)
    for finding in proved:
        state = read_subject_state(survey.registry, finding.subject)
        actions: list[DeleteVersion] = []
        for version in reversed(state.live):
            live = {h.subject for h in holders if h.schema_id == version.schema_id and not h.deleted}
            other_subjects = tuple(sorted(live - leaving))
            if referring := survey.registry.referenced_by(finding.subject, version.version):
                reason: str | None = f"version {version.version} is referenced by {named_ids(referring)}"
            else:
                reason = None if other_subjects else _why_not(version.schema_id, survey, engine)
            if reason is not None:
                yield _left(finding, (version.schema_id,), reason)
                continue
            actions.append(
                DeleteVersion(
                    step=0,
                    subject=finding.subject,
                    version=version.version,
                    schema_id=version.schema_id,
                    schema=survey.registry.version(finding.subject, version.version, deleted=True).schema,
                    holders=other_subjects,
                )
            )
        if actions:
            yield Deletion(finding=finding, state=state, actions=tuple(actions))


def _left(finding: Finding, ids: tuple[SchemaId, ...], reason: str) -> Omission:
    return Omission(subject=finding.subject, reason=f"{finding.subject} is left as it is: {reason}", schema_ids=ids)


def _why_not(schema_id: SchemaId, survey: Survey, engine: CensusEngine | None) -> str | None:
    used = survey.once(("used ids", engine), lambda: _used_ids(survey, engine))
    if isinstance(used, str):
        return (
            f"no other subject has a live version with schema id {schema_id}, and srfix does not know whether "
            f"records carry it ({used})"
        )
    if schema_id in used:
        return f"records carry schema id {schema_id}, and no other subject has a live version with it"
    return None


def _used_ids(survey: Survey, engine: CensusEngine | None) -> frozenset[SchemaId] | str:
    if engine is None:
        return "no topic was counted"
    used: set[SchemaId] = set()
    for topic, partitions in survey.topics().items():
        if is_internal(topic):
            continue
        request = CensusRequest(topic=topic, partitions=tuple(range(partitions)), committed=None)
        try:
            census = engine.count(request)
        except ClusterError as error:
            return f"topic {topic} could not be read: {error.message.rstrip('.')}"
        if census.is_partial:
            return f"topic {topic} was not read to its end"
        if any(partition.of(role).guids for partition in census.partitions for role in Role):
            return f"records of topic {topic} name their schema by GUID"
        used.update(schema_id for role in Role for schema_id in census.ids(role))
    return frozenset(used)

"""Which Kafka Streams has written, as the source topic's subject tells once its records are counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.advice.streams_generation import GenerationHint
from srfix.recovery.checks.srf010 import CODE as POLLUTION
from srfix.recovery.checks.srf010 import internal_versions, may_be_producers
from srfix.recovery.evidence.application import Applications
from srfix.recovery.facts.reader import WITH_FIX, CheckContext
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.facts.survey import Survey
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.internal_topics import InternalTopicKind, parse, recognise
from srfix.serde.subjects.names import Role, Subject, split_context, split_subject
from srfix.serde.wire import SchemaId


def from_source_subject(
    facts: StoreFacts, context: CheckContext, among: Applications, survey: Survey
) -> Iterator[GenerationHint]:
    """The phantom subject's first schema under the source's subject: from Kafka Streams 2.7 on, a put registers it there.

    It proves nothing where somebody else may have registered it:
    - another application that may have read the topic, or that left the same schema under a changelog's subject;
    - a producer, as where ksqlDB writes the topic too; so it must not stand first under the source's subject either;
    - by the key's schema alone, where values have one: tables of other columns have the same key.
    Nor where the phantom subject has a schema that the source's lacks: an older Streams has written that.
    """
    own_ids = {}
    for role in facts.roles.values():
        first = {version.schema_id for version in role.state.versions[:1]}
        internal = internal_versions(facts, role, context).keys() & first
        own_ids[role.role] = sorted(i for i in internal if not may_be_producers(facts, role, i, context))
    value = facts.roles.get(Role.VALUE)
    if value is not None and value.state.versions and not own_ids[Role.VALUE]:
        return
    for of, own in own_ids.items():
        source = facts.source_of(of)
        if source is None or not own or among.others_read(source.topic, facts.store.application):
            continue
        if any(survey.membership(source.subject, live.schema_id).is_missing for live in facts.roles[of].state.live):
            continue
        if survey.subject_state(source.subject).versions[0].schema_id in own:
            continue
        if not _others_left(own, of, facts.store.application, survey):
            yield GenerationHint(
                oldest=WITH_FIX,
                newest=None,
                detail=f"{source.subject} holds schema id {enumerated(own)}, which the store's serde has registered "
                f"({POLLUTION})",
            )


def _others_left(schema_ids: Iterable[SchemaId], of: Role, application: str, survey: Survey) -> bool:
    """True if the subject of another application's changelog begins with one of the ids; those behind it may be copies."""
    ids = frozenset(schema_ids)

    def is_anothers(subject: Subject) -> bool:
        split = split_subject(split_context(subject)[1])
        if split is None or split[1] is not of or parse(split[0], application=application) is not None:
            return False
        return recognise(split[0]) is InternalTopicKind.CHANGELOG

    others = tuple(filter(is_anothers, survey.subjects()))
    holding = (other for other in others if not all(survey.membership(other, i).is_missing for i in ids))
    return any({version.schema_id for version in survey.subject_state(other).versions[:1]} & ids for other in holding)

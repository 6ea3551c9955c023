"""What the keys of a store's source topic are. If a census peeked ids in them, some keys are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from srfix.recovery.census.interface import Census
from srfix.recovery.facts.key_role import KeyRole, KeyStanding, key_role
from srfix.recovery.facts.key_sample import KeySample, sample_keys
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.subject_state import SubjectState
from srfix.recovery.facts.survey import Survey
from srfix.serde.resolve.policies import ById
from srfix.serde.resolve.resolved import ResolvedSchema
from srfix.serde.schemas.references import reference_texts
from srfix.serde.subjects.names import Role, Topic


def keys_of_store(
    survey: Survey, store: SuspectStore, topic: Topic, census: Census, phantoms: Mapping[Role, SubjectState]
) -> KeyRole:
    """Decides it for a store; reads some keys of its source topic if a census peeked ids in them."""
    phantom, subject = phantoms[Role.KEY], store.source_subject(topic, Role.KEY)
    nothing = SubjectState(subject=subject, versions=(), config=None, mode=None)
    if not phantom.versions and phantoms[Role.VALUE].versions:
        # Rows were put, and no key schema was registered: the key serde asks no registry.
        return KeyRole(standing=KeyStanding.RAW, census=census, source=nothing)
    if not census.ids(Role.KEY):
        return key_role(census, phantom, nothing, KeySample(keys=(), window=None))
    source = survey.subject_state(subject) if survey.has_subject(subject) else nothing
    return keys_under(survey, census, phantom, source, context=store.context)


def keys_under(survey: Survey, census: Census, phantom: SubjectState, source: SubjectState, *, context: str) -> KeyRole:
    """Decides it for keys that begin like framed ones: reads some, and looks at the subject that the reader asks."""
    sample = sample_keys(
        survey.cluster,
        census,
        ById(survey.registry, context=context),
        _newest_schemas(survey, (phantom, source)),
        more=not (phantom.versions or source.versions),
    )
    return key_role(census, phantom, source, sample)


def _newest_schemas(survey: Survey, states: Iterable[SubjectState]) -> Iterator[ResolvedSchema]:
    for state in states:
        if state.versions:
            newest = max(state.live or state.versions)
            version = survey.registry.version(state.subject, newest.version, deleted=True)
            references = reference_texts(survey.registry, version.schema, subject=state.subject)
            yield ResolvedSchema(schema_id=version.schema_id, schema=version.schema, references=references)

"""What a schema that is about to be registered brings about: in stores that restore its topic, and under its own subject."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from srfix.recovery.facts.subject_state import held_version, read_subject_state
from srfix.recovery.findings import Severity
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import Sight
from srfix.recovery.guard.models import Certainty, Foretold, Moment, NewSchema, StoreKind, weakest
from srfix.recovery.guard.srf001 import CODE as BROUGHT_BACK
from srfix.recovery.guard.srf001 import code_of
from srfix.recovery.guard.srf012 import CODE as REFUSED_REPAIR
from srfix.recovery.guard.srf016 import CODE as POLLUTED
from srfix.recovery.guard.srf020 import latest_cannot_read
from srfix.recovery.guard.steps import plan_of_schema
from srfix.recovery.guard.taking import refusal_of
from srfix.recovery.repair.planning.wanted import ON_REQUEST
from srfix.serde.errors import UsageError
from srfix.serde.schemas.errors import SubjectNotFoundError, VersionNotFoundError
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Role, Subject, Topic, split_context, split_subject
from srfix.serde.wire import SchemaId

_INTERNAL: Final = re.compile(
    r'"connect\.(?:name|version|parameters|default|internal\.type)"\s*:|\bKsqlDataSourceSchema'
)
"""What Connect's converter and ksqlDB write into the schemas that they make."""


def topic_of(subject: Subject) -> tuple[Topic, Role]:
    """The topic and the role that a subject names, by TopicNameStrategy.

    :raises UsageError: if it names none: which stores restore what is written under it then cannot be told.
    """
    _context, name = split_context(subject)
    found = split_subject(name)
    if found is None:
        raise UsageError(
            f"--subject {subject}: it does not name a topic and its half, as users-value does. Which stores restore records "
            "that are written under a record's name cannot be told from the subject: run guard for each topic that holds them, "
            "with --subject TOPIC-value."
        )
    return found


def on_schema(new: NewSchema, stores: Iterable[JudgedStore], sight: Sight) -> Iterator[Foretold]:
    """All that it brings about."""
    _topic, role = topic_of(new.subject)
    judged = tuple(stores)
    yield from _under_its_subject(new, role, judged, sight)
    for store in judged:
        yield from _in_store(new, role, store, sight)


def _in_store(new: NewSchema, role: Role, judged: JudgedStore, sight: Sight) -> Iterator[Foretold]:
    """The first record with it, and then a restore: the phantom subject lacks it."""
    store = judged.store
    asks = judged.asks_the_phantom(judged.running)
    subject = store.changelog_subject(role)
    if asks is Certainty.EXCLUDED:
        return
    registry, known = sight.registry, judged.known(role)
    if registry is not None and held_version(registry, subject, new.schema) is not None:
        return
    if known is not None and role is Role.KEY and not known.asks_a_registry:
        return
    needless = judged.does_without(subject)
    is_shown = known is not None and bool(known.own) and role is Role.VALUE
    evidence = Certainty.CERTAIN if is_shown else Certainty.POSSIBLE
    certainty = weakest((asks, judged.looks_versions_up, evidence))
    yield judged.foretold(
        code_of(store.kind),
        role,
        severity=Severity.NOTE if needless else Severity.BREAKS_ON_RESTORE,
        certainty=certainty,
        moment=Moment.SCHEMA,
        subject=subject,
        explanation=" ".join(_of_store(new, judged, subject, needless=needless, is_shown=is_shown)),
        first=() if needless else tuple(_steps(new, judged, role)),
    )
    if registry is not None and known is not None and not needless:
        refused, _is_known = refusal_of(judged.sight, known.phantom, role, new.schema)
        if refused is not None:
            yield judged.foretold(
                REFUSED_REPAIR,
                role,
                severity=Severity.NOTE,
                certainty=weakest((asks, Certainty.CERTAIN)),
                moment=Moment.SCHEMA,
                subject=subject,
                explanation=f"As things stand a registration of it under {subject} is refused: {refused}. What can be "
                "overcome of that, srfix plan does, and says at what price.",
            )


def _steps(new: NewSchema, judged: JudgedStore, role: Role) -> Iterator[str]:
    code = code_of(judged.store.kind)
    # What makes a plan register what is not at fault yet.
    also = code if code in ON_REQUEST else BROUGHT_BACK
    return plan_of_schema(judged, origin=new.origin, subject=new.subject, role=role, also=also)


def _of_store(
    new: NewSchema, judged: JudgedStore, subject: Subject, *, needless: bool, is_shown: bool
) -> Iterator[str]:
    store = judged.store
    kind = "the global store" if store.kind is StoreKind.GLOBAL else "store"
    whose = f"{kind} {store.name} of application {store.application}"
    asked = f"{subject}, which {whose} asks for the schemas of topic {store.topic}'s records"
    if judged.sight.registry is None:
        yield f"Nobody registers {new.origin} under {asked}."
    else:
        yield f"{new.origin} is not registered under {asked}."
    if needless:
        yield f"A {judged.reader.value} reader does not need that version, so nothing fails."
        return
    looks_up = judged.looks_versions_up is Certainty.CERTAIN
    if_so = "" if looks_up else ", if its reader looks the version up there"
    yield f"After the first record with it a restore brings rows that cannot be read (40403){if_so}."
    if not is_shown:
        yield "Only a store that writes the producers' schemas unchanged registers it there by itself, with such a record."


def _under_its_subject(new: NewSchema, role: Role, stores: tuple[JudgedStore, ...], sight: Sight) -> Iterator[Foretold]:
    """Whether its own subject takes it, and whether an internal schema is what refuses it."""
    registry = sight.registry
    if registry is None or held_version(registry, new.subject, new.schema) is not None:
        return
    state = read_subject_state(registry, new.subject)
    topic, _role = topic_of(new.subject)
    yield from latest_cannot_read(new, topic, role, stores, (version.schema_id for version in state.live), sight)
    refused, _is_known = refusal_of(sight, state, role, new.schema)
    if refused is None:
        return
    internal = [
        (v.version, v.schema_id) for v in state.live if _is_internal(v.version, v.schema_id, new, stores, role, sight)
    ]
    at_fault = [schema_id for version, schema_id in internal if not _passes(new, version, sight)]
    by = (
        f" What it does not pass against is a schema that an application has registered there for its own store (id "
        f"{at_fault[-1]}): from Kafka Streams 2.7 on, that goes under the source topic's subject."
        if at_fault
        else ""
    )
    yield Foretold(
        code=POLLUTED if at_fault else None,
        severity=Severity.BROKEN,
        certainty=Certainty.CERTAIN,
        moment=Moment.SCHEMA,
        application="",
        store="",
        role=role,
        subject=new.subject,
        topic=topic,
        schema_ids=tuple(sorted(at_fault)),
        explanation=f"{new.origin} will be refused under {new.subject}: {refused}.{by}",
    )


def _is_internal(
    version: int, schema_id: SchemaId, new: NewSchema, stores: tuple[JudgedStore, ...], role: Role, sight: Sight
) -> bool:
    """True if a version of the subject is an application's own: by its look, or by standing first under a phantom."""
    for judged in stores:
        known = judged.known(role)
        if known is not None and known.phantom.versions and known.phantom.versions[0].schema_id == schema_id:
            return True
    schema = _version(new, version, sight)
    return schema is not None and _INTERNAL.search(schema.text) is not None


def _passes(new: NewSchema, version: int, sight: Sight) -> bool:
    if sight.registry is None:
        return True
    try:
        return sight.registry.check_compatibility(new.subject, new.schema, version=version).is_compatible
    except (SubjectNotFoundError, VersionNotFoundError):
        return True


def _version(new: NewSchema, version: int, sight: Sight) -> Schema | None:
    if sight.registry is None:
        return None
    try:
        return sight.registry.version(new.subject, version).schema
    except (SubjectNotFoundError, VersionNotFoundError):
        return None

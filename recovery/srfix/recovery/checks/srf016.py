"""SRF016: from Kafka Streams 2.7 on a put registers the application's internal schema under the source's own subject.

The producers' compatibility rules apply there. Either the registry refuses the schema and the stream thread dies (409,
seen on 2.7.0 and 4.3.1), or the schema becomes the latest version of a subject that others use.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks import srf004, srf020
from srfix.recovery.checks.interface import Advice, Check, Rules
from srfix.recovery.checks.proofs import is_certain, make_certain
from srfix.recovery.checks.srf015 import NextPut, next_put, why_none_registers, written_subject
from srfix.recovery.findings import Finding, IdAtFault, Severity
from srfix.recovery.forecasts import Certainty, Foretold, Moment, weakest
from srfix.recovery.ids_in_words import named_ids

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.recovery.facts.subject_state import SubjectState
    from srfix.recovery.guard.judged import JudgedStore, Prospect
    from srfix.recovery.guard.looking import Sight, SubjectPair
    from srfix.recovery.guard.models import NewSchema
    from srfix.recovery.registry import ReadableRegistry
    from srfix.serde.schemas.models import Schema
    from srfix.serde.subjects.names import Role, Subject
    from srfix.serde.wire import SchemaId

CODE = "SRF016"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role under Kafka Streams 2.7 or later; srfix asks the registry, without writing."""
    for role in facts.roles.values():
        if not role.state.versions or written_subject(facts, role, context) == role.subject:
            continue
        put = next_put(facts, role, context)
        if put.own_id is None or why_none_registers(put.subject, put.state.mode, context) is not None:
            continue
        refusal, untold = _asked(role, put, put.own_id, context)
        if refusal is None and untold is None and any(f.role is role.role for f in srf004.check(facts, context)):
            continue
        yield facts.finding(
            CODE,
            role.role,
            severity=Severity.BREAKS_ON_UPGRADE if refusal is not None else Severity.NOTE,
            subject=put.subject,
            schema_ids=(IdAtFault(schema_id=put.own_id),),
            registered_ids=put.state.schema_ids,
            explanation=" ".join(_explanation(facts, role, put, put.own_id, refusal, untold)),
            next_step=_next(facts, put, refusal, untold, context),
        )


def _asked(role: RoleFacts, put: NextPut, own_id: SchemaId, context: CheckContext) -> tuple[str | None, str | None]:
    from srfix.recovery.facts.refusals import foreseen_refusal
    from srfix.recovery.facts.stores import RoleFacts

    role_facts = RoleFacts(role=role.role, subject=put.subject, state=put.state, memberships={})
    return foreseen_refusal(context.registry, role_facts, context.membership(put.subject, own_id))


def _explanation(
    facts: StoreFacts, role: RoleFacts, put: NextPut, own_id: SchemaId, refusal: str | None, untold: str | None
) -> Iterator[str]:
    yield (
        f"Store {facts.store.name} of application {facts.store.application} writes its {role.role.value}s under the "
        f"application's own schema (schema id {own_id}). {role.subject} holds this schema, and {put.subject} does not. "
        f"From Kafka Streams 2.7 on, the first put registers the schema under {put.subject}."
    )
    if refusal is not None:
        yield f"The registry would now refuse the schema, so the put fails and the stream thread dies. The reason: {refusal}."
    elif untold is not None:
        yield f"srfix does not know whether the registry would accept the schema: {untold}."
    else:
        yield (
            "The registry would accept the schema. The schema then becomes the latest version of a subject that "
            "the topic's producers and readers use, though no record carries it."
        )


def where_refused(subject: Subject, *, is_global: bool) -> str:
    return (
        f"Before the upgrade, {_ways(is_global=is_global)}. Or let the owner of {subject} set a compatibility that accepts "
        "both schemas. srfix cannot help by registering the schema first: a plan soft-deletes the version at once, "
        "so the put has to register the schema again, and the registry checks the schema at this put."
    )


def _ways(*, is_global: bool) -> str:
    if is_global:
        return "let the application write the producers' schema"
    return (
        "give the store a filled changelog of its own and stop the reuse of the topic, or let the application "
        "write the producers' schema"
    )


def _next(facts: StoreFacts, put: NextPut, refusal: str | None, untold: str | None, context: CheckContext) -> str:
    ways = _ways(is_global=facts.is_global)
    if refusal is not None:
        sentence = where_refused(put.subject, is_global=facts.is_global)
        return sentence if is_certain(facts) else f"{sentence} {make_certain(facts, context)}"
    if untold is not None:
        return (
            f"Before the upgrade, check the schema against {put.subject} at the subject's compatibility level. "
            f"If the registry refuses the schema, {ways}."
        )
    return (
        f"This breaks nothing by itself. Warn everybody who reads with the latest version of {put.subject} "
        "(use.latest.version, Connect, ksqlDB sources) that this schema will become the latest version. Or keep the "
        "schema away from this subject: give the store a filled changelog of its own and stop the reuse of the topic, "
        "or let the application write the producers' schema."
    )


def foretell(prospect: Prospect) -> Iterator[Foretold]:
    judged, crosses = prospect.judged, prospect.turns_to_the_source
    # If nothing is registered, there is nothing that a subject could refuse or accept.
    if crosses is Certainty.EXCLUDED or judged.assumed.no_auto_register or judged.is_dual:
        return
    for role in prospect.roles:
        if not judged.writes_nothing_of_its_own(role):
            yield _foretold(judged, role, crosses)


def _foretold(judged: JudgedStore, role: Role, crosses: Certainty) -> Foretold:
    store, pair, subject = judged.store, judged.subject_pair(role), judged.store.source_subject(role)
    own = () if pair is None else pair.own
    newest = None if pair is None else _newest(pair, judged.sight)
    refused, is_known = None, False
    if pair is not None and newest is not None:
        refused, is_known = judged.sight.refusal(pair.source, role, newest)
    breaks = refused is not None
    what = f"the application's own schema ({named_ids(own)})" if own else "the application's own schema"
    if not own:
        then = (
            "if the subject's compatibility level does not allow the schema, the registry refuses it (409), and "
            "the put fails"
        )
    elif breaks:
        then = (
            f"if the application still writes that schema, the registry will refuse it ({refused}), and the first "
            "put fails"
        )
    elif not is_known:
        then = "srfix does not know whether the registry accepts the schema. If it does not (409), the first put fails"
    else:
        then = (
            "the registry will accept the schema. The schema becomes the latest version there, though no record of "
            "the topic uses it"
        )
        unread = (
            srf020.in_words(newest, subject, pair.ids, judged.sight)
            if pair is not None and newest is not None
            else None
        )
        then += "" if unread is None else f"; {unread[1].removesuffix('.')}"
    return judged.foretold(
        CODE,
        role,
        severity=Severity.BREAKS_ON_UPGRADE if breaks else Severity.NOTE,
        certainty=crosses if own else weakest((crosses, Certainty.POSSIBLE)),
        moment=Moment.UPGRADE,
        subject=subject,
        schema_ids=own,
        explanation=f"Kafka Streams {judged.assumed.to} registers {what} under {subject}: {then}.",
        first=(where_refused(subject, is_global=store.is_global),) if breaks else (),
    )


def _newest(pair: SubjectPair, sight: Sight) -> Schema | None:
    from srfix.recovery.facts.survey import known_schema

    newest = max((version for version in pair.phantom.versions if version.schema_id in pair.own), default=None)
    if newest is None or sight.registry is None:
        return None
    return known_schema(sight.registry, newest.schema_id, sight.context_of(pair.source.subject))


def foretell_of_subject(
    new: NewSchema, state: SubjectState, stores: Iterable[JudgedStore], sight: Sight
) -> Iterator[Foretold]:
    """Whether the schema's own subject refuses it; with the code only if an application's own schema is the reason."""
    refused, _is_known = sight.refusal(state, new.role, new.schema)
    registry = sight.registry
    if refused is None or registry is None:
        return
    first = {
        pair.phantom.versions[0].schema_id
        for judged in stores
        if (pair := judged.subject_pair(new.role)) is not None and pair.phantom.versions
    }
    at_fault = [
        version.schema_id
        for version in state.live
        if (version.schema_id in first or _looks_internal(version.version, new, registry))
        and not _passes(version.version, new, registry)
    ]
    by = (
        " It is incompatible with a schema that an application has registered there for its own store (id "
        f"{at_fault[-1]}). From Kafka Streams 2.7 on, an application registers such a schema under the source "
        "topic's subject."
        if at_fault
        else ""
    )
    yield Foretold(
        code=CODE if at_fault else None,
        severity=Severity.BROKEN,
        certainty=Certainty.CERTAIN,
        moment=Moment.SCHEMA,
        role=new.role,
        subject=new.subject,
        topic=new.topic,
        schema_ids=tuple(sorted(at_fault)),
        explanation=f"The registry will refuse {new.origin} under {new.subject}: {refused}.{by}",
    )


def _looks_internal(version: int, new: NewSchema, registry: ReadableRegistry) -> bool:
    from srfix.recovery.facts.stores import MARKS_OF_CONNECT, marks_in
    from srfix.recovery.facts.subject_state import version_at

    answer = version_at(registry, new.subject, version)
    return answer is not None and not MARKS_OF_CONNECT.isdisjoint(marks_in(answer.schema.text))


def _passes(version: int, new: NewSchema, registry: ReadableRegistry) -> bool:
    from srfix.serde.schemas.errors import SubjectNotFoundError, VersionNotFoundError

    try:
        return registry.check_compatibility(new.subject, new.schema, version=version).is_compatible
    except (SubjectNotFoundError, VersionNotFoundError):
        return True


CHECK: Final = Check(
    code=CODE,
    title="After an upgrade the application would register its internal schema under your own subject",
    severity="breaks on upgrade",
    meaning=(
        "From 2.7.0 on, the first put registers the reader's schema under the source subject. If the registry "
        "refuses the schema (409), the stream thread dies. If the registry accepts the schema, the schema "
        "becomes the latest version of a subject that other programs use. The second case is only a note."
    ),
    cause="An upgrade across 2.7.0 with a reused source topic or a global table, and a reader whose schema differs "
    "from the writer's.",
    detection="srfix checks this if Kafka Streams 2.7 or later runs, or if --streams-version says so. It takes the "
    "application's latest own schema from the phantom subject. It asks the registry whether the source subject would "
    "accept that schema at the level in force. It writes nothing. If the registry has no such check, srfix says that "
    "it does not know.",
    remedy="First fill a changelog of the store's own (srfix state seed-changelog), then stop the reuse of the source "
    "topic. Or let the application write the producers' schema. Then upgrade.",
    find=check,
    foretell=foretell,
    advice=Advice(
        rules=Rules(
            wiping=(
                "wiping the state does not help here, because the registry refuses the first put after the wipe "
                f"({CODE})"
            ),
            upgrade=f"but repair {CODE} first, because the registry refuses the first put after the upgrade",
            of_notes=False,
        )
    ),
)

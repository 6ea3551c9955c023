"""SRF015: the store's next put is refused, as its schema is not registered and cannot be (a repair's: SRF012)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Check
from srfix.recovery.findings import Finding, IdAtFault, Severity, Skipped
from srfix.recovery.forecasts import Certainty, Foretold, Moment, weakest
from srfix.recovery.ids_in_words import named_ids

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.recovery.facts.subject_state import SubjectState
    from srfix.recovery.guard.judged import JudgedStore, Prospect
    from srfix.recovery.guard.looking import SubjectPair
    from srfix.serde.subjects.names import Role, Subject
    from srfix.serde.wire import SchemaId

CODE = "SRF015"

_READ_ONLY: Final = frozenset({"READONLY", "READONLY_OVERRIDE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPut:
    subject: Subject
    """The subject that its serde is handed: the phantom one, or from Kafka Streams 2.7 on the source's own."""
    state: SubjectState
    own_id: SchemaId | None
    """The id of the application's own schema, where the phantom subject shows it and `subject` has no live version of it."""

    @property
    def is_new(self) -> bool:
        """True if the schema that is put is certain not to be there: then it has to be registered."""
        return not self.state.live or self.own_id is not None


def written_subject(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> Subject:
    """The subject that the store's serde is handed for a put: the phantom one while the source is undecided, and on
    every version for a dual-subject reader and ksqlDB, whose serde is a StaticTopicSerde (ksql pull 5823).
    """
    from srfix.recovery.internal_topics import ksqldb_query

    is_of_ksqldb = ksqldb_query(facts.store.application) is not None
    if facts.source is None or not context.asks_the_source_subject or context.is_dual or is_of_ksqldb:
        return role.subject
    return facts.store.source_subject(facts.source.topic, role.role)


def next_put(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> NextPut:
    subject = written_subject(facts, role, context)
    if subject == role.subject:
        return NextPut(subject=subject, state=role.state, own_id=None)
    state = context.state_of(subject)
    return NextPut(subject=subject, state=state, own_id=_own_id(role, state, context) if role.state.versions else None)


def _own_id(role: RoleFacts, source: SubjectState, context: CheckContext) -> SchemaId | None:
    from srfix.recovery.facts.stores import is_first_of_its_own, latest_own, own_versions

    own = latest_own(own_versions(role, source.subject, context.membership))
    if own is not None:
        return own.schema_id
    first = role.state.versions[0].schema_id
    # The repair of SRF004 leaves it soft-deleted: readers find it, and a put has to register it again.
    is_deleted = first in source.schema_ids and first not in {version.schema_id for version in source.live}
    carried = tuple(role.memberships)
    is_own = is_deleted and first not in carried and is_first_of_its_own(role.state, source, carried, first)
    return first if is_own else None


def why_none_registers(subject: Subject, own_mode: str | None, context: CheckContext) -> str | None:
    """Why nothing new can be registered under a subject with this mode of its own, in a clause; None if something can."""
    if context.no_auto_register:
        return "the application's serializers register nothing (--no-auto-register)"
    from srfix.recovery.facts.refusals import mode_in_force

    whose, mode = mode_in_force(context.registry, subject, own_mode)
    return f"{whose} mode is {mode}" if mode in _READ_ONLY else None


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role whose next put is certain to be refused; live versions may hold the application's own."""
    if facts.source is None:
        return
    for role in facts.roles.values():
        subject = written_subject(facts, role, context)
        if subject == role.subject and role.state.live:
            continue
        own_mode = role.state.mode if subject == role.subject else context.registry.mode(subject)
        why = why_none_registers(subject, own_mode, context)
        put = None if why is None else next_put(facts, role, context)
        if why is None or put is None or not put.is_new:
            continue
        # Its look-up asks only for live versions, so a subject without a live version does not exist for it.
        met = "42205" if not context.no_auto_register else "40403" if put.state.live else "40401"
        own = () if put.own_id is None else (put.own_id,)
        yield facts.finding(
            CODE,
            role.role,
            severity=Severity.BROKEN,
            subject=put.subject,
            schema_ids=tuple(IdAtFault(schema_id=i) for i in own),
            registered_ids=put.state.schema_ids,
            explanation=_explanation(facts, role, put, why, met, context),
            next_step=_next(put, is_read_only=met == "42205"),
        )


def _explanation(facts: StoreFacts, role: RoleFacts, put: NextPut, why: str, met: str, context: CheckContext) -> str:
    lacks = (
        "has no live version"
        if put.own_id is None
        else f"lacks the application's own schema (schema id {put.own_id}, which {role.subject} holds)"
    )
    unless = (
        " Kafka Streams 2.7 or later writes under the source's own subject instead. If such a version runs, "
        "say so with --streams-version."
        if context.streams_version is None
        else ""
    )
    return (
        f"The next put into {facts.store.in_words} fails and ends the stream thread. The store's {role.role.value} "
        f"serde needs its schema under {put.subject}. But this subject {lacks}, and {why} ({met}).{unless}"
    )


def _next(put: NextPut, *, is_read_only: bool) -> str:
    schema = "the schema that the application's serde writes" if put.own_id is None else f"schema id {put.own_id}"
    what = f"register {schema} under {put.subject}"
    if is_read_only:
        what = (
            f"let the owner of {put.subject} set the mode to READWRITE. Then register {schema} there, or let the "
            "application do it"
        )
    return (
        f"Before the application puts its next row, {what}. "
        "srfix plan does not do this: it registers the source's schemas, not the application's."
    )


def foretell(prospect: Prospect) -> Iterator[Foretold]:
    """Whether the subject that the serdes write to accepts a put: the next one, and the first one after an upgrade."""
    judged = prospect.judged
    match prospect.moment:
        case Moment.RESTORE:
            version, moment = judged.running, Moment.PUT
        case Moment.UPGRADE if judged.assumed.no_auto_register:
            if prospect.turns_to_the_source is Certainty.EXCLUDED:
                return
            version, moment = judged.assumed.to, Moment.UPGRADE
        case _:
            return
    for role in prospect.roles:
        pair = judged.subject_pair(role)
        if pair is None:
            continue
        subjects = (
            (judged.asks_the_phantom(version), pair.phantom),
            (judged.asks_the_source(version), pair.source),
        )
        for writes, state in subjects:
            if writes is Certainty.EXCLUDED or (state is pair.source and judged.is_dual):
                continue  # a dual-subject reader writes under the changelog's name on every version
            if state.live and not (state is pair.source and pair.own):
                continue  # it may hold what the application writes
            why = _why_none(judged, state)
            if why is not None:
                yield _foretold(judged, role, pair, state, writes, why, moment)


def _why_none(judged: JudgedStore, state: SubjectState) -> str | None:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.refusals import NO_SUCH_QUESTION
    from srfix.serde.schemas.errors import RegistryAnswerError, RegistryProtocolError

    sight, assumed = judged.sight, judged.assumed
    assert sight.registry is not None
    context = CheckContext(
        registry=sight.registry, no_auto_register=assumed.no_auto_register, command_line=assumed.command_line
    )
    try:
        # A mode may be set for a subject that does not exist yet.
        own = state.mode if state.versions or assumed.no_auto_register else sight.registry.mode(state.subject)
        return why_none_registers(state.subject, own, context)
    except (RegistryAnswerError, RegistryProtocolError) as error:
        if error.status not in NO_SUCH_QUESTION:
            raise
        sight.skip(
            Skipped(
                what=f"whether the application may write to {state.subject} ({CODE})",
                reason=f"the registry does not show its mode (HTTP {error.status})",
                could_hide=False,
                subjects=(state.subject,),
            )
        )
        return None


def _foretold(
    judged: JudgedStore,
    role: Role,
    pair: SubjectPair,
    state: SubjectState,
    writes: Certainty,
    why: str,
    moment: Moment,
) -> Foretold:
    store, own = judged.store, pair.own if state is pair.source else ()
    is_told = judged.is_reader_told or bool(pair.own)
    if state.live:  # the application still writes the missing schema if that is the last one that it wrote
        last = max(pair.phantom.live, key=lambda version: version.version, default=None)
        is_told = last is not None and last.schema_id in pair.own
    lacks = f"lacks the application's own schema ({named_ids(own)})" if own else "has no live version"
    return judged.foretold(
        CODE,
        role,
        severity=Severity.BROKEN,
        certainty=weakest((writes, Certainty.CERTAIN if is_told else Certainty.POSSIBLE)),
        moment=moment,
        subject=state.subject,
        schema_ids=own,
        explanation=(
            f"The {role.value} serde of store {store.name} needs its schema under {state.subject}. But this subject "
            f"{lacks}, and {why}. So the next put fails, and the stream thread ends."
        ),
        first=(f"Before the application runs, register under {state.subject} the schema that the application writes.",),
    )


CHECK: Final = Check(
    code=CODE,
    title="Writing to the store would be refused",
    severity="broken",
    meaning=(
        "The store's serde is not allowed to register its schema under the subject that Kafka Streams names. So the "
        "first put fails (42205). With auto.register.schemas=false the serde only looks up its schema there, and the "
        "put fails with 40401 or 40403."
    ),
    cause="Registration is off or forbidden, and nobody registered the application's own schema under the phantom "
    "subject (from Kafka Streams 2.7 on: under the source topic's own subject).",
    detection=(
        "Both of these must be true:\n- The schema is missing: the subject under which a put registers its schema has "
        "no live version, or it lacks the application's own schema. (srfix learns the application's own schema from "
        "the phantom subject.)\n- The application cannot register the schema. That is: the mode in force is READONLY "
        "or READONLY_OVERRIDE; or --no-auto-register says that the application registers nothing.\nsrfix does not "
        "know what the application's credentials allow."
    ),
    remedy="Register the application's own schema under that subject, or let the application register it. A repair of "
    "SRF001 does not help, because it registers the source's schemas.",
    find=check,
    foretell=foretell,
)
